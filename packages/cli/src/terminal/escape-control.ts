/** What could steer a terminal, or turn around what is shown: what a model or a tool says must not. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Text as it can be shown on a terminal: lines and tabs stay, what else is not seen is spelled out. */
export const safe = (text: string): string =>
  text.replaceAll('\r\n', '\n').replace(STEERING, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** The same in one line of a length. */
export function oneLine(text: string, most: number): string {
  const line = safe(text.slice(0, most * 4))
    .replace(/\s+/g, ' ')
    .trim()
  return line.length > most ? `${line.slice(0, most - 1)}…` : line
}
