// Faults that a network does not cause, but a client has to survive: repeated, late, lost and merged frames.

import { type EntriesFrame, encodeSse, type Frame, FrameWriter, SSE_HEARTBEAT, SseDecoder } from '@millrace/protocol'
import type { Random } from '../../../../../scripts/faults/random.ts'

const KINDS = ['twice', 'late', 'lost', 'overlap'] as const

/** A fetch that tampers with one in `every` frames of its streams, on average. */
export function tamperingFetch(random: Random, every: number, onTamper: (kind: string) => void): typeof fetch {
  return async (input, init) => {
    const reply = await fetch(input, init)
    if (!String(input).includes('/stream?') || !reply.ok || !reply.body) return reply
    const tamper = new Tamper(random, every, onTamper)
    const body = reply.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        start: controller => tamper.start(controller),
        transform: bytes => tamper.push(bytes),
      }),
    )
    return new Response(body, { status: reply.status, headers: reply.headers })
  }
}

class Tamper {
  readonly #random: Random
  readonly #every: number
  readonly #onTamper: (kind: string) => void
  readonly #writer = new FrameWriter()
  readonly #encoder = new TextEncoder()
  readonly #decoder: SseDecoder
  readonly #last = new Map<string | undefined, EntriesFrame>()
  /** A late or lost frame. It is sent if no entries follow, since the client could not notice its loss. */
  #withheld: { readonly frame: EntriesFrame; readonly isLost: boolean } | undefined
  #controller: TransformStreamDefaultController<Uint8Array> | undefined

  constructor(random: Random, every: number, onTamper: (kind: string) => void) {
    this.#random = random
    this.#every = every
    this.#onTamper = onTamper
    this.#decoder = new SseDecoder({
      onFrame: frame => this.#onFrame(frame),
      onHeartbeat: () => {
        this.#release()
        this.#controller?.enqueue(this.#encoder.encode(SSE_HEARTBEAT))
      },
    })
  }

  start(controller: TransformStreamDefaultController<Uint8Array>): void {
    this.#controller = controller
  }

  push(bytes: Uint8Array): void {
    this.#decoder.push(bytes)
  }

  #onFrame(frame: Frame): void {
    if (frame.type !== 'entries') {
      this.#release()
      this.#write(frame)
      return
    }
    const withheld = this.#withheld
    if (withheld) {
      const isOther = withheld.frame.sessionId !== frame.sessionId
      this.#withheld = undefined
      if (isOther) this.#write(withheld.frame)
      this.#write(frame)
      if (!withheld.isLost && !isOther) this.#write(withheld.frame)
    } else if (this.#random.below(this.#every) > 0) this.#write(frame)
    else this.#tamper(frame)
    this.#last.set(frame.sessionId, frame)
  }

  #tamper(frame: EntriesFrame): void {
    const kind = this.#random.pick(KINDS)
    const last = this.#last.get(frame.sessionId)
    this.#onTamper(kind)
    if (kind === 'late' || kind === 'lost') this.#withheld = { frame, isLost: kind === 'lost' }
    else if (kind === 'twice' || last?.sequence !== frame.after) {
      this.#write(frame)
      this.#write(frame)
    } else this.#write({ ...frame, after: last.after, entries: [...last.entries, ...frame.entries] })
  }

  #release(): void {
    if (this.#withheld) this.#write(this.#withheld.frame)
    this.#withheld = undefined
  }

  #write(frame: Frame): void {
    this.#controller?.enqueue(this.#encoder.encode(encodeSse(frame, this.#writer)))
  }
}
