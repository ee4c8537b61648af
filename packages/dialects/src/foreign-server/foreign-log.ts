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

/** What is written, and by whom. */
export interface WrittenChunk {
  readonly chunk: Chunk
  readonly origin: Origin
}

/**
 * The log of one session with a peer, in memory: its view, and the entries since the last run began. Who has all up to there is given entries; anybody else, a snapshot.
 */
export class ForeignLog {
  #fold = new Fold()
  #tail: Entry[] = []
  #tailAfter = 0
  #clock = 0
  readonly #followed = new Set<LogFollower>()
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
    for (const one of this.#followed) one.soon()
  }

  /** Lets go of the entries that everybody was given: a run begins. */
  trim(): void {
    for (const one of this.#followed) one.pump()
    this.#tail = []
    this.#tailAfter = this.head
  }

  /** Takes what is shown back to what was earlier; what was asked, answered and used stays. */
  cut(shown: SessionContent): void {
    const { state, output, ...now } = this.view()
    this.#fold.adopt(Fold.from({ ...now, ...shown, drafts: [], pendings: [] }))
    this.#anew()
  }

  /** Puts another view in the place of what there is. */
  restore(view: View): void {
    this.#fold = Fold.from({ ...view, head: this.head })
    this.#anew()
  }

  #anew(): void {
    this.#tail = []
    this.#tailAfter = this.head
    for (const one of this.#followed) one.lose()
  }

  /** Tells how it stands with the peer. */
  stands(...status: readonly [ConnectionStatus, string]): void {
    this.#status = status
    for (const one of this.#followed) one.tell()
  }

  get status(): readonly [ConnectionStatus, string] {
    return this.#status
  }

  /** All after a place, or nothing where that is not known any more. */
  after(sequence: number): readonly Entry[] | undefined {
    return sequence < this.#tailAfter || sequence > this.head ? undefined : this.#tail.slice(sequence - this.#tailAfter)
  }

  /** Follows it, once it is open. */
  follow(follower: Subscriber, after: string | undefined, open: () => Promise<void> | undefined): Subscription {
    const followed = new LogFollower(this, follower, after, open, () => this.#followed.delete(followed))
    this.#followed.add(followed)
    followed.wake()
    return followed
  }

  /** Has those try again who cannot follow it. */
  wake(): void {
    for (const one of this.#followed) one.wake()
  }
}

export const LIVE = ['live', 'at hand'] as const

/** Who follows a session: told everything once and in order, a little after it was written. */
class LogFollower implements Subscription {
  status: ConnectionStatus = 'connecting'
  reason = 'it is being opened'
  readonly #log: ForeignLog
  readonly #follower: Subscriber
  readonly #open: () => Promise<void> | undefined
  readonly #leave: () => void
  /** Up to where it has everything; undefined, where it needs a snapshot. */
  #at: number | undefined
  #isOpen = false
  #isOpening = false
  #isClosed = false
  #isSoon = false
  /** Whether it is at work on what it was given. */
  #isBusy = false

  constructor(
    log: ForeignLog,
    follower: Subscriber,
    after: string | undefined,
    open: () => Promise<void> | undefined,
    leave: () => void,
  ) {
    this.#log = log
    this.#follower = follower
    this.#at = after === undefined ? undefined : Number(after)
    this.#open = open
    this.#leave = leave
  }

  get cursor(): string | undefined {
    return this.#at === undefined ? undefined : String(this.#at)
  }

  refresh(): void {
    this.lose()
    this.wake()
  }

  wake(): void {
    if (this.#isOpen || this.#isOpening || this.#isClosed) return
    this.#isOpening = true
    // Whoever follows is told nothing before it knows that it does.
    queueMicrotask(() => void this.#begin())
  }

  async #begin(): Promise<void> {
    try {
      await this.#open()
      this.#isOpening = false
      if (this.#isClosed) return
      if (this.#log.head === 0 && this.#at === undefined)
        throw new RequestError({ code: 'session_unknown', message: 'Nothing was said in this session yet.' }, NOT_FOUND)
      this.#isOpen = true
      this.tell()
      this.pump()
    } catch (error) {
      this.#isOpening = false
      const { code = 'network_error', message, retryable = true } = error as RequestError
      if (!this.#isClosed) this.#follower.fail?.({ code, message, retryable })
    }
  }

  close(): void {
    this.#isClosed = true
    this.#leave()
  }

  /** It needs a snapshot. */
  lose(): void {
    this.#at = undefined
    this.soon()
  }

  /** It is told a little later of all that is written until then. */
  soon(): void {
    if (this.#isSoon) return
    this.#isSoon = true
    queueMicrotask(() => this.pump())
  }

  tell(): void {
    const [status, reason] = this.#log.status
    if (!this.#isOpen || this.#isClosed || (this.status === status && this.reason === reason)) return
    this.status = status
    this.reason = reason
    this.#follower.status?.(status, reason)
  }

  pump(): void {
    this.#isSoon = false
    if (this.#isClosed || this.#isBusy || !this.#isOpen) return
    const { head } = this.#log
    if (this.#at === head) return
    const entries = this.#at === undefined ? undefined : this.#log.after(this.#at)
    this.#at = head
    if (!entries) {
      this.#follower.snapshot({ sequence: head, cursor: String(head), view: this.#log.view() })
      return
    }
    const taken = this.#follower.entries(entries, head)
    if (!taken) return
    this.#isBusy = true
    const goOn = () => {
      this.#isBusy = false
      this.pump()
    }
    taken.then(goOn, goOn)
  }
}

const NOT_FOUND = 404
