import { setTimeout as pause } from 'node:timers/promises'
import type { Cursor, UnprovenCursor } from '@millrace/protocol'
import type { ClaimResult, LogStore, Page, ReadLimit } from '../store/log-store.ts'
import { randomName } from '../store/names.ts'
import { assertEqual, assertionError, assertPresent, codeOf } from './assert.ts'
import type { StoreUnderTest } from './contract-case.ts'
import { Follower } from './follower.ts'
import { ContractWriter } from './writer.ts'

const DEFAULT_TIMEOUT_MS = 10_000
const POLL_MS = 3
const MIN_POLLS = 100

/** A lease that does not expire during a case, in ms. */
export const LONG_MS = 3_600_000
/** A lease that a case lets expire, in ms. */
export const SHORT_MS = 40

/** More than any case writes, within the range of every database. */
export const ALL = { batches: 1_000_000, bytes: 2 ** 30 }
export const HEAD_ONLY = { batches: 0, bytes: 2 ** 30 }

/** One execution of a case: its handles, its logs and its timeout. */
export class Trial {
  readonly subject: StoreUnderTest
  readonly timeoutMs: number
  readonly #prefix = randomName()
  readonly #handles = new Set<LogStore>()
  readonly #streams = new Set<string>()
  readonly #followers = new Set<Follower>()

  constructor(subject: StoreUnderTest) {
    this.subject = subject
    this.timeoutMs = subject.timeoutMs ?? DEFAULT_TIMEOUT_MS
  }

  /** A name that is unique to this trial. */
  name(label: string): string {
    return `${this.#prefix}-${label}`
  }

  /** A unique stream id. Its log is removed at the end of the trial. */
  id(label = 'log'): string {
    return this.removeAtEnd(this.name(label))
  }

  /** A stream id that other trials may use too. Its log is removed at the end of this trial. */
  removeAtEnd(streamId: string): string {
    this.#streams.add(streamId)
    return streamId
  }

  async open(): Promise<LogStore> {
    const store = await this.subject.open()
    this.#handles.add(store)
    return store
  }

  async opened(count: number): Promise<LogStore[]> {
    return Promise.all(Array.from({ length: count }, () => this.open()))
  }

  async close(store: LogStore): Promise<void> {
    this.#handles.delete(store)
    await store.close()
  }

  /** A new empty log. */
  async log(store: LogStore, label?: string, principal: string | null = null): Promise<string> {
    const streamId = this.id(label)
    assertEqual(await store.create(streamId, principal), true, 'create of a log that was not there')
    return streamId
  }

  /** Reads a page of an existing log. @default the whole log */
  async page(
    store: LogStore,
    streamId: string,
    after: Cursor | UnprovenCursor = { sequence: 0 },
    limit: ReadLimit = ALL,
  ): Promise<Page> {
    return assertPresent(await store.read(streamId, after, limit), `read of the log '${streamId}', which was created`)
  }

  /** Reads only the head of a log. */
  head(store: LogStore, streamId: string): Promise<Page> {
    return this.page(store, streamId, { sequence: 0 }, HEAD_ONLY)
  }

  /** Claims a log like a driver: reads the head after the claim. */
  async writer(store: LogStore, streamId: string, ttlMs = LONG_MS, takeover = false): Promise<ContractWriter> {
    const claim = await store.claim(streamId, this.name('owner'), ttlMs, takeover)
    if (claim.outcome !== 'claimed') throw assertionError(`claim: expected 'claimed', found '${claim.outcome}'`)
    return this.#writerOf(store, streamId, claim)
  }

  /**
   * Claims a log whose lease has expired. A store may answer `busy` at first, until it has seen the lease unchanged for its
   * duration.
   */
  async nextWriter(store: LogStore, streamId: string): Promise<ContractWriter> {
    let claim: ClaimResult | undefined
    await this.until('a claim under an expired lease is not busy', async () => {
      claim = await store.claim(streamId, this.name('owner'), LONG_MS, false)
      return claim.outcome !== 'busy'
    })
    if (claim?.outcome !== 'claimed') throw assertionError(`claim: expected 'claimed', found '${claim?.outcome}'`)
    return this.#writerOf(store, streamId, claim)
  }

  async #writerOf(
    store: LogStore,
    streamId: string,
    claim: ClaimResult & { readonly outcome: 'claimed' },
  ): Promise<ContractWriter> {
    const { head, mark, incarnation } = await this.head(store, streamId)
    return new ContractWriter(store, streamId, claim, { sequence: head, incarnation, epoch: mark })
  }

  /** Waits until the clock of the store has reached a time. Moves the clock if possible. */
  async reach(store: LogStore, streamId: string, time: number): Promise<void> {
    const late = time - (await this.head(store, streamId)).clock
    if (late > 0) await this.subject.advance?.(late)
    await this.until(`the store's clock reaches ${time}`, async () => (await this.head(store, streamId)).clock >= time)
  }

  /** Waits until the clock of the store has advanced. */
  async tick(store: LogStore, streamId: string): Promise<void> {
    await this.reach(store, streamId, (await this.head(store, streamId)).clock + 1)
  }

  /** Polls until the condition is true. @throws after `timeoutMs` */
  async until(label: string, condition: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + this.timeoutMs
    // A frozen machine has not waited, so there is also a minimum number of polls.
    for (let attempt = 1; !(await condition()); attempt++) {
      if (attempt >= MIN_POLLS && performance.now() > end)
        throw assertionError(`waited ${this.timeoutMs} ms for: ${label}`)
      await pause(POLL_MS)
    }
  }

  /** Retries a call while the store is unavailable, such as after a restart. */
  async available<T>(call: () => Promise<T>): Promise<T> {
    const end = performance.now() + this.timeoutMs
    for (;;) {
      try {
        return await call()
      } catch (error) {
        if (codeOf(error) !== 'unavailable' || performance.now() > end) throw error
        await pause(POLL_MS)
      }
    }
  }

  /** Follows a log, reading only on wake-ups. */
  follow(store: LogStore, streamId: string): Follower {
    const follower = new Follower(this, store, streamId)
    this.#followers.add(follower)
    return follower
  }

  /** Removes its logs and closes its handles. */
  async end(): Promise<void> {
    for (const follower of this.#followers) follower.stop()
    try {
      const store = this.#handles.values().next().value ?? (await this.open())
      for (const streamId of this.#streams) await this.available(() => store.remove(streamId))
    } finally {
      await Promise.all([...this.#handles].map(store => store.close()))
    }
  }
}
