// How much of a text is parsed as one: Markdown can be written that takes a parser very long, and a page that stands still helps nobody.

export interface Bounds {
  /** The longest block that is parsed, in characters. */
  readonly length: number
  /** How many marks of emphasis, and how many brackets, it may have. */
  readonly marks: number
  /** How many quotes and lists may begin on one line. */
  readonly nesting: number
}

export const BOUNDS: Bounds = { length: 16_000, marks: 1000, nesting: 16 }

const MARK = /[*_~[]/g

/** Where, at the latest, a block that begins at the start of a text has to end in order to be parsed; what is longer is shown as it is. */
export function reachOf(text: string, { length, marks, nesting }: Bounds): number {
  const window = text.slice(0, length)
  const nested = new RegExp(`(?:^|\\n)[ \\t]*(?:(?:>|[-*+]|\\d{1,9}[.)])[ \\t]*){${nesting}}`).exec(window)
  const reach = Math.min(length, nested ? nested.index + nested[0].length : length)
  let count = 0
  for (const { index } of window.slice(0, reach).matchAll(MARK)) if (++count > marks) return index
  return reach
}
