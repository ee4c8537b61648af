import type { FailFrame } from '@millrace/protocol'
import type { Logger } from '@millrace/runtime'
import { draining, errorResponseOf } from '../errors/refusal.ts'
import type { StreamReply } from '../http/reply.ts'
import type { Format } from './format.ts'
import { type Framing, framingOf, StreamChannel } from './stream-channel.ts'
import type { StreamSettings } from './stream-settings.ts'

/** What a connection is for, and for whom. */
export interface StreamReplyOptions {
  readonly format: Format
  /** How it speaks, where it carries no frames. */
  readonly framing?: Framing
  readonly headers?: Readonly<Record<string, string>>
  /** Throws where who reads may not any more. */
  readonly recheck: () => Promise<void>
  /** Writes what is to be read, to its end; what it throws is told in a `fail`. */
  readonly serve: (channel: StreamChannel) => Promise<void>
  /** Is told once when the connection is gone, and whether it was ended here in good order: otherwise the client dropped it. */
  readonly onClose?: (isEnded: boolean) => void
}

interface OpenConnection {
  checkedAt: number
  isAsked: boolean
  readonly recheck: () => Promise<void>
}

/** All open streams of a server: they are kept awake, asked after, and told when the server goes. */
export class Connections {
  readonly #settings: StreamSettings
  readonly #logger: Logger
  readonly #open = new Map<StreamChannel, OpenConnection>()
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
  reply({ format, headers, recheck, serve, onClose, ...serving }: StreamReplyOptions): StreamReply {
    const { framing = framingOf(format, this.#settings) } = serving
    return {
      status: 200,
      headers: { ...headersOf(framing.contentType), ...headers },
      stream: sink => {
        const channel = new StreamChannel(sink, format, this.#settings, framing)
        this.#add(channel, recheck)
        void channel.closed
          .then(isEnded => {
            this.#remove(channel)
            onClose?.(isEnded)
          })
          .catch(cause => this.#logger.error('a stream that closed could not be let go', { cause }))
        if (framing.opening) channel.write(framing.opening)
        if (this.draining.aborted) return this.#drain(channel)
        void serve(channel)
          .catch(error => this.fail(channel, error))
          .finally(() => channel.end())
      },
    }
  }

  /** Tells all that the server goes, and that they may come back; from now on whoever comes is told the same. */
  drain(): void {
    this.#draining.abort()
    for (const channel of this.#open.keys()) this.#drain(channel)
  }

  /** Says on a connection what went wrong: of one of its sessions, or of all there is on it. */
  fail(channel: StreamChannel, error: unknown, sessionId?: string): void {
    if (!channel.isOpen) return
    const { frame, isServerFault } = failureOf(error, sessionId)
    if (isServerFault) this.#logger.error('a stream failed', { cause: error })
    const bytes = channel.framing.fail(frame)
    if (bytes === undefined) channel.destroy()
    else channel.write(bytes)
  }

  #drain(channel: StreamChannel): void {
    this.fail(channel, draining())
    channel.end()
  }

  #add(channel: StreamChannel, recheck: () => Promise<void>): void {
    this.#open.set(channel, { checkedAt: this.#settings.timers.now(), isAsked: false, recheck })
    if (this.#open.size === 1) this.#beatLater()
  }

  #remove(channel: StreamChannel): void {
    this.#open.delete(channel)
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
    for (const [channel, asked] of this.#open) {
      // Who is full may have nobody waiting for it to take something, and nothing more to take.
      if (channel.isFull) channel.watchStall()
      else if (now - channel.lastWrite >= heartbeatMs / 2) this.#sendHeartbeat(channel)
      if (!asked.isAsked && now - asked.checkedAt >= reauthorizeMs) void this.#recheck(channel, asked)
    }
  }

  #sendHeartbeat(channel: StreamChannel): void {
    const beat = channel.framing.heartbeat()
    if (beat) channel.write(beat)
  }

  async #recheck(channel: StreamChannel, asked: OpenConnection): Promise<void> {
    asked.isAsked = true
    try {
      await asked.recheck()
    } catch (error) {
      this.fail(channel, error)
      channel.end()
    }
    asked.isAsked = false
    asked.checkedAt = this.#settings.timers.now()
  }
}

/** What went wrong as a frame, and whether the server is to blame: then it may be better when the client comes back. */
export function failureOf(
  error: unknown,
  sessionId?: string,
): { readonly frame: FailFrame; readonly isServerFault: boolean } {
  const { error: told, isServerFault } = errorResponseOf(error)
  const session = sessionId === undefined ? {} : { sessionId }
  return {
    frame: { type: 'fail', ...session, error: told, recoverable: told.retryable || isServerFault },
    isServerFault,
  }
}

/** No cache may keep frames, and no proxy change them: what compresses holds back. */
export const headersOf = (contentType: string): Readonly<Record<string, string>> => ({
  'content-type': contentType,
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
})
