/** Default length of an excerpt, in characters. */
const EXCERPT_LENGTH = 1000

/** Shortens a text to at most `length` characters, the last of which is then an ellipsis. */
export function excerpt(text: string, length = EXCERPT_LENGTH): string {
  if (text.length <= length) return text
  // Drops half of a surrogate pair at the end.
  return `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
