import type { Terminal } from '../terminal/terminal.ts'

/** Text of a lane, plain and with styles. */
interface ScreenPiece {
  readonly lane: string
  readonly styled: string
  readonly plain: string
}

/** Writes text of lanes, and erases the text of a lane since its last commit. */
export class Screen {
  readonly #terminal: Terminal
  readonly #size: () => { readonly columns: number; readonly rows: number }
  #pieces: ScreenPiece[] = []
  /** The column of the first piece. */
  #firstColumn = 0
  /** The current column. */
  #column = 0

  constructor(terminal: Terminal, size = sizeOfProcess) {
    this.#terminal = terminal
    this.#size = size
  }

  /** Writes text of a lane, which may be erased later. */
  async write(lane: string, plain: string, styled = plain): Promise<void> {
    this.#pieces.push({ lane, plain, styled })
    this.#column = columnAfter(this.#column, plain, this.#size().columns)
    this.#forgetPermanent()
    await this.#terminal.write(styled)
  }

  /** Writes a separate line. */
  async line(lane: string, plain: string, styled = plain): Promise<void> {
    await this.startLine()
    await this.write(lane, `${plain}\n`, `${styled}\n`)
  }

  /** Starts a new line that stays even if the text before it is erased. */
  async startLine(): Promise<void> {
    if (this.#column !== 0) await this.write(PERMANENT, '\n')
  }

  /** Makes the text of a lane permanent. */
  makePermanent(lane: string): void {
    this.#pieces = this.#pieces.map(piece => (piece.lane === lane ? { ...piece, lane: PERMANENT } : piece))
    this.#forgetPermanent()
  }

  /** Erases the text of a lane since its last commit, if it is still on the screen. */
  async erase(lane: string): Promise<void> {
    if (!this.#pieces.some(piece => piece.lane === lane)) return
    const { columns, rows } = this.#size()
    const rowsUp = rowsOf(this.#firstColumn, this.#pieces.map(({ plain }) => plain).join(''), columns)
    // Text that scrolled off the screen cannot be erased.
    if (!this.#terminal.isLive || rowsUp >= rows) {
      this.makePermanent(lane)
      return
    }
    const remaining = this.#pieces.filter(piece => piece.lane !== lane)
    const toStart = `${rowsUp === 0 ? '' : `\u001b[${rowsUp}A`}\r${this.#firstColumn === 0 ? '' : `\u001b[${this.#firstColumn}C`}`
    await this.#terminal.control(`${toStart}\u001b[0J`)
    this.#pieces = []
    this.#column = this.#firstColumn
    for (const { lane: other, plain, styled } of remaining) await this.write(other, plain, styled)
  }

  /** Forgets leading pieces that cannot be erased any more. */
  #forgetPermanent(): void {
    const open = this.#pieces.findIndex(({ lane }) => lane !== PERMANENT)
    const count = open < 0 ? this.#pieces.length : open
    for (const { plain } of this.#pieces.splice(0, count)) {
      this.#firstColumn = columnAfter(this.#firstColumn, plain, this.#size().columns)
    }
  }
}

/** The lane of text that is never erased. */
export const PERMANENT = ''

const sizeOfProcess = () => ({ columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 })

/** The column after a text. */
function columnAfter(column: number, text: string, columns: number): number {
  const last = text.lastIndexOf('\n')
  const width = widthOf(text.slice(last + 1)) + (last < 0 ? column : 0)
  return width % columns
}

/** The number of rows that a text moves down. */
function rowsOf(column: number, text: string, columns: number): number {
  return text
    .split('\n')
    .map((line, at) => Math.floor((widthOf(line) + (at === 0 ? column : 0)) / columns))
    .reduce((sum, rows) => sum + rows, text.split('\n').length - 1)
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
const ZERO_WIDTH = /\p{Mn}|[\u200b-\u200d]/u

/** Returns the width of a text in terminal columns, with tab stops every 8 columns. */
export function widthOf(text: string): number {
  let width = 0
  for (const char of text) {
    if (char === '\t') width += 8 - (width % 8)
    else if (char.codePointAt(0) === undefined || ZERO_WIDTH.test(char)) continue
    else width += WIDE.test(char) ? 2 : 1
  }
  return width
}
