import type { Logger } from '@millrace/runtime'
import { Refusal, toldOf } from '../error.ts'
import type { StreamReply } from '../http/reply.ts'
import { bytesOf, CONTENT_TYPES, type Format, heartbeatOf } from './format.ts'
import { Outlet } from './outlet.ts'
import type { StreamSettings } from './settings.ts'

/** What a connection is for, and for whom. */
export interface Serving {
  readonly format: Format
  readonly headers?: Readonly<Record<string, string>>
  /** Throws where who reads may not any more. */
  readonly recheck: () => Promise<void>
  /** Writes what is to be read, to its end; what it throws is told in a `fail`. */
  readonly serve: (outlet: Outlet) => Promise<void>
  readonly onClose?: (isEnded: boolean) => void
}

/** All open streams of a server: they are kept awake, asked after, and told when the server goes. */
export class Connections {
  readonly #settings: StreamSettings
  readonly #logger: Logger
  readonly #open = new Map<Outlet, { checkedAt: number; readonly recheck: () => Promise<void> }>()
  #stopBeat: (() => void) | undefined
  #isDraining = false

  constructor(settings: StreamSettings, logger: Logger) {
    this.#settings = settings
    this.#logger = logger
  }

  /** How many there are. */
  get size(): number {
    return this.#open.size
  }

  /** A reply that streams. */
  reply({ format, headers, recheck, serve, onClose }: Serving): StreamReply {
    return {
      status: 200,
      headers: {
        'content-type': CONTENT_TYPES[format],
        // No cache may keep it, and no proxy change it: what compresses holds back.
        'cache-control': 'no-store, no-transform',
        'x-accel-buffering': 'no',
        'x-content-type-options': 'nosniff',
        ...headers,
      },
      stream: sink => {
        const outlet = new Outlet(sink, format, this.#settings)
        this.#add(outlet, recheck)
        let isEnded = false
        outlet.signal.addEventListener('abort', () => {
          this.#open.delete(outlet)
          onClose?.(isEnded)
        })
        if (format === 'sse') outlet.write(Buffer.from(`retry: ${this.#settings.retryMs}\n\n`))
        if (this.#isDraining) return this.#drain(outlet)
        void serve(outlet)
          .catch(error => this.fail(outlet, error))
          .finally(() => {
            isEnded = outlet.isOpen
            outlet.end()
          })
      },
    }
  }

  /** Tells all that the server goes, and that they may come back; from now on whoever comes is told the same. */
  drain(): void {
    this.#isDraining = true
    for (const outlet of this.#open.keys()) this.#drain(outlet)
  }

  /** Says on a connection what went wrong: of one of its sessions, or of all there is on it. */
  fail(outlet: Outlet, error: unknown, sessionId?: string): void {
    if (!outlet.isOpen) return
    const told = toldOf(error)
    if (told.isOurs) this.#logger.error('a stream failed', { cause: error })
    const recoverable = told.error.retryable || told.isOurs
    const session = sessionId === undefined ? {} : { sessionId }
    outlet.write(bytesOf({ type: 'fail', ...session, error: told.error, recoverable }, outlet.format))
  }

  #drain(outlet: Outlet): void {
    this.fail(outlet, new Refusal('draining', 'the server is going down: come back', { retryable: true }))
    outlet.end()
  }

  #add(outlet: Outlet, recheck: () => Promise<void>): void {
    this.#open.set(outlet, { checkedAt: this.#settings.timers.now(), recheck })
    if (this.#stopBeat === undefined) this.#beatLater()
  }

  /** One timer for all: whoever heard nothing for half the time hears a heartbeat, so that nobody waits for longer than the whole. */
  #beatLater(): void {
    const { timers, heartbeatMs } = this.#settings
    const again = () => {
      this.#beat()
      if (this.#open.size > 0) this.#beatLater()
      else this.#stopBeat = undefined
    }
    this.#stopBeat = timers.after(heartbeatMs / 2, again, true)
  }

  #beat(): void {
    const { timers, heartbeatMs, heartbeatPadding, reauthorizeMs } = this.#settings
    const now = timers.now()
    for (const [outlet, asked] of this.#open) {
      if (now - outlet.lastWrite >= heartbeatMs / 2 && !outlet.isFull) {
        outlet.write(heartbeatOf(outlet.format, heartbeatPadding))
      }
      if (now - asked.checkedAt < reauthorizeMs) continue
      asked.checkedAt = now
      asked.recheck().catch(error => {
        this.fail(outlet, error)
        outlet.end()
      })
    }
  }
}
