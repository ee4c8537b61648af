import { type Frame, ProtocolError, SseDecoder } from '@millrace/protocol'
import { BACKOFF, RetryDelay } from '@millrace/protocol/retry'
import { failureOf, RequestError } from '../error/chat-error.ts'
import type { ConnectionContext, FollowedSession } from './followed-session.ts'

/** Maximum number of sessions in one request. */
const MAX_SESSIONS = 40
/** Maximum length of a request's URL, in characters. Proxies may refuse 8,000, and cursors grow. */
const MAX_URL_LENGTH = 6_000
/** Time without data after which a connection counts as dead, in ms, until the server has sent its heartbeat interval. */
const SILENCE_MS = 15_000
/**
 * Maximum number of doublings of that time: one for each attempt without progress. If all clients of a busy server gave up and connected
 * again before it can answer, they would keep it busy.
 */
const MAX_SILENCE_DOUBLINGS = 2
/** Delay to collect sessions that join, and to wait for a missing frame, in ms. */
const JOIN_DELAY_MS = 20

const EVENTS = 'text/event-stream'

const addressOf = (members: readonly FollowedSession[], { query }: ConnectionContext): string =>
  `/stream?${members.map(member => member.query).join('&')}${query}`

/** A request that carries several sessions, repeated whenever it drops, until no session is left. */
export class MultiplexedStream {
  readonly context: ConnectionContext
  readonly #delay: RetryDelay
  readonly #members = new Map<string, FollowedSession>()
  /** The sessions of the open request. */
  #requested = new Set<FollowedSession>()
  #request: AbortController | undefined
  #isRunning = false
  #isRenewed = false
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Successive replies with an unexpected status. */
  #unexpectedReplies = 0
  #receivedAt = 0
  #silenceMs = SILENCE_MS

  constructor(context: ConnectionContext) {
    this.context = context
    this.#delay = new RetryDelay(context.backoff)
  }

  /** Whether another session fits into its request. */
  hasRoom(followed: FollowedSession): boolean {
    const members = this.#members
    if (members.size >= MAX_SESSIONS || members.has(followed.sessionId)) return false
    return addressOf([...members.values(), followed], this.context).length <= MAX_URL_LENGTH
  }

  join(followed: FollowedSession): void {
    this.#members.set(followed.sessionId, followed)
    // A session that joins again has another cursor than in the open request.
    this.#requested.delete(followed)
    this.#unexpectedReplies = 0
    if (!this.#isRunning) void this.#run()
    else this.#scheduleCheck()
  }

  leave(followed: FollowedSession): void {
    this.#members.delete(followed.sessionId)
    if (this.#members.size === 0) this.renew('no subscribers')
  }

  /** Aborts the request because of an error. The next one continues from the cursors, after a delay. */
  abort(reason: string): void {
    this.#request?.abort(reason)
  }

  /** Replaces the request at once, without an error. */
  renew(reason: string): void {
    this.#isRenewed = true
    this.abort(reason)
    this.#delay.wake()
  }

  /** Checks after a delay whether sessions joined, or still miss a frame. */
  #scheduleCheck(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      const ready = this.#ready()
      if (ready.some(followed => !this.#requested.has(followed))) this.renew('another session joins')
      else if (ready.some(({ isHolding }) => isHolding)) this.abort('entries are missing')
    }, JOIN_DELAY_MS)
  }

  /** Reconnects now if it is waiting to, and checks for silence. */
  wake(): void {
    this.#delay.wake()
    this.#checkSilence()
  }

  #checkSilence(): void {
    const silenceMs = this.#silenceMs * 2 ** Math.min(this.#delay.failures, MAX_SILENCE_DOUBLINGS)
    if (performance.now() - this.#receivedAt > silenceMs) this.abort('no data or heartbeat for too long')
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#ready().length > 0) {
      this.#isRenewed = false
      const { reason, retryAfter } = await this.#requestOnce()
      if (this.#isRenewed) continue
      for (const followed of this.#ready()) followed.setStatus('offline', reason)
      if (this.#ready().length > 0) await this.#delay.wait(retryAfter)
    }
    this.#isRunning = false
  }

  #ready(): FollowedSession[] {
    return [...this.#members.values()].filter(({ isReady }) => isReady)
  }

  /** Makes one request and reads it to its end. Returns why it ended, and the delay that the server asked for, in ms. */
  async #requestOnce(): Promise<{ reason: string; retryAfter?: number | undefined }> {
    const members = this.#ready()
    const request = new AbortController()
    const { signal } = request
    this.#request = request
    this.#requested = new Set(members)
    this.#receivedAt = performance.now()
    const timer = setInterval(() => this.#checkSilence(), 1000)
    for (const followed of members) {
      followed.forget()
      followed.setStatus('connecting', 'opening the stream')
    }
    try {
      const headers = { accept: EVENTS }
      const reply = await this.context.api.request('GET', addressOf(members, this.context), { headers, signal })
      const type = reply.headers.get('content-type')
      if (!type?.startsWith(EVENTS)) throw new ProtocolError('invalid-frame', `expected ${EVENTS}, found ${type}`)
      await this.#read(reply.body as ReadableStream<Uint8Array>, signal)
      return { reason: signal.aborted ? String(signal.reason) : 'the connection was closed' }
    } catch (error) {
      if (signal.aborted) return { reason: String(signal.reason) }
      return this.#refused(error, members)
    } finally {
      clearInterval(timer)
      clearTimeout(this.#timer)
      this.#timer = undefined
      request.abort()
    }
  }

  #refused(error: unknown, members: readonly FollowedSession[]): { reason: string; retryAfter?: number | undefined } {
    const {
      code,
      message,
      status = 0,
      retryable,
      retryAfter,
    } = error instanceof ProtocolError
      ? new RequestError({
          code: 'protocol_error',
          message: `Expected a Millrace server: ${error.message}`,
        })
      : failureOf(error)
    // Network and server errors are temporary.
    if (retryable) return { reason: message, retryAfter }
    // 401 to 404 concern the credential and the sessions.
    const isFinal = status > 400 && status < 405
    // Any other status may come from a proxy, so it is reported only when it repeats.
    if (isFinal || ++this.#unexpectedReplies === 2) {
      for (const followed of members) followed.fail({ code, message, retryable: !isFinal })
    }
    return {
      reason: message,
      retryAfter: this.#unexpectedReplies > 1 ? (this.context.backoff?.longestMs ?? BACKOFF.longestMs) : undefined,
    }
  }

  async #read(body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<void> {
    const pending: Promise<void>[] = []
    const decoder = new SseDecoder({
      onFrame: frame => {
        if (signal.aborted) return
        const consumed = this.#onFrame(frame)
        if (consumed) pending.push(consumed)
      },
    })
    const reader = body.getReader()
    // A body may ignore the signal. Cancelling one that has failed does nothing.
    signal.addEventListener('abort', () => reader.cancel().catch(() => {}))
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      this.#receivedAt = performance.now()
      decoder.push(value)
      if (pending.length === 0) continue
      // A slow follower is not silence of the server.
      this.#receivedAt = Infinity
      await Promise.all(pending.splice(0))
      this.#receivedAt = performance.now()
    }
    decoder.end()
  }

  #onFrame(frame: Frame): void | Promise<void> {
    if (frame.type === 'open') this.#silenceMs = frame.heartbeatMs * 1.5
    else if (frame.type === 'entries' || frame.type === 'caught-up') this.#delay.progressed()
    if (frame.type === 'entries') this.#unexpectedReplies = 0
    if (frame.sessionId === undefined) {
      if (frame.type === 'fail') for (const followed of this.#requested) followed.onFrame(frame)
      return undefined
    }
    const followed = this.#members.get(frame.sessionId)
    if (followed === undefined || !this.#requested.has(followed)) return undefined
    const consumed = followed.onFrame(frame)
    if (followed.isHolding) this.#scheduleCheck()
    return consumed
  }
}
