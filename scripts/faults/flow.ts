import type { Socket } from 'node:net'

/**
 * Faults of one direction. Each `At` is a number of bytes, counted from the time it is set: 0 is the next byte. The
 * fault happens when that byte arrives, and the byte is not forwarded. Infinity turns the fault off.
 */
export type Faults = {
  /** Delay of all bytes and of the end, in ms. */
  delayMs?: number
  /** Maximum bytes per write, so that the receiver gets one write in many pieces. Infinity does not split. */
  splitAt?: number
  /** Closes both ends. */
  cutAt?: number
  /** Resets both ends. Unread bytes can be lost. */
  resetAt?: number
  /** Forwards nothing, including the end, until `resume`. */
  stallAt?: number
  /** Ends the direction for the receiver and drops further bytes. */
  endAt?: number
}

/** Kinds of faults, in the order in which they apply at the same position. */
const kinds = ['reset', 'cut', 'stall', 'end'] as const
export type FaultKind = (typeof kinds)[number]

type QueuedBytes = { due: number; bytes: Buffer }
/** End of the sender: half-closed, closed, or closed with an error. */
type QueuedEnd = { due: number; end: 'ended' | 'closed' | 'failed' }
type QueuedItem = QueuedBytes | QueuedEnd

/** A flow with this many buffered bytes stops reading from its source. */
export const MAX_BUFFERED = 256 * 1024

/** Resets a socket. A socket with a pending end cannot be reset and would never close, so it is destroyed. */
export function reset(socket: Socket): void {
  if (socket.writableEnded || socket.writableLength > 0) socket.destroy()
  else socket.resetAndDestroy()
}

/** One direction of a connection. Forwards bytes, one write at a time, and reports its faults. */
export class Flow {
  /** Bytes that the receiver's socket has accepted. */
  forwarded = 0
  /** Buffered bytes. */
  buffered = 0
  readonly #source: Socket
  readonly #sink: Socket
  readonly #onFault: (kind: FaultKind) => void
  readonly #queue: QueuedItem[] = []
  readonly #at: Record<FaultKind, number> = { reset: Infinity, cut: Infinity, stall: Infinity, end: Infinity }
  #delayMs = 0
  #splitAt = Infinity
  /** `forwarded` plus the write in flight. */
  #taken = 0
  #writing = false
  #ended = false
  #stalled = false
  #timer: NodeJS.Timeout | undefined

  constructor(source: Socket, sink: Socket, faults: Faults, onFault: (kind: FaultKind) => void) {
    this.#source = source
    this.#sink = sink
    this.#onFault = onFault
    this.set(faults)
    source.on('data', (bytes: Buffer) => {
      this.buffered += bytes.length
      if (this.buffered >= MAX_BUFFERED) source.pause()
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

  /** Ends the direction for the receiver now and drops further bytes. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#sink.end()
    this.#onFault('end')
  }

  /** Call when both sockets are closed. */
  dispose(): void {
    clearTimeout(this.#timer)
    this.#queue.length = 0
    this.buffered = 0
  }

  #due(): number {
    return performance.now() + this.#delayMs
  }

  #take(item: QueuedItem): void {
    this.#queue.push(item)
    this.#forward()
  }

  #forward(): void {
    while (!this.#writing && this.#timer === undefined) {
      const item = this.#queue[0]
      if (!item || !this.#isDue(item)) return
      // The sender notices by the receiver's close, as soon as that is forwarded.
      if ('bytes' in item && this.#sink.destroyed) return
      const fault = kinds.find(kind => this.#taken >= this.#at[kind] && this.#appliesTo(kind, item))
      if (fault === undefined) this.#pass(item)
      else if (fault === 'end') this.end()
      else {
        this.#stop(fault)
        return
      }
    }
  }

  #isDue({ due }: QueuedItem): boolean {
    const wait = due - performance.now()
    if (wait <= 0) return true
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#forward()
    }, wait)
    return false
  }

  /** An end has no position but is stalled with the bytes. Dropped bytes trigger no fault. */
  #appliesTo(kind: FaultKind, item: QueuedItem): boolean {
    return kind === 'stall' || ('bytes' in item && !this.#ended)
  }

  #stop(fault: FaultKind): void {
    if (this.#stalled) return
    this.#stalled = fault === 'stall'
    this.#onFault(fault)
  }

  #pass(item: QueuedItem): void {
    if ('end' in item) {
      this.#queue.shift()
      this.#close(item.end)
    } else if (this.#ended) {
      this.#release(item, item.bytes.length)
    } else {
      this.#write(item)
    }
  }

  /** Writes the part of the item before the next fault, up to the maximum write size. */
  #write(item: QueuedBytes): void {
    const bytes = item.bytes.subarray(0, Math.min(this.#splitAt, Math.min(...Object.values(this.#at)) - this.#taken))
    this.#taken += bytes.length
    this.#writing = true
    // One write at a time: its callback means that the receiver keeps up, and that a cut happens after it.
    this.#sink.write(bytes, error => {
      this.#writing = false
      if (!error) this.forwarded += bytes.length
      this.#release(item, bytes.length)
      this.#forward()
    })
  }

  #release(item: QueuedBytes, length: number): void {
    if (this.#queue[0] !== item) return
    item.bytes = item.bytes.subarray(length)
    if (item.bytes.length === 0) this.#queue.shift()
    this.buffered -= length
    if (this.buffered < MAX_BUFFERED) this.#source.resume()
  }

  #close(end: QueuedEnd['end']): void {
    if (end === 'failed') reset(this.#sink)
    else if (end === 'closed') this.#sink.destroy()
    else if (!this.#ended) {
      this.#ended = true
      this.#sink.end()
    }
  }
}
