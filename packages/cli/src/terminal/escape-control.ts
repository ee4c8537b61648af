/** Characters that control a terminal or the direction of text. Output of models and tools must not contain them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
const CONTROL_CHARACTERS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Escapes control characters, except line feeds and tabs. */
export const escapeControl = (text: string): string =>
  text
    .replaceAll('\r\n', '\n')
    .replace(CONTROL_CHARACTERS, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Escapes and shortens text to one line of at most `max` characters. */
export function oneLine(text: string, max: number): string {
  const line = escapeControl(text.slice(0, max * 4))
    .replace(/\s+/g, ' ')
    .trim()
  return line.length > max ? `${line.slice(0, max - 1)}…` : line
}
