// A reply whose pieces can be held on their way out.

import { OutgoingMessage, type ServerResponse } from 'node:http'

/** Has the pieces of a reply wait, in order, each for as long as `delay` says when it is written. */
export function hold(response: ServerResponse, delay: () => number): void {
  const held = new Held(response, delay)
  const { write, end, flushHeaders } = response
  const waiting = Object.getOwnPropertyDescriptor(OutgoingMessage.prototype, 'writableLength')
  Object.defineProperties(response, {
    write: { value: (...args: unknown[]) => held.send(() => Reflect.apply(write, response, args), sizeOf(args[0])) },
    end: {
      value: (...args: unknown[]) => {
        held.send(() => Reflect.apply(end, response, args), sizeOf(args[0]))
        return response
      },
    },
    flushHeaders: { value: () => void held.send(() => flushHeaders.call(response), 0) },
    // Whoever writes goes by it, so that what is held counts as what the network has not taken (law 8).
    writableLength: { get: () => held.bytes + Number(waiting?.get?.call(response)) },
  })
}

interface Piece {
  readonly due: number
  readonly bytes: number
  send(): void
}

/** What of one reply is held. */
class Held {
  readonly #response: ServerResponse
  readonly #delay: () => number
  readonly #pieces: Piece[] = []
  #timer: NodeJS.Timeout | undefined
  bytes = 0

  constructor(response: ServerResponse, delay: () => number) {
    this.#response = response
    this.#delay = delay
    response.once('close', () => clearTimeout(this.#timer))
  }

  /** Sends a piece when its time has come; says whether that was at once. */
  send(send: () => void, bytes: number): boolean {
    const delay = this.#delay()
    // Nothing overtakes what waits.
    if (this.#pieces.length === 0 && delay === 0) {
      send()
      return true
    }
    this.bytes += bytes
    this.#pieces.push({ due: performance.now() + delay, bytes, send })
    if (this.#pieces.length === 1) this.#wait()
    return false
  }

  #wait(): void {
    const [next] = this.#pieces
    if (next === undefined) {
      this.#response.emit('drain')
      return
    }
    this.#timer = setTimeout(
      () => {
        this.#pieces.shift()
        this.bytes -= next.bytes
        next.send()
        this.#wait()
      },
      Math.max(0, next.due - performance.now()),
    )
  }
}

const sizeOf = (piece: unknown): number =>
  typeof piece === 'string' || piece instanceof Uint8Array ? Buffer.byteLength(piece) : 0
