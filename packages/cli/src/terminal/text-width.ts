const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
const NONE = /\p{Mn}|[\u200b-\u200d]/u

/** How many columns of a terminal some text takes; a tab counts as eight. */
export function widthOf(text: string): number {
  let width = 0
  for (const char of text) {
    if (char === '\t') width += 8 - (width % 8)
    else if (char.codePointAt(0) === undefined || NONE.test(char)) continue
    else width += WIDE.test(char) ? 2 : 1
  }
  return width
}
