/** A line of Markdown without its marks, however it is cut off. */
export const plainOf = (line: string | undefined): string | undefined =>
  line
    ?.replace(/!?\[([^\]]*)(\](\([^)]*\)?)?)?/g, '$1')
    .replace(/[*`#>|]+|(?<!\w)_+|_+(?!\w)/g, '')
    .trim()
