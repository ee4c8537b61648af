// Frames as Server-Sent Events: the cursor as `id:`, the frame as one line of `data:`, a heartbeat as a comment.

import { ProtocolError } from '../error/protocol-error.ts'
import type { Frame } from '../frame/frame.ts'
import { type FrameWriter, packFrame } from '../frame/frame-writer.ts'
import { FrameDecoder } from './frame-decoder.ts'

/** What keeps a silent connection open. */
export const SSE_HEARTBEAT = ':\n\n'

/** Writes a frame as one event; with the connection's writer it also leaves out an `after` that the reader can tell. */
export function encodeSse(frame: Frame, writer?: FrameWriter): string {
  const data = `data: ${JSON.stringify(writer?.write(frame) ?? packFrame(frame))}\n\n`
  if (!('cursor' in frame)) return data
  // A line break here would let what follows it pose as a field of its own.
  if (/[\r\n\0]/.test(frame.cursor)) throw new ProtocolError('invalid-cursor', 'cursor: expected one line')
  return `id: ${frame.cursor}\n${data}`
}

/** Reads frames from Server-Sent Events as the standard has them: any line ends, comments, `data:` in one line or in many. */
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
