import type { FailFrame } from '@millrace/protocol'
import type { Logger } from '@millrace/runtime'
import { draining, toldOf } from '../errors/refusal.ts'
import type { StreamReply } from '../http/reply.ts'
import type { Format } from './format.ts'
import { Outlet, type Voice, voiceOf } from './stream-channel.ts'
import type { StreamSettings } from './stream-settings.ts'

/** What a connection is for, and for whom. */
export interface Serving {
  readonly format: Format
  /** How it speaks, where it carries no frames. */
  readonly voice?: Voice
  readonly headers?: Readonly<Record<string, string>>
  /** Throws where who reads may not any more. */
  readonly recheck: () => Promise<void>
  /** Writes what is to be read, to its end; what it throws is told in a `fail`. */
  readonly serve: (outlet: Outlet) => Promise<void>
  /** Is told once when the connection is gone, and whether it was ended here in good order: otherwise the client dropped it. */
  readonly onClose?: (isEnded: boolean) => void
}

interface Open {
  checkedAt: number
  isAsked: boolean
  readonly recheck: () => Promise<void>
}

/** All open streams of a server: they are kept awake, asked after, and told when the server goes. */
export class Connections {
  readonly #settings: StreamSettings
  readonly #logger: Logger
  readonly #open = new Map<Outlet, Open>()
  readonly #draining = new AbortController()
  #stopBeat: (() => void) | undefined

  constructor(settings: StreamSettings, logger: Logger) {
    this.#settings = settings
    this.#logger = logger
  }

  /** How many there are. */
  get size(): number {
    return this.#open.size
  }

  /** Is aborted when the server goes: for who waits elsewhere. */
  get draining(): AbortSignal {
    return this.#draining.signal
  }

  /** A reply that streams. */
  reply({ format, headers, recheck, serve, onClose, ...serving }: Serving): StreamReply {
    const { voice = voiceOf(format, this.#settings) } = serving
    return {
      status: 200,
      headers: { ...headersOf(voice.contentType), ...headers },
      stream: sink => {
        const outlet = new Outlet(sink, format, this.#settings, voice)
        this.#add(outlet, recheck)
        void outlet.closed
          .then(isEnded => {
            this.#remove(outlet)
            onClose?.(isEnded)
          })
          .catch(cause => this.#logger.error('a stream that closed could not be let go', { cause }))
        if (voice.opening) outlet.write(voice.opening)
        if (this.draining.aborted) return this.#drain(outlet)
        void serve(outlet)
          .catch(error => this.fail(outlet, error))
          .finally(() => outlet.end())
      },
    }
  }

  /** Tells all that the server goes, and that they may come back; from now on whoever comes is told the same. */
  drain(): void {
    this.#draining.abort()
    for (const outlet of this.#open.keys()) this.#drain(outlet)
  }

  /** Says on a connection what went wrong: of one of its sessions, or of all there is on it. */
  fail(outlet: Outlet, error: unknown, sessionId?: string): void {
    if (!outlet.isOpen) return
    const { frame, isOurs } = failureOf(error, sessionId)
    if (isOurs) this.#logger.error('a stream failed', { cause: error })
    const said = outlet.voice.fail(frame)
    if (said === undefined) outlet.destroy()
    else outlet.write(said)
  }

  #drain(outlet: Outlet): void {
    this.fail(outlet, draining())
    outlet.end()
  }

  #add(outlet: Outlet, recheck: () => Promise<void>): void {
    this.#open.set(outlet, { checkedAt: this.#settings.timers.now(), isAsked: false, recheck })
    if (this.#open.size === 1) this.#beatLater()
  }

  #remove(outlet: Outlet): void {
    this.#open.delete(outlet)
    if (this.#open.size === 0) this.#stopBeat?.()
  }

  /** One timer for all: whoever heard nothing for half the time hears a heartbeat, so that nobody waits for longer than the whole. */
  #beatLater(): void {
    const { timers, heartbeatMs, reauthorizeMs } = this.#settings
    const again = () => {
      this.#beatLater()
      this.#beat()
    }
    this.#stopBeat = timers.after(Math.min(heartbeatMs / 2, reauthorizeMs), again, true)
  }

  #beat(): void {
    const { timers, heartbeatMs, reauthorizeMs } = this.#settings
    const now = timers.now()
    for (const [outlet, asked] of this.#open) {
      // Who is full may have nobody waiting for it to take something, and nothing more to take.
      if (outlet.isFull) outlet.watchStall()
      else if (now - outlet.lastWrite >= heartbeatMs / 2) this.#keepAwake(outlet)
      if (!asked.isAsked && now - asked.checkedAt >= reauthorizeMs) void this.#recheck(outlet, asked)
    }
  }

  #keepAwake(outlet: Outlet): void {
    const beat = outlet.voice.heartbeat()
    if (beat) outlet.write(beat)
  }

  async #recheck(outlet: Outlet, asked: Open): Promise<void> {
    asked.isAsked = true
    try {
      await asked.recheck()
    } catch (error) {
      this.fail(outlet, error)
      outlet.end()
    }
    asked.isAsked = false
    asked.checkedAt = this.#settings.timers.now()
  }
}

/** What went wrong as a frame, and whether the server is to blame: then it may be better when the client comes back. */
export function failureOf(error: unknown, sessionId?: string): { readonly frame: FailFrame; readonly isOurs: boolean } {
  const { error: told, isOurs } = toldOf(error)
  const session = sessionId === undefined ? {} : { sessionId }
  return { frame: { type: 'fail', ...session, error: told, recoverable: told.retryable || isOurs }, isOurs }
}

/** No cache may keep frames, and no proxy change them: what compresses holds back. */
export const headersOf = (contentType: string): Readonly<Record<string, string>> => ({
  'content-type': contentType,
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
})
