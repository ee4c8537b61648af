import type { Sink } from './reply.ts'

/** A response that a stream is written to: all that is said to it in one turn of the event loop goes out in one write. */
export abstract class BatchingSink implements Sink {
  #pieces: Uint8Array[] = []
  #held = 0
  #sent = 0
  readonly #flushed = (): void => this.flush()
  onDrain = (): void => {}
  onClose = (): void => {}

  get buffered(): number {
    return this.#held + this.waiting
  }

  get taken(): number {
    // A write counts as waiting until the last byte of it is taken; the handle knows more, which Node itself goes by where sockets time out.
    return this.#sent - this.waiting - this.queued
  }

  write(bytes: Uint8Array): void {
    if (bytes.length === 0 || !this.isOpen) return
    const piece = this.pieceOf(bytes)
    this.#held += piece.length
    if (this.#pieces.push(piece) === 1) atEndOfTurn(this.#flushed)
  }

  abstract end(): void
  abstract destroy(): void

  /** Whether it still takes anything. */
  protected abstract readonly isOpen: boolean
  /** How many bytes of what was sent Node has not handed on yet. */
  protected abstract readonly waiting: number
  /** How many of those that it has the network has not taken yet. */
  protected abstract readonly queued: number
  /** What is sent for some bytes. */
  protected abstract pieceOf(bytes: Uint8Array): Uint8Array
  /** Sends pieces in one write, and tells when they are taken, unless that is so at once. */
  protected abstract send(pieces: readonly Uint8Array[]): void

  /** Sends what is held. */
  protected flush(): void {
    const pieces = this.#pieces
    if (pieces.length === 0) return
    this.#pieces = []
    this.#sent += this.#held
    this.#held = 0
    if (!this.isOpen) return
    this.send(pieces)
    if (this.waiting === 0) this.onDrain()
  }
}

/** How much of what a socket was given the network has not taken yet, as its handle knows it. */
export const queuedOf = (socket: unknown): number =>
  (socket as { _handle?: { writeQueueSize?: number } } | null)?._handle?.writeQueueSize ?? 0

let waiting: (() => void)[] = []

/** Calls back once all that is ready to happen now has happened: one timer for everybody who is written to. */
function atEndOfTurn(call: () => void): void {
  if (waiting.push(call) > 1) return
  setImmediate(() => {
    const calls = waiting
    waiting = []
    for (const each of calls) each()
  })
}
