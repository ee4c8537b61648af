// A client on a network that the test controls: it receives bytes when the test calls `receive`, and checks them.

import { continuityOf, decodeCursor, type Frame, NdjsonDecoder, SseDecoder } from '@millrace/protocol'
import type { Sink } from '../http/reply.ts'
import type { Format } from './format.ts'

export type FrameOf<T extends Frame['type']> = Extract<Frame, { type: T }>

export class SlowClient implements Sink {
  onDrain = (): void => {}
  onClose = (): void => {}
  /** Whether it receives bytes only when the test calls `receive`. */
  isStalled = false
  /** Maximum number of bytes that were buffered for it. */
  peakBytes = 0
  buffered = 0
  flushed = 0
  heartbeats = 0
  /** The last written bytes. */
  latest: Uint8Array | undefined
  /** All received text. */
  text = ''
  readonly frames: Frame[] = []
  readonly #format: Format
  readonly #decodes: boolean
  readonly #decoder: SseDecoder | NdjsonDecoder
  readonly #closed = Promise.withResolvers<'ended' | 'destroyed' | 'disconnected'>()
  readonly #positions = new Map<string | undefined, number>()
  #unreceived: Uint8Array[] = []
  #isEnded = false
  #isClosed = false

  /** With `false` it keeps text instead of decoding frames, for streams without frames. */
  constructor(format: Format = 'sse', decodes = true) {
    this.#format = format
    this.#decodes = decodes
    const onFrame = (frame: Frame) => this.#onFrame(frame)
    const Decoder = format === 'sse' ? SseDecoder : NdjsonDecoder
    this.#decoder = new Decoder({ onFrame, onHeartbeat: () => this.heartbeats++ })
  }

  /** The end of the connection; undefined while it is open. */
  get closed(): Promise<'ended' | 'destroyed' | 'disconnected'> {
    return this.#closed.promise
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  write(bytes: Uint8Array): void {
    if (this.#isClosed) return
    if (this.#isEnded) throw new Error('something was written after the end')
    this.latest = bytes
    this.#unreceived.push(bytes)
    this.buffered += bytes.length
    this.peakBytes = Math.max(this.peakBytes, this.buffered)
    if (!this.isStalled) this.#read(this.buffered)
  }

  end(): void {
    this.#isEnded = true
    if (this.buffered === 0) this.#close('ended')
  }

  destroy(): void {
    this.#close('destroyed')
  }

  /** Disconnects, like a broken network. */
  disconnect(): void {
    this.#close('disconnected')
  }

  /** Receives this number of the buffered bytes. @default all */
  receive(bytes = this.buffered): void {
    this.#read(bytes)
    if (this.buffered > 0) return
    if (this.#isEnded) this.#close('ended')
    else this.onDrain()
  }

  /** Receives everything, now and from now on. */
  receiveAll(): void {
    this.isStalled = false
    this.receive()
  }

  of<T extends Frame['type']>(type: T): FrameOf<T>[] {
    return this.frames.filter((frame): frame is FrameOf<T> => frame.type === type)
  }

  get types(): string[] {
    return this.frames.map(({ type }) => type)
  }

  /** The sequences of all received entries. */
  get sequences(): number[] {
    return this.of('entries').flatMap(({ entries }) => entries.map(({ sequence }) => sequence))
  }

  /** The last received cursor. */
  get cursor(): string {
    return (this.frames.findLast(frame => 'cursor' in frame) as FrameOf<'entries'>).cursor
  }

  /** The received frames as on the wire, without the fields that frames omit. */
  get wire(): Record<string, unknown>[] {
    const lines = this.text.split('\n')
    const data = this.#format === 'ndjson' ? lines : lines.map(line => /^data: (.*)$/.exec(line)?.[1] ?? '')
    return data.filter(line => line.trim() !== '').map(line => JSON.parse(line))
  }

  #read(bytes: number): void {
    let left = Math.min(bytes, this.buffered)
    while (left > 0) {
      const [first] = this.#unreceived as [Uint8Array]
      const piece = first.subarray(0, left)
      if (piece.length === first.length) this.#unreceived.shift()
      else this.#unreceived[0] = first.subarray(left)
      left -= piece.length
      this.buffered -= piece.length
      this.flushed += piece.length
      this.text += new TextDecoder().decode(piece)
      if (this.#decodes) this.#decoder.push(piece)
    }
  }

  #onFrame(frame: Frame): void {
    // With one session, frames need not name it.
    const sessionId = frame.sessionId ?? [...this.#positions.keys()][0]
    if (frame.type === 'open') this.#positions.set(sessionId, decodeCursor(frame.cursor).sequence)
    else if (frame.type === 'entries' || frame.type === 'caught-up') {
      const continuity = continuityOf(frame, this.#positions.get(sessionId) as number)
      if (continuity !== 'next') throw new Error(`${continuity}: ${JSON.stringify(frame).slice(0, 200)}`)
      this.#positions.set(sessionId, frame.sequence)
    }
    this.frames.push(frame)
  }

  #close(outcome: 'ended' | 'destroyed' | 'disconnected'): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.buffered = 0
    this.#unreceived = []
    this.#closed.resolve(outcome)
    queueMicrotask(() => this.onClose())
  }
}
