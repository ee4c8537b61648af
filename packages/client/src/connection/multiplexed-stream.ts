import { type Frame, ProtocolError, SseDecoder } from '@millrace/protocol'
import { RetryDelay } from '@millrace/protocol/retry'
import { failureOf, RequestError } from '../error/chat-error.ts'
import type { ConnectionContext, FollowedSession } from './followed-session.ts'

/** More sessions than these need another request. */
const MAX_SESSIONS = 40
/** So does a longer address: what lies between may refuse one of 8,000 characters, and cursors grow. */
const MAX_URL_LENGTH = 6_000
/** For how long nothing may be heard before the server has said how long that is, in milliseconds. */
const SILENCE_MS = 15_000
/** What fills a gap, or joins, together with others, may take so long, in milliseconds. */
const JOIN_DELAY_MS = 20

const EVENTS = 'text/event-stream'

const addressOf = (members: readonly FollowedSession[], { query }: ConnectionContext): string =>
  `/stream?${members.map(({ place }) => place).join('&')}${query}`

/** One request that carries sessions, and the next when it breaks, until nobody is left. */
export class MultiplexedStream {
  readonly home: ConnectionContext
  readonly #delay: RetryDelay
  readonly #members = new Map<string, FollowedSession>()
  /** Whom the request is about. */
  #asked = new Set<FollowedSession>()
  #request: AbortController | undefined
  #isRunning = false
  #isAnew = false
  #timer: ReturnType<typeof setTimeout> | undefined
  /** How often in a row it was answered in a way that it should not be. */
  #odd = 0
  #heard = 0
  #silenceMs = SILENCE_MS

  constructor(home: ConnectionContext) {
    this.home = home
    this.#delay = new RetryDelay(home.backoff)
  }

  /** Whether it can carry that one, too. */
  hasRoom(followed: FollowedSession): boolean {
    const members = this.#members
    if (members.size >= MAX_SESSIONS || members.has(followed.sessionId)) return false
    return addressOf([...members.values(), followed], this.home).length <= MAX_URL_LENGTH
  }

  join(followed: FollowedSession): void {
    this.#members.set(followed.sessionId, followed)
    // Who comes again has another place than it was asked for with.
    this.#asked.delete(followed)
    this.#odd = 0
    if (!this.#isRunning) void this.#run()
    else this.#soon()
  }

  leave(followed: FollowedSession): void {
    this.#members.delete(followed.sessionId)
    if (this.#members.size === 0) this.renew('nobody follows')
  }

  /** Something went wrong with the request: the next goes on from the cursors, in a while. */
  break(reason: string): void {
    this.#request?.abort(reason)
  }

  /** Asks anew, at once: nothing is wrong. */
  renew(reason: string): void {
    this.#isAnew = true
    this.break(reason)
    this.#delay.wake()
  }

  /** Looks in a moment whether somebody has joined, or still waits for what was left out. */
  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      const ready = this.#ready()
      if (ready.some(one => !this.#asked.has(one))) this.renew('another session joins')
      else if (ready.some(one => one.isHolding)) this.break('something was left out')
    }, JOIN_DELAY_MS)
  }

  /** Comes back at once where it waits, and looks whether it still hears anything. */
  wake(): void {
    this.#delay.wake()
    this.#listen()
  }

  #listen(): void {
    if (performance.now() - this.#heard > this.#silenceMs) this.break('nothing was heard for too long')
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#ready().length > 0) {
      this.#isAnew = false
      const { reason, retryAfter } = await this.#carry()
      if (this.#isAnew) continue
      for (const followed of this.#ready()) followed.setStatus('offline', reason)
      if (this.#ready().length > 0) await this.#delay.wait(retryAfter)
    }
    this.#isRunning = false
  }

  #ready(): FollowedSession[] {
    return [...this.#members.values()].filter(({ isReady }) => isReady)
  }

  /** One request, from its beginning to its end; why it ended, and when to come back, where the server said so. */
  async #carry(): Promise<{ reason: string; retryAfter?: number | undefined }> {
    const members = this.#ready()
    const request = new AbortController()
    const { signal } = request
    this.#request = request
    this.#asked = new Set(members)
    this.#heard = performance.now()
    const timer = setInterval(() => this.#listen(), 1000)
    for (const followed of members) {
      followed.forget()
      followed.setStatus('connecting', 'asking')
    }
    try {
      const headers = { accept: EVENTS }
      const reply = await this.home.api.request('GET', addressOf(members, this.home), { headers, signal })
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
      ? new RequestError({ code: 'protocol_error', message: `Is this a Millrace server? ${error.message}` })
      : failureOf(error)
    // It did not get there, broke off, or the server is not well: that passes.
    if (retryable) return { reason: message, retryAfter }
    // These are about who asks, and for what.
    const isFinal = status > 400 && status < 405
    // All others are about how it asks: it may be what lies between, so that it is told only where it comes again.
    if (isFinal || ++this.#odd === 2) {
      for (const followed of members) followed.fail({ code, message, retryable: !isFinal })
    }
    return { reason: message, retryAfter: this.#odd > 1 ? this.home.backoff.longest : undefined }
  }

  async #read(body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<void> {
    const held: Promise<void>[] = []
    const decoder = new SseDecoder({
      onFrame: frame => {
        if (signal.aborted) return
        const wait = this.#take(frame)
        if (wait) held.push(wait)
      },
    })
    const reader = body.getReader()
    // A body may not heed the signal, and what is cancelled after an error is over anyway.
    signal.addEventListener('abort', () => reader.cancel().catch(() => {}))
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      this.#heard = performance.now()
      decoder.push(value)
      if (held.length === 0) continue
      // Nothing can be heard by one who does not listen.
      this.#heard = Infinity
      await Promise.all(held.splice(0))
      this.#heard = performance.now()
    }
    decoder.end()
  }

  #take(frame: Frame): void | Promise<void> {
    if (frame.type === 'open') this.#silenceMs = frame.heartbeatMs * 1.5
    else if (frame.type === 'entries' || frame.type === 'caught-up') this.#delay.progressed()
    if (frame.type === 'entries') this.#odd = 0
    if (frame.sessionId === undefined) {
      if (frame.type === 'fail') for (const one of this.#asked) one.take(frame)
      return undefined
    }
    const followed = this.#members.get(frame.sessionId)
    if (followed === undefined || !this.#asked.has(followed)) return undefined
    const wait = followed.take(frame)
    if (followed.isHolding) this.#soon()
    return wait
  }
}
