/** Strips Markdown marks from a line, which may be cut off anywhere. */
export const plainText = (line: string | undefined): string | undefined =>
  line
    ?.replace(/^\s*(?:[-+*]|\d+[.)])\s+/, '')
    .replace(/!?\[([^\]]*)(\](\([^)]*\)?)?)?/g, '$1')
    .replace(/[*`#>|]+|(?<!\w)_+|_+(?!\w)/g, '')
    .trim()
