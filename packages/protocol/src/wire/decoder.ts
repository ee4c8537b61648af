// What the decoders of all wire formats share: bytes to text, text to checked frames, and that an error is the end.

import { checkFrame } from '../catalogue/validate.ts'
import { ProtocolError } from '../error.ts'
import type { Frame } from '../frame.ts'
import { FrameReader, type WireFrame } from './frames.ts'
import { isPlainFrame } from './plain.ts'

/** The most characters that one frame may have, unless a decoder is told otherwise. */
export const MAX_FRAME_LENGTH = 8 * 1024 * 1024

export interface DecoderOptions {
  /** Gets every frame as soon as it is complete, those before an error too. */
  onFrame: (frame: Frame) => void
  /** The other side is alive and has nothing to say. */
  onHeartbeat?: (() => void) | undefined
  /** The most characters that one frame may have, and so what the decoder holds at most; `MAX_FRAME_LENGTH` by default. */
  maxLength?: number | undefined
}

/** Turns the bytes of one connection, split anywhere, into frames. An error is final: every later call throws it again. */
export abstract class FrameDecoder {
  protected readonly onHeartbeat: () => void
  protected readonly maxLength: number
  readonly #onFrame: (frame: Frame) => void
  readonly #utf8 = new TextDecoder()
  readonly #reader = new FrameReader()
  #count = 0
  #failure: { error: unknown } | undefined

  constructor({ onFrame, onHeartbeat = () => {}, maxLength = MAX_FRAME_LENGTH }: DecoderOptions) {
    this.#onFrame = onFrame
    this.onHeartbeat = onHeartbeat
    this.maxLength = maxLength
  }

  /** Takes what arrived; throws a `ProtocolError` for what is no frame (`invalid-json`, `invalid-frame`) or too long (`line-too-long`). */
  push(bytes: Uint8Array | string): void {
    this.#attempt(() => this.feed(typeof bytes === 'string' ? bytes : this.#utf8.decode(bytes, { stream: true })))
  }

  /** Says that the connection closed. A frame that it cut off is dropped: whoever asks again from the last cursor gets it whole. */
  end(): void {
    this.#attempt(() => this.finish())
  }

  /** Takes the next piece of text. */
  protected abstract feed(text: string): void
  protected abstract finish(): void

  /** Takes the whole text of a frame, or what may be all of it where `cut` says so. */
  protected receive(text: string, cut = false): void {
    if (text.length > this.maxLength) this.tooLong()
    const place = ++this.#count
    let frame: unknown
    try {
      frame = JSON.parse(text)
    } catch {
      if (cut) return
      const found = JSON.stringify(text.slice(0, 40))
      throw new ProtocolError('invalid-json', `frame ${place}: expected JSON, found ${found}`)
    }
    const problem = isPlainFrame(frame) ? undefined : checkFrame(frame)
    if (problem !== undefined) throw new ProtocolError('invalid-frame', `frame ${place}${problem}`)
    this.#onFrame(this.#reader.read(frame as WireFrame))
  }

  protected tooLong(): never {
    const place = this.#count + 1
    throw new ProtocolError('line-too-long', `frame ${place}: expected at most ${this.maxLength} characters`)
  }

  #attempt(work: () => void): void {
    if (this.#failure !== undefined) throw this.#failure.error
    try {
      work()
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }
}
