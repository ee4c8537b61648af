// Limits of parsing. Some Markdown takes a parser very long, which would freeze the page.

export interface Bounds {
  /** Maximum length of a parsed block, in characters. */
  readonly length: number
  /** Maximum number of emphasis marks and brackets. */
  readonly marks: number
  /** Maximum number of quotes and lists that start on one line. */
  readonly nesting: number
}

export const BOUNDS: Bounds = { length: 16_000, marks: 1000, nesting: 16 }

const MARK = /[*_~[]/g

/** The maximum length of a parsed block at the start of a text. Longer blocks are shown as plain text. */
export function parseLimit(text: string, { length, marks, nesting }: Bounds): number {
  const window = text.slice(0, length)
  const nested = new RegExp(`(?:^|\\n)[ \\t]*(?:(?:>|[-*+]|\\d{1,9}[.)])[ \\t]*){${nesting}}`).exec(window)
  const reach = Math.min(length, nested ? nested.index + nested[0].length : length)
  let count = 0
  for (const { index } of window.slice(0, reach).matchAll(MARK)) if (++count > marks) return index
  return reach
}
