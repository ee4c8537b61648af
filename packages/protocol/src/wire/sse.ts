// Frames as Server-Sent Events: the cursor as `id:`, the frame as one line of `data:`, a heartbeat as a comment.

import { createParser } from 'eventsource-parser'
import { ProtocolError } from '../error.ts'
import type { Frame } from '../frame.ts'
import { FrameDecoder } from './decoder.ts'
import { type FrameWriter, packFrame } from './frames.ts'

/** What keeps a silent connection open. */
export const SSE_HEARTBEAT = ':\n\n'

/** Writes a frame as one event; with the connection's writer it also leaves out an `after` that the reader can tell. */
export function encodeSse(frame: Frame, writer?: FrameWriter): string {
  const data = `data: ${JSON.stringify(writer === undefined ? packFrame(frame) : writer.write(frame))}\n\n`
  if (!('cursor' in frame)) return data
  // A line break here would let what follows it pose as a field of its own.
  if (/[\r\n\0]/.test(frame.cursor)) throw new ProtocolError('invalid-cursor', 'cursor: expected one line')
  return `id: ${frame.cursor}\n${data}`
}

const PREFIX = 'data: '

/** Reads frames from Server-Sent Events as the standard has them: any line ends, comments, `data:` in one line or in many. */
export class SseDecoder extends FrameDecoder {
  // The parser's own bound covers what is still incomplete, of which the field's name is no part of the frame.
  readonly #parser = createParser({
    maxBufferSize: this.maxLength + PREFIX.length,
    onEvent: event => this.receive(event.data),
    onComment: () => this.onHeartbeat(),
    onError: error => {
      if (error.type === 'max-buffer-size-exceeded') this.tooLong()
    },
  })

  protected override feed(text: string): void {
    this.#parser.feed(text)
  }

  protected override finish(): void {
    this.#parser.reset()
  }
}
