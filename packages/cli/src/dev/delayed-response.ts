// A response whose writes can be delayed.

import { OutgoingMessage, type ServerResponse } from 'node:http'

/** Delays each write of a response by `delayMs`, read at the time of the write. Keeps their order. */
export function delayResponse(response: ServerResponse, delayMs: () => number): void {
  const queue = new DelayQueue(response, delayMs)
  const { write, end, flushHeaders } = response
  const writableLength = Object.getOwnPropertyDescriptor(OutgoingMessage.prototype, 'writableLength')
  Object.defineProperties(response, {
    write: { value: (...args: unknown[]) => queue.send(() => Reflect.apply(write, response, args), sizeOf(args[0])) },
    end: {
      value: (...args: unknown[]) => {
        queue.send(() => Reflect.apply(end, response, args), sizeOf(args[0]))
        return response
      },
    },
    flushHeaders: { value: () => void queue.send(() => flushHeaders.call(response), 0) },
    // Writers use it for backpressure, so delayed bytes count as not yet sent (law 8).
    writableLength: { get: () => queue.bytes + Number(writableLength?.get?.call(response)) },
  })
}

interface DelayedWrite {
  /** When to send it, on the monotonic clock. */
  readonly dueAt: number
  readonly bytes: number
  send(): void
}

/** The delayed writes of one response. */
class DelayQueue {
  readonly #response: ServerResponse
  readonly #delayMs: () => number
  readonly #writes: DelayedWrite[] = []
  #timer: NodeJS.Timeout | undefined
  bytes = 0

  constructor(response: ServerResponse, delayMs: () => number) {
    this.#response = response
    this.#delayMs = delayMs
    response.once('close', () => clearTimeout(this.#timer))
  }

  /** Sends a write after its delay. Returns whether it was sent at once. */
  send(send: () => void, bytes: number): boolean {
    const delayMs = this.#delayMs()
    // Later writes wait for earlier ones.
    if (this.#writes.length === 0 && delayMs === 0) {
      send()
      return true
    }
    this.bytes += bytes
    this.#writes.push({ dueAt: performance.now() + delayMs, bytes, send })
    if (this.#writes.length === 1) this.#sendNextWhenDue()
    return false
  }

  #sendNextWhenDue(): void {
    const [next] = this.#writes
    if (next === undefined) {
      this.#response.emit('drain')
      return
    }
    this.#timer = setTimeout(
      () => {
        this.#writes.shift()
        this.bytes -= next.bytes
        next.send()
        this.#sendNextWhenDue()
      },
      Math.max(0, next.dueAt - performance.now()),
    )
  }
}

const sizeOf = (piece: unknown): number =>
  typeof piece === 'string' || piece instanceof Uint8Array ? Buffer.byteLength(piece) : 0
