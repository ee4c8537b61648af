import type { Sink } from './reply.ts'

/** A sink that combines all writes of one turn of the event loop into one. */
export abstract class BatchingSink implements Sink {
  #pieces: Uint8Array[] = []
  #pendingBytes = 0
  #sentBytes = 0
  readonly #onTurnEnd = (): void => this.flush()
  onDrain = (): void => {}
  onClose = (): void => {}

  get buffered(): number {
    return this.#pendingBytes + this.nodeBytes
  }

  get flushed(): number {
    // Node counts a write as pending until its last byte is flushed. The handle's queue size is more precise; Node uses it for socket timeouts too.
    return this.#sentBytes - this.nodeBytes - this.handleBytes
  }

  write(bytes: Uint8Array): void {
    if (bytes.length === 0 || !this.isOpen) return
    const piece = this.pieceOf(bytes)
    this.#pendingBytes += piece.length
    if (this.#pieces.push(piece) === 1) atEndOfTurn(this.#onTurnEnd)
  }

  abstract end(): void
  abstract destroy(): void

  /** Whether the response still accepts writes. */
  protected abstract readonly isOpen: boolean
  /** Bytes that Node has not passed to the socket's handle yet. */
  protected abstract readonly nodeBytes: number
  /** Bytes that the handle has not passed to the network yet. */
  protected abstract readonly handleBytes: number
  /** The bytes to send for a write, such as with a chunk header. */
  protected abstract pieceOf(bytes: Uint8Array): Uint8Array
  /** Sends the pieces in one write. Calls `onDrain` when they are flushed, unless that happens at once. */
  protected abstract send(pieces: readonly Uint8Array[]): void

  /** Sends the pending writes. */
  protected flush(): void {
    const pieces = this.#pieces
    if (pieces.length === 0) return
    this.#pieces = []
    this.#sentBytes += this.#pendingBytes
    this.#pendingBytes = 0
    if (!this.isOpen) return
    this.send(pieces)
    if (this.nodeBytes === 0) this.onDrain()
  }
}

/** Bytes that a socket's handle has not passed to the network yet. */
export const handleBytesOf = (socket: unknown): number =>
  (socket as { _handle?: { writeQueueSize?: number } } | null)?._handle?.writeQueueSize ?? 0

let endOfTurnCalls: (() => void)[] = []

/** Calls back at the end of the current turn of the event loop, with one timer for all sinks. */
function atEndOfTurn(call: () => void): void {
  if (endOfTurnCalls.push(call) > 1) return
  setImmediate(() => {
    const calls = endOfTurnCalls
    endOfTurnCalls = []
    for (const call of calls) call()
  })
}
