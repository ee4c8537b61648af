// Reads a log's history: entries, and the view and ticket at a sequence, from the nearest snapshot on.

import {
  type Cursor,
  type Entry,
  encodeCursor,
  foldLog,
  isRewind,
  type UnprovenCursor,
  type View,
} from '@millrace/protocol'
import { FOLD_VERSION } from '@millrace/protocol/internal'
import { absentError } from '../store/checks.ts'
import { decodeBatch } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import type { LogStore, Page, StoredBatch } from '../store/log-store.ts'
import { readHead } from '../store/read-head.ts'
import type { StoreCall } from '../store/retry.ts'
import { advance, EMPTY_TICKET, type Ticket, ticketOf } from '../ticket/ticket.ts'
import { type EntriesSince, FoldedLog, type SharedLogState } from './folded-log.ts'
import { PAGE } from './live-fanout.ts'
import { LruCache } from './lru-cache.ts'
import { type OpenDraft, OpenDrafts } from './open-drafts.ts'

/** A log in the cache. `log` continues from `shared`; it is undefined while a caller has taken it. */
interface CachedLog {
  readonly shared: SharedLogState
  readonly log?: FoldedLog
}

interface Snapshot {
  readonly sequence: number
  readonly mark: string
  readonly view: View
  readonly ticket: Ticket
  /** Undefined in snapshots written before drafts were stored. */
  readonly drafts?: readonly OpenDraft[]
  readonly bytes: number
}

/** How many snapshots a log keeps: a rewind may go back before the newest. */
const MAX_SNAPSHOTS = 8
/** Keeps all snapshots. */
const ALL_SNAPSHOTS = 1024
/** How often a read is retried when the log is trimmed meanwhile, or when another caller takes the cached state. */
const MAX_TRIES = 8
/** Maximum size of the cache, in bytes as read from the store. */
const MAX_CACHED_BYTES = 16 * 1024 * 1024

export class LogHistory {
  readonly #store: LogStore
  readonly #call: StoreCall
  readonly #cache = new LruCache<CachedLog>(MAX_CACHED_BYTES)

  constructor(store: LogStore, call: StoreCall) {
    this.#store = store
    this.#call = call
  }

  head(streamId: string): Promise<Page | undefined> {
    return this.#call(() => readHead(this.#store, streamId))
  }

  /** Reads a log, and retries from the new floor if it was trimmed meanwhile and is still the same log. */
  async withTrimRetry<T>(streamId: string, read: (page: Page | undefined) => Promise<T>): Promise<T> {
    for (let page = await this.head(streamId), tries = 1; ; tries++) {
      try {
        return await read(page)
      } catch (error) {
        const isTrimmed = error instanceof LogError && error.code === 'truncated' && tries < MAX_TRIES
        const current = page && isTrimmed ? await this.head(streamId) : undefined
        if (current?.incarnation !== page?.incarnation || current === undefined || current.floor <= (page?.floor ?? 0))
          throw error
        page = current
      }
    }
  }

  /**
   * Calls back with the entries of `(after, to]`, batch by batch, until a call returns false.
   *
   * @throws LogError `truncated` if some are missing, `regressed` if the log does not hold the cursor.
   */
  async forEachBatch(
    streamId: string,
    after: number | Cursor,
    to: number,
    call: (entries: Entry[], batch: StoredBatch) => unknown,
  ): Promise<void> {
    let cursor: Cursor | UnprovenCursor = typeof after === 'number' ? { sequence: after } : after
    while (cursor.sequence < to) {
      const { sequence: at } = cursor
      const from = cursor
      const page = await this.#call(() => this.#store.read(streamId, from, PAGE))
      const last = page?.batches.at(-1)
      if (page === undefined || page.truncated !== null || last === undefined) {
        const isLost = typeof after !== 'number' && page?.truncated && page.truncated !== 'below-floor'
        throw isLost
          ? new LogError('regressed', `the log ${streamId} lost the entries that were read up to ${at}: read it again`)
          : new LogError('truncated', `the log ${streamId} was trimmed or removed after ${at}: read it again`)
      }
      for (const batch of page.batches) {
        if (batch.first > to) break
        const entries = decodeBatch(batch).filter(({ sequence }) => sequence > at && sequence <= to)
        if (entries.length > 0 && call(entries, batch) === false) return
      }
      // The next read verifies that it follows this batch.
      cursor = { sequence: last.last, incarnation: page.incarnation, epoch: last.mark }
    }
  }

  /**
   * The entries after a cursor. Undefined if the log does not hold the cursor, or if there are so many that a
   * snapshot is the better start.
   */
  async since(streamId: string, after: Cursor): Promise<EntriesSince | undefined> {
    const page = await this.#call(() => this.#store.read(streamId, after, PAGE))
    if (page === undefined || page.truncated !== null) return undefined
    const { sequence: at, incarnation } = after
    const { last: sequence, mark: epoch } = page.batches.at(-1) ?? { last: at, mark: after.epoch }
    if (sequence < page.head) return undefined
    const entries = page.batches.flatMap(batch => decodeBatch(batch)).filter(entry => entry.sequence > at)
    const bytes = page.batches.reduce((sum, { body }) => sum + body.length, 0)
    return { entries, cursor: sequence === at ? after : { sequence, incarnation, epoch }, bytes }
  }

  /** The current log. Reads only what is new since the last call for this log. */
  async current(streamId: string): Promise<SharedLogState> {
    return (await this.#fromCache(streamId)) ?? this.#cacheLog(streamId, await this.at(streamId))
  }

  /**
   * The current log, continued from the cache. Undefined if it is not cached, or if the cached state is not part of
   * the log any more.
   */
  async #fromCache(streamId: string): Promise<SharedLogState | undefined> {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const cached = this.#cache.get(streamId)
      if (cached === undefined) return undefined
      const added = await this.since(streamId, cached.shared.cursor)
      // Another call replaced it meanwhile. No entry is folded twice.
      if (this.#cache.get(streamId) !== cached) continue
      if (added?.entries.length === 0) return cached.shared
      // A fold that throws half way is not used again.
      this.#cache.delete(streamId)
      if (added === undefined || added.entries.some(({ chunk }) => isRewind(chunk))) return undefined
      const log = cached.log ?? FoldedLog.from(cached.shared)
      log.apply(added)
      return this.#cacheLog(streamId, log)
    }
    return undefined
  }

  #cacheLog(streamId: string, log: FoldedLog): SharedLogState {
    // Nothing subscribes to changes here.
    log.fold.takeChanges()
    const shared = log.share()
    this.#cache.set(streamId, { shared, log }, log.bytes)
    return shared
  }

  /** The log as it is now, for the caller to continue. The cache keeps its shared state meanwhile. */
  async take(streamId: string): Promise<FoldedLog> {
    const shared = await this.current(streamId)
    const cached = this.#cache.get(streamId)
    if (cached?.log === undefined || cached.shared !== shared) return FoldedLog.from(shared)
    this.#cache.set(streamId, { shared }, shared.bytes)
    return cached.log
  }

  /** Returns a log to the cache, once its caller applies nothing more to it. */
  giveBack(streamId: string, log: FoldedLog): void {
    const cached = this.#cache.get(streamId)
    if (cached === undefined || cached.shared.cursor.sequence <= log.cursor.sequence) this.#cacheLog(streamId, log)
  }

  /** Removes a log from the cache. */
  forget(streamId: string): void {
    this.#cache.delete(streamId)
  }

  /** The log as of a sequence, by default its head. */
  at(streamId: string, sequence?: number): Promise<FoldedLog> {
    return this.withTrimRetry(streamId, page => this.#at(streamId, page, sequence))
  }

  async #at(streamId: string, page: Page | undefined, sequence?: number): Promise<FoldedLog> {
    if (page === undefined) throw absentError(streamId)
    const at = sequence ?? page.head
    if (at > page.head)
      throw new LogError('invalid', `expected a sequence from 0 to ${page.head} in the log ${streamId}, found ${at}`)
    for (let bound = at; ; ) {
      const from = await this.#snapshot(streamId, bound)
      if (from === undefined && page.floor > 0) {
        throw new LogError(
          'truncated',
          `the log ${streamId} is trimmed up to ${page.floor} and has no snapshot at or below ${bound}: read a later position`,
        )
      }
      const entries: Entry[] = []
      const openDrafts = await this.#draftsAt(streamId, page, from)
      let ticket = from?.ticket ?? EMPTY_TICKET
      let epoch = page.head === at ? page.mark : (from?.mark ?? '0')
      let bytes = from?.bytes ?? 0
      await this.forEachBatch(streamId, from?.sequence ?? 0, at, (batch, { mark, body }) => {
        for (const entry of batch) {
          entries.push(entry)
          openDrafts.add(entry)
        }
        ticket = advance(ticket, batch)
        epoch = mark
        bytes += body.length
      })
      // A rewind to before the snapshot needs an older one.
      const lowest = entries.reduce((low, { chunk }) => (isRewind(chunk) ? Math.min(low, chunk.toSequence) : low), at)
      if (from === undefined || lowest >= from.sequence) {
        const fold = foldLog(entries, {}, from?.view)
        const cursor = { sequence: at, incarnation: page.incarnation, epoch }
        const snapshot = { sequence: from?.sequence ?? 0, bytes: from?.bytes ?? 0 }
        return new FoldedLog({ fold, ticket, cursor, drafts: openDrafts, bytes, snapshot })
      }
      bound = lowest
    }
  }

  /** The open drafts as of a sequence, by default the head. Reads only the entries after the nearest snapshot. */
  openDrafts(streamId: string, sequence?: number): Promise<OpenDrafts> {
    return this.withTrimRetry(streamId, async page => {
      if (page === undefined) return new OpenDrafts()
      const at = sequence ?? page.head
      const cached = at === page.head ? await this.#fromCache(streamId) : undefined
      if (cached?.cursor.sequence === at) return new OpenDrafts(cached.drafts)
      const from = await this.#snapshot(streamId, at)
      const drafts = await this.#draftsAt(streamId, page, from)
      // No draft is older than the entries that an open run still needs (law 12).
      await this.forEachBatch(streamId, from?.sequence ?? page.floor, at, entries => {
        for (const entry of entries) drafts.add(entry)
      })
      return drafts
    })
  }

  /** The drafts at a snapshot. */
  async #draftsAt(streamId: string, { floor }: Page, from: Snapshot | undefined): Promise<OpenDrafts> {
    const drafts = new OpenDrafts(from?.drafts)
    if (from && from.drafts === undefined) {
      await this.forEachBatch(streamId, floor, from.sequence, entries => {
        for (const entry of entries) drafts.add(entry)
      })
    }
    return drafts
  }

  /** Whether a run had ended at a sequence; false if no snapshot can tell. */
  async hasEnded(streamId: string, runId: string, at: number): Promise<boolean> {
    try {
      const { runs } = (await this.at(streamId, at)).fold.view()
      return runs.some(run => run.runId === runId && run.status !== 'running' && run.status !== 'paused')
    } catch (error) {
      if (error instanceof LogError && error.code === 'truncated') return false
      throw error
    }
  }

  /** Stores a snapshot as of a sequence, by default the head. Returns its cursor and its approximate size in bytes. */
  async storeSnapshot(streamId: string, sequence?: number): Promise<{ cursor: string; bytes: number }> {
    const { view, ticket, cursor, drafts } = await (sequence === undefined
      ? this.current(streamId)
      : this.at(streamId, sequence).then(log => log.share()))
    const body = JSON.stringify({ view, ticket, drafts })
    const snapshot = { sequence: cursor.sequence, mark: cursor.epoch, version: FOLD_VERSION, body }
    // A waiting rewind was admitted because a snapshot below it exists, so no snapshot is dropped before it is made.
    const now = await this.head(streamId)
    const isRewindRequested = ticketOf(now?.ticket ?? '').requests.some(({ cut }) => cut !== undefined)
    // Nor is one that a trim is about to rely on.
    const keep = isRewindRequested || sequence !== undefined ? ALL_SNAPSHOTS : MAX_SNAPSHOTS
    await this.#call(() => this.#store.putSnapshot(streamId, snapshot, keep))
    return { cursor: encodeCursor(cursor), bytes: body.length }
  }

  /** The newest snapshot at or below a sequence with the current fold version, which the log still verifies. */
  async #snapshot(streamId: string, atMost: number): Promise<Snapshot | undefined> {
    for (let bound = atMost; bound > 0; ) {
      const found = await this.#call(() => this.#store.getSnapshot(streamId, bound))
      if (found === undefined) return undefined
      const { sequence, mark, version, body } = found
      if (version === FOLD_VERSION && (await this.#isVerified(streamId, sequence, mark))) {
        return {
          ...(JSON.parse(body) as Pick<Snapshot, 'view' | 'ticket' | 'drafts'>),
          sequence,
          mark,
          bytes: body.length,
        }
      }
      bound = sequence - 1
    }
    return undefined
  }

  async #isVerified(streamId: string, sequence: number, epoch: string): Promise<boolean> {
    const page = await this.head(streamId)
    if (page === undefined) return false
    const cursor = { sequence, incarnation: page.incarnation, epoch }
    const proof = await this.#call(() => this.#store.read(streamId, cursor, { batches: 0, bytes: 0 }))
    return proof?.truncated === null
  }
}
