// The base of the decoders of all wire formats: splits bytes into lines and parses and validates frames.

import { ProtocolError, type ProtocolErrorCode } from '../error/protocol-error.ts'
import type { Frame, WireFrame } from '../frame/frame.ts'
import { FrameReader } from '../frame/frame-writer.ts'
import { parseJson } from '../json/json.ts'
import { checkFrame } from '../validate/validate.ts'
import { LineSplitter } from './line-splitter.ts'

/** The default maximum length of a frame, in characters: twice the maximum batch of a store. */
const MAX_FRAME_LENGTH = 16 * 1024 * 1024

/** Options of a frame decoder. */
export interface DecoderOptions {
  /** Called with every frame when it is complete, also with those before an error. */
  onFrame: (frame: Frame) => void
  /** Called on a heartbeat of the server. @default ignores heartbeats */
  onHeartbeat?: (() => void) | undefined
  /** The maximum length of a frame, in characters, and so the memory limit of the decoder. @default 16 Mi */
  maxLength?: number | undefined
}

// A line of SSE also has the field name.
const MARGIN = 'data: '.length

/** Decodes the bytes of one connection, split anywhere, into frames. After an error, every later call throws it again. */
export abstract class FrameDecoder {
  readonly #options: DecoderOptions
  // LineSplitter drops the BOM, because string input may have one too.
  readonly #utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
  readonly #lines = new LineSplitter()
  readonly #reader = new FrameReader()
  #frameNumber = 1

  constructor(options: DecoderOptions) {
    this.#options = options
  }

  /**
   * Decodes the next bytes.
   * @throws ProtocolError `invalid-json`, `invalid-frame` or `line-too-long`.
   */
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

  /** Ends the connection. An incomplete frame is dropped: a reconnect from the last cursor delivers it. */
  end(): void {
    this.#attempt(() => this.rest(this.#lines.end()))
  }

  /** Processes the next line. */
  protected abstract line(line: string): void

  /** Processes the last line, which has no line end. */
  protected rest(_line: string): void {}

  /** Processes the complete text of a frame. */
  protected frame(text: string): void {
    this.bound(text.length)
    const frame: unknown = parseJson(text)
    if (frame === undefined) this.#reject('invalid-json', `: expected JSON, found ${JSON.stringify(text.slice(0, 40))}`)
    const problem = checkFrame(frame)
    if (problem !== undefined) this.#reject('invalid-frame', problem)
    this.#frameNumber++
    this.#options.onFrame(this.#reader.read(frame as WireFrame))
  }

  protected heartbeat(): void {
    this.#options.onHeartbeat?.()
  }

  /** Rejects a frame that exceeds the maximum length. */
  protected bound(length: number): void {
    const { maxLength = MAX_FRAME_LENGTH } = this.#options
    if (length > maxLength) this.#reject('line-too-long', `: expected at most ${maxLength} characters`)
  }

  #reject(code: ProtocolErrorCode, problem: string): never {
    throw new ProtocolError(code, `frame ${this.#frameNumber}${problem}`)
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
