// What the decoders of all wire formats share: bytes to lines, text to checked frames, and that an error is the end.

import { ProtocolError, type ProtocolErrorCode } from '../error/protocol-error.ts'
import type { Frame, WireFrame } from '../frame/frame.ts'
import { FrameReader } from '../frame/frame-writer.ts'
import { parsed } from '../json/json.ts'
import { checkFrame } from '../validate/validate.ts'
import { LineSplitter } from './line-splitter.ts'

/** The most characters that one frame may have, unless a decoder is told otherwise: twice what a store takes at once. */
const MAX_FRAME_LENGTH = 16 * 1024 * 1024

export interface DecoderOptions {
  /** Gets every frame as soon as it is complete, those before an error too. */
  onFrame: (frame: Frame) => void
  /** The other side is alive and has nothing to say. */
  onHeartbeat?: (() => void) | undefined
  /** The most characters that one frame may have, and so what the decoder holds at most; `MAX_FRAME_LENGTH` by default. */
  maxLength?: number | undefined
}

// A line of SSE has the field's name besides the frame.
const MARGIN = 'data: '.length

/** Turns the bytes of one connection, split anywhere, into frames. An error is final: every later call throws it again. */
export abstract class FrameDecoder {
  readonly #options: DecoderOptions
  // The lines drop the BOM, since text may have one too.
  readonly #utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
  readonly #lines = new LineSplitter()
  readonly #reader = new FrameReader()
  #place = 1

  constructor(options: DecoderOptions) {
    this.#options = options
  }

  /** Takes what arrived; throws a `ProtocolError` for what is no frame (`invalid-json`, `invalid-frame`) or too long (`line-too-long`). */
  push(bytes: Uint8Array | string): void {
    this.#attempt(() => {
      const text = typeof bytes === 'string' ? bytes : this.#utf8.decode(bytes, { stream: true })
      for (const line of this.#lines.push(text)) {
        this.bound(line.length - MARGIN)
        this.line(line)
      }
      this.bound(this.#lines.length - MARGIN)
    })
  }

  /** Says that the connection closed. A frame that it cut off is dropped: whoever asks again from the last cursor gets it whole. */
  end(): void {
    this.#attempt(() => this.rest(this.#lines.end()))
  }

  /** Takes the next line. */
  protected abstract line(line: string): void

  /** Takes the last line, which did not end. */
  protected rest(_line: string): void {}

  /** Takes the whole text of a frame. */
  protected frame(text: string): void {
    this.bound(text.length)
    const frame: unknown = parsed(text)
    if (frame === undefined) this.#refuse('invalid-json', `: expected JSON, found ${JSON.stringify(text.slice(0, 40))}`)
    const problem = checkFrame(frame)
    if (problem !== undefined) this.#refuse('invalid-frame', problem)
    this.#place++
    this.#options.onFrame(this.#reader.read(frame as WireFrame))
  }

  protected heartbeat(): void {
    this.#options.onHeartbeat?.()
  }

  /** Refuses a frame that is longer than one may be. */
  protected bound(length: number): void {
    const { maxLength = MAX_FRAME_LENGTH } = this.#options
    if (length > maxLength) this.#refuse('line-too-long', `: expected at most ${maxLength} characters`)
  }

  #refuse(code: ProtocolErrorCode, problem: string): never {
    throw new ProtocolError(code, `frame ${this.#place}${problem}`)
  }

  #attempt(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.push = this.end = () => {
        throw error
      }
      throw error
    }
  }
}
