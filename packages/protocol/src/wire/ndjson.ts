// Frames as NDJSON: one frame a line, a heartbeat as a blank line.

import type { Frame } from '../frame.ts'
import { FrameDecoder } from './decoder.ts'
import { type FrameWriter, packFrame } from './frames.ts'

/** What keeps a silent connection open. */
export const NDJSON_HEARTBEAT = '\n'

/** Writes a frame as one line; with the connection's writer it also leaves out an `after` that the reader can tell. */
export function encodeNdjson(frame: Frame, writer?: FrameWriter): string {
  return `${JSON.stringify(writer === undefined ? packFrame(frame) : writer.write(frame))}\n`
}

/** Reads frames from lines that end in LF or CRLF; the last line may lack its end. */
export class NdjsonDecoder extends FrameDecoder {
  // Pieces of the line that is still incomplete, joined only when it ends: a long line in many pieces stays linear.
  #pieces: string[] = []
  #length = 0
  #started = false

  protected override feed(text: string): void {
    let start = 0
    if (!this.#started && text !== '') {
      this.#started = true
      if (text.startsWith('\uFEFF')) start = 1
    }
    for (let end = text.indexOf('\n', start); end !== -1; end = text.indexOf('\n', start)) {
      this.#line(this.#take(text.slice(start, end)))
      start = end + 1
    }
    if (start === text.length) return
    this.#length += text.length - start
    if (this.#length > this.maxLength) {
      this.#pieces = []
      this.tooLong()
    }
    this.#pieces.push(text.slice(start))
  }

  protected override finish(): void {
    this.#line(this.#take(''), true)
  }

  #take(last: string): string {
    if (this.#length === 0) return last
    const line = this.#pieces.join('') + last
    this.#pieces = []
    this.#length = 0
    return line
  }

  #line(line: string, cut = false): void {
    if (line !== '' && line !== '\r') this.receive(line, cut)
    else if (!cut) this.onHeartbeat()
  }
}
