import type { StreamManager } from '@millrace/log'
import type { FailFrame } from '@millrace/protocol'
import type { Logger } from '@millrace/runtime'
import { authorizeTimeout, draining, errorResponseOf } from '../errors/http-error.ts'
import type { StreamReply } from '../http/reply.ts'
import type { Format } from './format.ts'
import { type Framing, framingOf, StreamChannel } from './stream-channel.ts'
import type { StreamSettings } from './stream-settings.ts'

/** The services that streams need. */
export interface StreamServices {
  readonly manager: StreamManager
  readonly connections: Connections
  readonly settings: StreamSettings
}

/** Options of a streaming reply. */
export interface StreamReplyOptions {
  readonly format: Format
  /** Content type, heartbeats and errors of the stream. @default frames in `format` */
  readonly framing?: Framing
  readonly headers?: Readonly<Record<string, string>>
  /** @throws if the caller lost access */
  readonly recheck: () => Promise<void>
  /** Writes the stream to its end. An error that it throws is sent as a `fail`. */
  readonly serve: (channel: StreamChannel) => Promise<void>
  /** Called once when the connection is gone; `isEnded` is true if the server ended it, false if the client dropped it. */
  readonly onClose?: (isEnded: boolean) => void
}

/** Time for `authorize` to answer for an open stream, in ms. */
export const RECHECK_TIMEOUT_MS = 30_000

interface OpenConnection {
  checkedAt: number
  isChecking: boolean
  readonly recheck: () => Promise<void>
}

/** All open streams of a server: sends heartbeats, authorizes again at intervals, and drains on shutdown. */
export class Connections {
  readonly #settings: StreamSettings
  readonly #logger: Logger
  readonly #open = new Map<StreamChannel, OpenConnection>()
  readonly #draining = new AbortController()
  #stopHeartbeats: (() => void) | undefined

  constructor(settings: StreamSettings, logger: Logger) {
    this.#settings = settings
    this.#logger = logger
  }

  /** Number of open streams. */
  get size(): number {
    return this.#open.size
  }

  /** Aborts when the server shuts down, for requests that wait without a stream. */
  get draining(): AbortSignal {
    return this.#draining.signal
  }

  /** Creates a streaming reply. */
  reply({ format, headers, recheck, serve, onClose, ...rest }: StreamReplyOptions): StreamReply {
    const { framing = framingOf(format, this.#settings) } = rest
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
          .catch(cause => this.#logger.error('cleaning up a closed stream failed', { cause }))
        if (framing.opening) channel.write(framing.opening)
        if (this.draining.aborted) return this.#drain(channel)
        void serve(channel)
          .catch(error => this.fail(channel, error))
          .finally(() => channel.end())
      },
    }
  }

  /** Asks all clients, also later ones, to reconnect because the server shuts down. */
  drain(): void {
    this.#draining.abort()
    for (const channel of this.#open.keys()) this.#drain(channel)
  }

  /** Sends an error on a connection, for one of its sessions or for all of it. */
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
    this.#open.set(channel, { checkedAt: this.#settings.timers.now(), isChecking: false, recheck })
    if (this.#open.size === 1) this.#scheduleHeartbeats()
  }

  #remove(channel: StreamChannel): void {
    this.#open.delete(channel)
    if (this.#open.size === 0) this.#stopHeartbeats?.()
  }

  /** One timer for all streams. A stream that is idle for half of `heartbeatMs` gets a heartbeat, so no gap exceeds `heartbeatMs`. */
  #scheduleHeartbeats(): void {
    const { timers, heartbeatMs, reauthorizeMs } = this.#settings
    const onTimer = () => {
      this.#scheduleHeartbeats()
      this.#sendHeartbeats()
    }
    this.#stopHeartbeats = timers.after(Math.min(heartbeatMs / 2, reauthorizeMs), onTimer, true)
  }

  #sendHeartbeats(): void {
    const { timers, heartbeatMs, reauthorizeMs } = this.#settings
    const now = timers.now()
    for (const [channel, connection] of this.#open) {
      // A full channel may have no writer that waits, and so nothing that watches for a stall.
      if (channel.isFull) channel.watchStall()
      else if (now - channel.lastWrite >= heartbeatMs / 2) this.#sendHeartbeat(channel)
      const age = now - connection.checkedAt
      if (!connection.isChecking && age >= reauthorizeMs) void this.#recheck(channel, connection)
      else if (connection.isChecking && age >= reauthorizeMs + RECHECK_TIMEOUT_MS) {
        // Otherwise a caller that lost access would keep the stream.
        this.#logger.error('authorize did not answer in time for an open stream', { timeoutMs: RECHECK_TIMEOUT_MS })
        this.fail(channel, authorizeTimeout())
        channel.end()
      }
    }
  }

  #sendHeartbeat(channel: StreamChannel): void {
    const heartbeat = channel.framing.heartbeat()
    if (heartbeat) channel.write(heartbeat)
  }

  async #recheck(channel: StreamChannel, connection: OpenConnection): Promise<void> {
    connection.isChecking = true
    try {
      await connection.recheck()
    } catch (error) {
      this.fail(channel, error)
      channel.end()
    }
    connection.isChecking = false
    connection.checkedAt = this.#settings.timers.now()
  }
}

/** The `fail` frame of an error, and whether the server caused it. The client may retry those. */
export function failureOf(
  error: unknown,
  sessionId?: string,
): { readonly frame: FailFrame; readonly isServerFault: boolean } {
  const { error: reply, isServerFault } = errorResponseOf(error)
  const session = sessionId === undefined ? {} : { sessionId }
  return {
    frame: { type: 'fail', ...session, error: reply, recoverable: reply.retryable || isServerFault },
    isServerFault,
  }
}

/** Headers of a stream. No cache may store it and no proxy transform it: compression would delay frames. */
export const headersOf = (contentType: string): Readonly<Record<string, string>> => ({
  'content-type': contentType,
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
})
