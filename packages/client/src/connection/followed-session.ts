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

/** Maximum number of frames that wait for a missing one. */
const MAX_HELD_FRAMES = 64

/** The connection of a followed session. */
export interface ConnectionContext {
  readonly api: Api
  readonly backoff: Partial<Backoff> | undefined
  /** Query parameters of every request. */
  readonly query: string
  /** A stream with room for the session. */
  streamFor(followed: FollowedSession): MultiplexedStream
  closed(followed: FollowedSession): void
  changed(): void
}

/** One followed session, and the position of its follower. A frame is applied completely or not at all, and only if it is the next one. */
export class FollowedSession implements Subscription {
  readonly sessionId: string
  readonly #follower: Subscriber
  readonly #context: ConnectionContext
  readonly #delay: RetryDelay
  readonly #heldFrames = new Map<number, EntriesFrame>()
  #stream: MultiplexedStream | undefined
  #status: ConnectionStatus = 'idle'
  #reason = ''
  #cursor: string | undefined
  #position = 0
  #loading: AbortController | undefined
  #isClosed = false
  #hasFailed = false

  constructor(sessionId: string, follower: Subscriber, after: string | undefined, context: ConnectionContext) {
    this.sessionId = sessionId
    this.#follower = follower
    this.#context = context
    this.#delay = new RetryDelay(context.backoff)
    if (after !== undefined) this.#moveTo(after)
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

  /** Its query parameters in a stream request. */
  get query(): string {
    return `session=${encodeURIComponent(this.sessionId)}&after=${encodeURIComponent(this.cursor ?? '')}`
  }

  /** Its stream. Undefined before it has a cursor. */
  get stream(): MultiplexedStream | undefined {
    return this.#stream
  }

  /** Whether the next stream request includes it. */
  get isReady(): boolean {
    return this.#cursor !== undefined && !this.#isClosed && !this.#hasFailed
  }

  /** Begins to follow. */
  start(): void {
    if (this.isReady) this.#join()
    else void this.#load()
  }

  #join(): void {
    this.#stream ??= this.#context.streamFor(this)
    this.#stream.join(this)
  }

  refresh(): void {
    if (this.#isClosed) return
    this.#hasFailed = false
    this.#cursor = undefined
    this.#heldFrames.clear()
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
    this.#reason = 'no subscribers'
    this.#stream?.leave(this)
    this.#context.closed(this)
  }

  setStatus(status: ConnectionStatus, reason: string): void {
    if (this.#isClosed || (status === this.#status && reason === this.#reason)) return
    this.#status = status
    this.#reason = reason
    this.#notify(() => this.#follower.status?.(status, reason))
    this.#context.changed()
  }

  /** Reports that the session cannot be followed. A retryable failure is retried all the same. */
  fail({ code, message, retryable = false }: Failure): void {
    if (this.#isClosed) return
    this.#hasFailed = !retryable
    this.setStatus('offline', message)
    this.#notify(() => this.#follower.fail?.({ code, message, retryable }))
  }

  /** Isolates other followers from errors of this one. */
  #notify(work: () => void): void {
    try {
      work()
    } catch (error) {
      console.error(error)
    }
  }

  /** Takes a frame of this session. The stream reads on when a returned promise resolves. */
  onFrame(frame: Frame): void | Promise<void> {
    if (!this.isReady) return undefined
    switch (frame.type) {
      case 'open':
        return this.setStatus('catching-up', 'reading what was missed')
      case 'entries':
        return this.#entries(frame)
      case 'caught-up':
        if (continuityOf(frame, this.#position) === 'gap') return this.#stream?.abort('entries are missing')
        return this.setStatus('live', 'up to date')
      case 'truncated':
        return this.refresh()
      case 'fail': {
        const { error, recoverable } = frame
        // The credential may have expired: reconnect with a new one.
        const wasAuthorized = error.code === 'unauthorized' && this.#status !== 'connecting'
        return recoverable || wasAuthorized ? this.#stream?.abort(error.message) : this.fail(error)
      }
      case 'end':
        return this.#stream?.abort('the server closed the session')
      case 'status':
        return undefined
    }
  }

  #entries(frame: EntriesFrame): void | Promise<void> {
    switch (continuityOf(frame, this.#position)) {
      case 'next':
        return this.#apply(frame)
      case 'gap':
        this.#heldFrames.set(frame.after, frame)
        // A missing frame arrives soon, or not at all.
        if (this.#heldFrames.size > MAX_HELD_FRAMES) this.#stream?.abort('entries are missing')
        return undefined
      case 'overlap':
        return this.#stream?.abort('received entries overlap')
      case 'duplicate':
        return undefined
    }
  }

  #apply(frame: EntriesFrame): void | Promise<void> {
    this.#position = frame.sequence
    this.#cursor = frame.cursor
    let consumed: void | Promise<void>
    try {
      consumed = this.#follower.entries(frame.entries, frame.sequence)
    } catch (error) {
      return this.#followerFailed(error)
    }
    if (consumed) consumed = consumed.catch(error => this.#followerFailed(error))
    const next = this.#heldFrames.get(frame.sequence)
    if (next === undefined) return consumed
    this.#heldFrames.delete(frame.sequence)
    // Checks again: the follower may have closed or refreshed meanwhile.
    return consumed ? consumed.then(() => this.onFrame(next)) : this.onFrame(next)
  }

  /** The follower threw: its state is unknown. */
  #followerFailed(error: unknown): void {
    this.#cursor = undefined
    this.fail(error instanceof RequestError ? error : { code: 'follower_failed', message: String(error) })
  }

  /** Whether frames wait for a missing one. */
  get isHolding(): boolean {
    return this.#heldFrames.size > 0
  }

  /** Drops held frames: the next request repeats them. */
  forget(): void {
    this.#heldFrames.clear()
  }

  #moveTo(cursor: string): void {
    this.#position = decodeCursor(cursor).sequence
    this.#cursor = cursor
  }

  #begin(snapshot: Snapshot): void {
    try {
      this.#moveTo(snapshot.cursor)
      this.#follower.snapshot(snapshot)
    } catch (error) {
      this.#followerFailed(error)
    }
    if (this.isReady) this.#join()
  }

  /** Loads a snapshot, with retries. */
  async #load(): Promise<void> {
    this.#loading?.abort()
    const loading = new AbortController()
    const { signal } = loading
    this.#loading = loading
    const { api } = this.#context
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
