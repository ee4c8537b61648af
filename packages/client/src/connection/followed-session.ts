import {
  type ConnectionStatus,
  continuityOf,
  decodeCursor,
  type EntriesFrame,
  type Failure,
  type Frame,
  type Snapshot,
  type Subscriber,
  type Subscription,
} from '@millrace/protocol'
import { type Backoff, RetryDelay, retry } from '@millrace/protocol/retry'
import { failureOf, RequestError } from '../error/chat-error.ts'
import { type Api, sessionPath } from './api.ts'
import type { MultiplexedStream } from './multiplexed-stream.ts'

/** How many frames wait for one before them. */
const MAX_HELD_FRAMES = 64

/** What a session that is followed needs of its connection. */
export interface ConnectionContext {
  readonly api: Api
  readonly backoff: Backoff
  /** What its lines say of all sessions. */
  readonly query: string
  /** What has room for it. */
  streamFor(followed: FollowedSession): MultiplexedStream
  left(followed: FollowedSession): void
  changed(): void
}

/** One session, and how far whoever follows it has got. A frame is applied whole or not at all, and only where it is the next. */
export class FollowedSession implements Subscription {
  readonly sessionId: string
  readonly #follower: Subscriber
  readonly #home: ConnectionContext
  readonly #delay: RetryDelay
  readonly #held = new Map<number, EntriesFrame>()
  #stream: MultiplexedStream | undefined
  #status: ConnectionStatus = 'idle'
  #reason = ''
  #cursor: string | undefined
  #position = 0
  #loading: AbortController | undefined
  #isClosed = false
  #hasFailed = false

  constructor(sessionId: string, follower: Subscriber, after: string | undefined, home: ConnectionContext) {
    this.sessionId = sessionId
    this.#follower = follower
    this.#home = home
    this.#delay = new RetryDelay(home.backoff)
    if (after !== undefined) this.#go(after)
  }

  get status(): ConnectionStatus {
    return this.#status
  }

  get reason(): string {
    return this.#reason
  }

  get cursor(): string | undefined {
    return this.#cursor
  }

  /** How a line asks for it. */
  get place(): string {
    return `session=${encodeURIComponent(this.sessionId)}&after=${encodeURIComponent(this.cursor ?? '')}`
  }

  /** What carries it; nothing, before there was a place to go on from. */
  get stream(): MultiplexedStream | undefined {
    return this.#stream
  }

  /** Whether it is to be carried. */
  get isReady(): boolean {
    return this.#cursor !== undefined && !this.#isClosed && !this.#hasFailed
  }

  /** Begins to follow. */
  start(): void {
    if (this.isReady) this.#join()
    else void this.#load()
  }

  #join(): void {
    this.#stream ??= this.#home.streamFor(this)
    this.#stream.join(this)
  }

  refresh(): void {
    if (this.#isClosed) return
    this.#hasFailed = false
    this.#cursor = undefined
    this.#held.clear()
    void this.#load()
  }

  wake(): void {
    if (this.#isClosed) return
    this.#delay.wake()
    if (this.#hasFailed) {
      this.#hasFailed = false
      this.start()
    } else this.#stream?.wake()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#loading?.abort()
    this.#delay.wake()
    this.#status = 'idle'
    this.#reason = 'nobody follows'
    this.#stream?.leave(this)
    this.#home.left(this)
  }

  setStatus(status: ConnectionStatus, reason: string): void {
    if (this.#isClosed || (status === this.#status && reason === this.#reason)) return
    this.#status = status
    this.#reason = reason
    this.#tell(() => this.#follower.status?.(status, reason))
    this.#home.changed()
  }

  /** It cannot be followed; what may do the next time is tried again all the same. */
  fail({ code, message, retryable = false }: Failure): void {
    if (this.#isClosed) return
    this.#hasFailed = !retryable
    this.setStatus('offline', message)
    this.#tell(() => this.#follower.fail?.({ code, message, retryable }))
  }

  /** What a follower throws concerns nobody else on its line. */
  #tell(work: () => void): void {
    try {
      work()
    } catch (error) {
      console.error(error)
    }
  }

  /** Takes a frame of this session; a promise where the follower wants nothing more until then. */
  take(frame: Frame): void | Promise<void> {
    if (!this.isReady) return undefined
    switch (frame.type) {
      case 'open':
        return this.setStatus('catching-up', 'reading what was missed')
      case 'entries':
        return this.#entries(frame)
      case 'caught-up':
        if (continuityOf(frame, this.#position) === 'gap') return this.#stream?.break('something was left out')
        return this.setStatus('live', 'up to date')
      case 'truncated':
        return this.refresh()
      case 'fail': {
        const { error, recoverable } = frame
        // Who was let in, and is put out, may have another credential by now.
        const isLetIn = error.code === 'unauthorized' && this.#status !== 'connecting'
        return recoverable || isLetIn ? this.#stream?.break(error.message) : this.fail(error)
      }
      case 'end':
        return this.#stream?.break('the server closed the session')
      case 'status':
        return undefined
    }
  }

  #entries(frame: EntriesFrame): void | Promise<void> {
    switch (continuityOf(frame, this.#position)) {
      case 'next':
        return this.#apply(frame)
      case 'gap':
        this.#held.set(frame.after, frame)
        // What fills a gap is never far behind: where it is, it is lost.
        if (this.#held.size > MAX_HELD_FRAMES) this.#stream?.break('something was left out')
        return undefined
      case 'overlap':
        return this.#stream?.break('what came overlaps what is there')
      case 'duplicate':
        return undefined
    }
  }

  #apply(frame: EntriesFrame): void | Promise<void> {
    this.#position = frame.sequence
    this.#cursor = frame.cursor
    let held: void | Promise<void>
    try {
      held = this.#follower.entries(frame.entries, frame.sequence)
    } catch (error) {
      return this.#harmed(error)
    }
    if (held) held = held.catch(error => this.#harmed(error))
    const next = this.#held.get(frame.sequence)
    if (next === undefined) return held
    this.#held.delete(frame.sequence)
    // It may have left, or taken a snapshot, meanwhile.
    return held ? held.then(() => this.take(next)) : this.take(next)
  }

  /** The follower itself could not go on: who knows what it has. */
  #harmed(error: unknown): void {
    this.#cursor = undefined
    this.fail(error instanceof RequestError ? error : { code: 'follower_failed', message: String(error) })
  }

  /** Whether something waits for what has not come. */
  get isHolding(): boolean {
    return this.#held.size > 0
  }

  /** Asks again from the cursor: what was held will come again. */
  forget(): void {
    this.#held.clear()
  }

  #go(cursor: string): void {
    this.#position = decodeCursor(cursor).sequence
    this.#cursor = cursor
  }

  #begin(snapshot: Snapshot): void {
    try {
      this.#go(snapshot.cursor)
      this.#follower.snapshot(snapshot)
    } catch (error) {
      this.#harmed(error)
    }
    if (this.isReady) this.#join()
  }

  /** Takes a snapshot, however long it takes to get one. */
  async #load(): Promise<void> {
    this.#loading?.abort()
    const loading = new AbortController()
    const { signal } = loading
    this.#loading = loading
    const { api } = this.#home
    const { messages } = this.#follower
    const query = messages === undefined ? '' : `?messages=last:${messages}`
    this.setStatus('connecting', 'reading the session')
    const load = () => api.ask<Snapshot>('GET', sessionPath(this.sessionId, query), undefined, signal)
    const delayAfter = (error: unknown) => {
      const failure = failureOf(error)
      if (signal.aborted) return false
      if (failure.retryable) this.setStatus('offline', failure.message)
      else this.fail(failure)
      return failure.retryable && (failure.retryAfter ?? 0)
    }
    const snapshot = await retry(load, this.#delay, delayAfter, signal).catch(() => undefined)
    if (!snapshot || signal.aborted) return
    this.#delay.progressed()
    this.#begin(snapshot)
  }
}
