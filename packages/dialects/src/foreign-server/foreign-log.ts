import {
  type Chunk,
  type ConnectionStatus,
  type Entry,
  Fold,
  type Origin,
  type Pending,
  type Subscriber,
  type Subscription,
  type View,
} from '@millrace/protocol'
import { RequestError } from '../http/request-error.ts'
import type { SessionContent } from './turn-snapshots.ts'

/** A chunk to append, with its writer. */
export interface WrittenChunk {
  readonly chunk: Chunk
  readonly origin: Origin
}

export const LIVE = ['live', 'up to date'] as const

const NOT_FOUND = 404

/**
 * The log of one session with a foreign server, in memory: its view, and the entries since the last run began. A follower that has everything before that run gets
 * entries, any other a snapshot.
 */
export class ForeignLog {
  #fold = new Fold()
  #tail: Entry[] = []
  #tailAfter = 0
  #clock = 0
  readonly #followers = new Set<LogFollower>()
  #status: readonly [ConnectionStatus, string] = LIVE

  get head(): number {
    return this.#fold.head
  }

  get pendings(): readonly Pending[] {
    return this.#fold.pendings
  }

  view(): View {
    return this.#fold.view()
  }

  append(written: readonly WrittenChunk[]): void {
    this.#clock = Math.max(this.#clock, Date.now())
    const entries = written.map(
      ({ chunk, origin }, i): Entry => ({ sequence: this.head + i + 1, timestamp: this.#clock, origin, chunk }),
    )
    this.#fold.apply(entries)
    this.#tail.push(...entries)
    for (const follower of this.#followers) follower.schedule()
  }

  /** Delivers all entries, and forgets them: a run begins. */
  trim(): void {
    for (const follower of this.#followers) follower.deliver()
    this.#tail = []
    this.#tailAfter = this.head
  }

  /** Takes the content back to an earlier state. Runs, requests and usage stay. */
  rewind(content: SessionContent): void {
    const { state, output, ...now } = this.view()
    this.#fold.adopt(Fold.from({ ...now, ...content, drafts: [], pendings: [] }))
    this.#reset()
  }

  /** Replaces the view. */
  restore(view: View): void {
    this.#fold = Fold.from({ ...view, head: this.head })
    this.#reset()
  }

  #reset(): void {
    this.#tail = []
    this.#tailAfter = this.head
    for (const follower of this.#followers) follower.invalidate()
  }

  /** Sets the status of the connection to the server. */
  setStatus(...status: readonly [ConnectionStatus, string]): void {
    this.#status = status
    for (const follower of this.#followers) follower.notifyStatus()
  }

  get status(): readonly [ConnectionStatus, string] {
    return this.#status
  }

  /** The entries after a sequence. Undefined if they were trimmed, or the sequence is not in the log. */
  after(sequence: number): readonly Entry[] | undefined {
    return sequence < this.#tailAfter || sequence > this.head ? undefined : this.#tail.slice(sequence - this.#tailAfter)
  }

  /** Follows the log after `open` has read the history. */
  follow(subscriber: Subscriber, after: string | undefined, open: () => Promise<void> | undefined): Subscription {
    const follower = new LogFollower(this, subscriber, after, open, () => this.#followers.delete(follower))
    this.#followers.add(follower)
    follower.wake()
    return follower
  }

  /** Retries now for followers that could not open the session. */
  wake(): void {
    for (const follower of this.#followers) follower.wake()
  }
}

/** Delivers a log to a subscriber, once and in order, in batches by microtask. */
class LogFollower implements Subscription {
  status: ConnectionStatus = 'connecting'
  reason = 'opening the session'
  readonly #log: ForeignLog
  readonly #subscriber: Subscriber
  readonly #open: () => Promise<void> | undefined
  readonly #onClose: () => void
  /** Last sequence that was delivered. Undefined if the subscriber needs a snapshot. */
  #position: number | undefined
  #isOpen = false
  #isOpening = false
  #isClosed = false
  #isScheduled = false
  /** Whether the subscriber still handles the last batch. */
  #isBusy = false

  constructor(
    log: ForeignLog,
    subscriber: Subscriber,
    after: string | undefined,
    open: () => Promise<void> | undefined,
    onClose: () => void,
  ) {
    this.#log = log
    this.#subscriber = subscriber
    this.#position = after === undefined ? undefined : Number(after)
    this.#open = open
    this.#onClose = onClose
  }

  get cursor(): string | undefined {
    return this.#position === undefined ? undefined : String(this.#position)
  }

  refresh(): void {
    this.invalidate()
    this.wake()
  }

  wake(): void {
    if (this.#isOpen || this.#isOpening || this.#isClosed) return
    this.#isOpening = true
    // Begins after `follow` has returned the subscription.
    queueMicrotask(() => void this.#begin())
  }

  async #begin(): Promise<void> {
    try {
      await this.#open()
      this.#isOpening = false
      if (this.#isClosed) return
      if (this.#log.head === 0 && this.#position === undefined)
        throw new RequestError(
          { code: 'session_unknown', message: 'This session has no messages yet: send one first.' },
          NOT_FOUND,
        )
      this.#isOpen = true
      this.notifyStatus()
      this.deliver()
    } catch (error) {
      this.#isOpening = false
      const { code = 'network_error', message, retryable = true } = error as RequestError
      if (!this.#isClosed) this.#subscriber.fail?.({ code, message, retryable })
    }
  }

  close(): void {
    this.#isClosed = true
    this.#onClose()
  }

  /** Delivers a snapshot next. */
  invalidate(): void {
    this.#position = undefined
    this.schedule()
  }

  /** Delivers in a microtask, together with everything that is appended until then. */
  schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => this.deliver())
  }

  notifyStatus(): void {
    const [status, reason] = this.#log.status
    if (!this.#isOpen || this.#isClosed || (this.status === status && this.reason === reason)) return
    this.status = status
    this.reason = reason
    this.#subscriber.status?.(status, reason)
  }

  deliver(): void {
    this.#isScheduled = false
    if (this.#isClosed || this.#isBusy || !this.#isOpen) return
    const { head } = this.#log
    if (this.#position === head) return
    const entries = this.#position === undefined ? undefined : this.#log.after(this.#position)
    this.#position = head
    if (!entries) {
      this.#subscriber.snapshot({ sequence: head, cursor: String(head), view: this.#log.view() })
      return
    }
    const handled = this.#subscriber.entries(entries, head)
    if (!handled) return
    this.#isBusy = true
    const deliverMore = () => {
      this.#isBusy = false
      this.deliver()
    }
    handled.then(deliverMore, deliverMore)
  }
}
