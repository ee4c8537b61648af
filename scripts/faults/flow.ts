import type { Socket } from 'node:net'

/**
 * What is to happen to the bytes of one direction. A position counts from when it is set, so on a new connection from its
 * beginning: byte 0 is the next one. What happens, happens when that byte comes, and in its place; Infinity is never.
 */
export type Faults = {
  /** How long everything, the end too, is on its way. */
  delayMs?: number
  /** The most bytes that are written at a time, so that the receiver gets what was written at once in many pieces; Infinity is all. */
  splitAt?: number
  /** Both ends are closed. */
  cutAt?: number
  /** Both ends are reset: what they have not read yet may be lost with it. */
  resetAt?: number
  /** Nothing more is forwarded, no end either, until the stall is taken back. */
  stallAt?: number
  /** The receiver is told that the sender has ended; all that still comes is swallowed. */
  endAt?: number
}

/** What a position can bring about, in the order in which it does if several are at one. */
const kinds = ['reset', 'cut', 'stall', 'end'] as const
export type Kind = (typeof kinds)[number]

type Bytes = { due: number; bytes: Buffer }
/** How the sender went: it has ended, it is closed altogether, or that with a failure. */
type End = { due: number; end: 'ended' | 'closed' | 'failed' }
type Piece = Bytes | End

/** With so many bytes in it, a flow reads no more of them. */
export const MAX_HELD = 256 * 1024

/** Resets a socket. One whose end is still on its way cannot be reset, and would never close: it is closed. */
export function reset(socket: Socket): void {
  if (socket.writableEnded || socket.writableLength > 0) socket.destroy()
  else socket.resetAndDestroy()
}

/** One direction of a connection: forwards what comes, one write at a time, and tells when a fault happened to it. */
export class Flow {
  /** The bytes that the receiver's side of the system has taken. */
  passed = 0
  /** The bytes that wait here. */
  held = 0
  readonly #source: Socket
  readonly #sink: Socket
  readonly #tell: (kind: Kind) => void
  readonly #queue: Piece[] = []
  readonly #at: Record<Kind, number> = { reset: Infinity, cut: Infinity, stall: Infinity, end: Infinity }
  #delayMs = 0
  #splitAt = Infinity
  /** `passed`, and what is being written now. */
  #taken = 0
  #writing = false
  #ended = false
  #stalled = false
  #timer: NodeJS.Timeout | undefined

  constructor(source: Socket, sink: Socket, faults: Faults, tell: (kind: Kind) => void) {
    this.#source = source
    this.#sink = sink
    this.#tell = tell
    this.set(faults)
    source.on('data', (bytes: Buffer) => {
      this.held += bytes.length
      if (this.held >= MAX_HELD) source.pause()
      this.#take({ due: this.#due(), bytes })
    })
    source.on('end', () => this.#take({ due: this.#due(), end: 'ended' }))
    source.on('close', failed => this.#take({ due: this.#due(), end: failed ? 'failed' : 'closed' }))
  }

  set(faults: Faults): void {
    this.#delayMs = faults.delayMs ?? this.#delayMs
    this.#splitAt = faults.splitAt ?? this.#splitAt
    for (const kind of kinds) {
      const position = faults[`${kind}At`]
      if (position !== undefined) this.#at[kind] = this.#taken + position
    }
    if (this.#at.stall > this.#taken) this.#stalled = false
    this.#forward()
  }

  /** Tells the receiver that the sender has ended, now; swallows what still comes. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#sink.end()
    this.#tell('end')
  }

  /** To be called when both sockets are closed. */
  dispose(): void {
    clearTimeout(this.#timer)
    this.#queue.length = 0
    this.held = 0
  }

  #due(): number {
    return performance.now() + this.#delayMs
  }

  #take(piece: Piece): void {
    this.#queue.push(piece)
    this.#forward()
  }

  #forward(): void {
    while (!this.#writing && this.#timer === undefined) {
      const piece = this.#queue[0]
      if (!piece || !this.#isDue(piece)) return
      // The sender learns of it by the receiver's close, as soon as that may pass.
      if ('bytes' in piece && this.#sink.destroyed) return
      const fault = kinds.find(kind => this.#taken >= this.#at[kind] && this.#concerns(kind, piece))
      if (fault === undefined) this.#pass(piece)
      else if (fault === 'end') this.end()
      else {
        this.#stop(fault)
        return
      }
    }
  }

  #isDue({ due }: Piece): boolean {
    const wait = due - performance.now()
    if (wait <= 0) return true
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#forward()
    }, wait)
    return false
  }

  /** An end is no byte, but it is stalled with them; what is swallowed neither cuts nor ends anything. */
  #concerns(kind: Kind, piece: Piece): boolean {
    return kind === 'stall' || ('bytes' in piece && !this.#ended)
  }

  #stop(fault: Kind): void {
    if (this.#stalled) return
    this.#stalled = fault === 'stall'
    this.#tell(fault)
  }

  #pass(piece: Piece): void {
    if ('end' in piece) {
      this.#queue.shift()
      this.#close(piece.end)
    } else if (this.#ended) {
      this.#release(piece, piece.bytes.length)
    } else {
      this.#write(piece)
    }
  }

  /** Writes as much of the piece as comes before the next fault, and may be written at a time. */
  #write(piece: Bytes): void {
    const bytes = piece.bytes.subarray(0, Math.min(this.#splitAt, Math.min(...Object.values(this.#at)) - this.#taken))
    this.#taken += bytes.length
    this.#writing = true
    // One write at a time: its end says that the receiver keeps up, and that a cut comes after it.
    this.#sink.write(bytes, error => {
      this.#writing = false
      if (!error) this.passed += bytes.length
      this.#release(piece, bytes.length)
      this.#forward()
    })
  }

  #release(piece: Bytes, length: number): void {
    if (this.#queue[0] !== piece) return
    piece.bytes = piece.bytes.subarray(length)
    if (piece.bytes.length === 0) this.#queue.shift()
    this.held -= length
    if (this.held < MAX_HELD) this.#source.resume()
  }

  #close(end: End['end']): void {
    if (end === 'failed') reset(this.#sink)
    else if (end === 'closed') this.#sink.destroy()
    else if (!this.#ended) {
      this.#ended = true
      this.#sink.end()
    }
  }
}
