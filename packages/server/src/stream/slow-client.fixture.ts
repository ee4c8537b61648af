// Whoever reads, as a network that a test controls: it takes what it is given when it is told to, and checks what it took.

import { continuityOf, decodeCursor, type Frame, NdjsonDecoder, SseDecoder } from '@millrace/protocol'
import type { Sink } from '../http/reply.ts'
import type { Format } from './format.ts'

export type Of<T extends Frame['type']> = Extract<Frame, { type: T }>

export class Client implements Sink {
  onDrain = (): void => {}
  onClose = (): void => {}
  /** Takes nothing, until it is told to. */
  isStalled = false
  /** The most that ever waited for it. */
  peak = 0
  buffered = 0
  flushed = 0
  heartbeats = 0
  /** What was written last. */
  latest: Uint8Array | undefined
  /** All that it took, as it came. */
  text = ''
  readonly frames: Frame[] = []
  readonly #format: Format
  readonly #decodes: boolean
  readonly #decoder: SseDecoder | NdjsonDecoder
  readonly #closed = Promise.withResolvers<'ended' | 'destroyed' | 'left'>()
  readonly #positions = new Map<string | undefined, number>()
  #waiting: Uint8Array[] = []
  #isEnded = false
  #isClosed = false

  /** One that does not decode keeps what came as text, for what are no frames of a session. */
  constructor(format: Format = 'sse', decodes = true) {
    this.#format = format
    this.#decodes = decodes
    const onFrame = (frame: Frame) => this.#frame(frame)
    const Decoder = format === 'sse' ? SseDecoder : NdjsonDecoder
    this.#decoder = new Decoder({ onFrame, onHeartbeat: () => this.heartbeats++ })
  }

  /** How the connection was closed, once it is. */
  get closed(): Promise<'ended' | 'destroyed' | 'left'> {
    return this.#closed.promise
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  write(bytes: Uint8Array): void {
    if (this.#isClosed) return
    if (this.#isEnded) throw new Error('something was written after the end')
    this.latest = bytes
    this.#waiting.push(bytes)
    this.buffered += bytes.length
    this.peak = Math.max(this.peak, this.buffered)
    if (!this.isStalled) this.#read(this.buffered)
  }

  end(): void {
    this.#isEnded = true
    if (this.buffered === 0) this.#close('ended')
  }

  destroy(): void {
    this.#close('destroyed')
  }

  /** Goes away, as one whose network breaks. */
  leave(): void {
    this.#close('left')
  }

  /** Takes so many bytes of what waits, or all of it. */
  take(bytes = this.buffered): void {
    this.#read(bytes)
    if (this.buffered > 0) return
    if (this.#isEnded) this.#close('ended')
    else this.onDrain()
  }

  /** Takes all, and from now on as it comes. */
  go(): void {
    this.isStalled = false
    this.take()
  }

  of<T extends Frame['type']>(type: T): Of<T>[] {
    return this.frames.filter((frame): frame is Of<T> => frame.type === type)
  }

  get types(): string[] {
    return this.frames.map(({ type }) => type)
  }

  /** The sequences of all entries that it was given. */
  get sequences(): number[] {
    return this.of('entries').flatMap(({ entries }) => entries.map(({ sequence }) => sequence))
  }

  /** The last cursor that it was given. */
  get cursor(): string {
    return (this.frames.findLast(frame => 'cursor' in frame) as Of<'entries'>).cursor
  }

  /** What came, as the wire had it: what frames leave out is not there. */
  get wire(): Record<string, unknown>[] {
    const lines = this.text.split('\n')
    const data = this.#format === 'ndjson' ? lines : lines.map(line => /^data: (.*)$/.exec(line)?.[1] ?? '')
    return data.filter(line => line.trim() !== '').map(line => JSON.parse(line))
  }

  #read(bytes: number): void {
    let left = Math.min(bytes, this.buffered)
    while (left > 0) {
      const [first] = this.#waiting as [Uint8Array]
      const piece = first.subarray(0, left)
      if (piece.length === first.length) this.#waiting.shift()
      else this.#waiting[0] = first.subarray(left)
      left -= piece.length
      this.buffered -= piece.length
      this.flushed += piece.length
      this.text += new TextDecoder().decode(piece)
      if (this.#decodes) this.#decoder.push(piece)
    }
  }

  #frame(frame: Frame): void {
    // Frames of one session need not name it.
    const sessionId = frame.sessionId ?? [...this.#positions.keys()][0]
    if (frame.type === 'open') this.#positions.set(sessionId, decodeCursor(frame.cursor).sequence)
    else if (frame.type === 'entries' || frame.type === 'caught-up') {
      const continuity = continuityOf(frame, this.#positions.get(sessionId) as number)
      if (continuity !== 'next') throw new Error(`${continuity}: ${JSON.stringify(frame).slice(0, 200)}`)
      this.#positions.set(sessionId, frame.sequence)
    }
    this.frames.push(frame)
  }

  #close(how: 'ended' | 'destroyed' | 'left'): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.buffered = 0
    this.#waiting = []
    this.#closed.resolve(how)
    queueMicrotask(() => this.onClose())
  }
}
