// Frames as Server-Sent Events: the cursor in `id:`, the frame as one `data:` line. A comment is a heartbeat.

import { ProtocolError } from '../error/protocol-error.ts'
import type { Frame } from '../frame/frame.ts'
import { type FrameWriter, packFrame } from '../frame/frame-writer.ts'
import { FrameDecoder } from './frame-decoder.ts'

/** Keeps an idle connection open. */
export const SSE_HEARTBEAT = ':\n\n'

/**
 * Encodes a frame as one event. With the writer of the connection, a redundant `after` is omitted.
 * @throws ProtocolError `invalid-cursor` for a cursor with a line break or NUL.
 */
export function encodeSse(frame: Frame, writer?: FrameWriter): string {
  const data = `data: ${JSON.stringify(writer?.write(frame) ?? packFrame(frame))}\n\n`
  if (!('cursor' in frame)) return data
  // A line break would start another field.
  if (/[\r\n\0]/.test(frame.cursor)) throw new ProtocolError('invalid-cursor', 'cursor: expected one line')
  return `id: ${frame.cursor}\n${data}`
}

/** Decodes Server-Sent Events by the standard: any line ends, comments, `data:` in one or several lines. */
export class SseDecoder extends FrameDecoder {
  #data: string | undefined

  protected override line(line: string): void {
    if (line === '') {
      const data = this.#data
      this.#data = undefined
      if (data !== undefined) this.frame(data)
    } else if (line[0] === ':') this.heartbeat()
    else if (line === 'data' || line.startsWith('data:')) {
      const value = line.slice(line[5] === ' ' ? 6 : 5)
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`
      this.bound(this.#data.length)
    }
  }
}
