// What was written to a terminal of late, so that it can be taken back.

import type { Terminal } from '../command/terminal.ts'
import { widthOf } from './width.ts'

/** What somebody wrote: the words, and the same as they are shown. */
interface Piece {
  readonly lane: string
  readonly shown: string
  readonly plain: string
}

/** Writes for lanes, and takes back what one of them has written since its last commit. */
export class Screen {
  readonly #terminal: Terminal
  readonly #size: () => { readonly columns: number; readonly rows: number }
  #pieces: Piece[] = []
  /** In which column the first piece begins, and where writing is now. */
  #from = 0
  #column = 0

  constructor(terminal: Terminal, size = sizeOfProcess) {
    this.#terminal = terminal
    this.#size = size
  }

  /** Writes words of a lane, which may be taken back. */
  async write(lane: string, plain: string, shown = plain): Promise<void> {
    this.#pieces.push({ lane, plain, shown })
    this.#column = columnAfter(this.#column, plain, this.#size().columns)
    await this.#terminal.write(shown)
  }

  /** A line of its own. */
  async line(lane: string, plain: string, shown = plain): Promise<void> {
    const start = this.#column === 0 ? '' : '\n'
    await this.write(lane, `${start}${plain}\n`, `${start}${shown}\n`)
  }

  /** What a lane has written stays. */
  seal(lane: string): void {
    const first = this.#pieces.findIndex(piece => piece.lane !== lane)
    const settled = first < 0 ? this.#pieces : this.#pieces.slice(0, first)
    for (const { plain } of settled) this.#from = columnAfter(this.#from, plain, this.#size().columns)
    // What others wrote meanwhile may still be taken back, from before this.
    this.#pieces =
      first < 0 ? [] : this.#pieces.slice(first).map(piece => (piece.lane === lane ? { ...piece, lane: '' } : piece))
  }

  /** What a lane has written since goes: it is erased where it can still be seen, and told of. How many characters that was. */
  async takeBack(lane: string): Promise<number> {
    const gone = this.#pieces.filter(piece => piece.lane === lane)
    const count = gone.reduce((sum, { plain }) => sum + plain.trim().length, 0)
    if (gone.length === 0) return 0
    const { columns, rows } = this.#size()
    const up = rowsOf(this.#from, this.#pieces.map(({ plain }) => plain).join(''), columns)
    // What has left the screen cannot be reached any more.
    if (!this.#terminal.isLive || up >= rows) {
      this.seal(lane)
      return count
    }
    const kept = this.#pieces.filter(piece => piece.lane !== lane)
    const toStart = `${up === 0 ? '' : `\u001b[${up}A`}\r${this.#from === 0 ? '' : `\u001b[${this.#from}C`}`
    await this.#terminal.write(`${toStart}\u001b[0J`)
    this.#pieces = []
    this.#column = this.#from
    for (const { lane: other, plain, shown } of kept) await this.write(other, plain, shown)
    return count
  }
}

const sizeOfProcess = () => ({ columns: process.stdout.columns ?? 80, rows: process.stdout.rows ?? 24 })

/** In which column one is after some text. */
function columnAfter(column: number, text: string, columns: number): number {
  const last = text.lastIndexOf('\n')
  const width = widthOf(text.slice(last + 1)) + (last < 0 ? column : 0)
  return width % columns
}

/** How many rows further down one is after some text. */
function rowsOf(column: number, text: string, columns: number): number {
  return text
    .split('\n')
    .map((line, at) => Math.floor((widthOf(line) + (at === 0 ? column : 0)) / columns))
    .reduce((sum, rows) => sum + rows, text.split('\n').length - 1)
}
