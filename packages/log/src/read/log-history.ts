// The log's past: its entries, the view and the ticket at a place, from the nearest snapshot on.

import {
  type Cursor,
  type Entry,
  encodeCursor,
  FOLD_VERSION,
  foldLog,
  isRewind,
  type UnprovenCursor,
  type View,
} from '@millrace/protocol'
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
  /** Those that do not say are from before it was kept. */
  readonly drafts?: readonly OpenDraft[]
  readonly bytes: number
}

/** How many snapshots a log keeps: a rewind goes back to before some of them. */
const KEPT_SNAPSHOTS = 8
const MANY_SNAPSHOTS = 1024
/** How often what is trimmed meanwhile, or what others go on with, is read again. */
const MOST_TRIES = 8
/** Bound of the cache, in bytes as read from the store. */
const MAX_CACHED_BYTES = 16 * 1024 * 1024

export class LogHistory {
  readonly #store: LogStore
  readonly #ask: StoreCall
  readonly #cache = new LruCache<CachedLog>(MAX_CACHED_BYTES)

  constructor(store: LogStore, ask: StoreCall) {
    this.#store = store
    this.#ask = ask
  }

  /** The head of a log, without its entries. */
  head(streamId: string): Promise<Page | undefined> {
    return this.#ask(() => readHead(this.#store, streamId))
  }

  /** Reads what somebody may trim meanwhile: again, from the new floor, for as long as it is the same log. */
  async steadily<T>(streamId: string, read: (page: Page | undefined) => Promise<T>): Promise<T> {
    for (let page = await this.head(streamId), tries = 1; ; tries++) {
      try {
        return await read(page)
      } catch (error) {
        const isTrimmed = error instanceof LogError && error.code === 'truncated' && tries < MOST_TRIES
        const now = page && isTrimmed ? await this.head(streamId) : undefined
        if (now?.incarnation !== page?.incarnation || now === undefined || now.floor <= (page?.floor ?? 0)) throw error
        page = now
      }
    }
  }

  /** Calls back with the entries of `(after, to]`, page by page; throws where they are not all there, `regressed` where the log does not hold the place that was named. */
  async each(
    streamId: string,
    after: number | Cursor,
    to: number,
    call: (entries: Entry[], batch: StoredBatch) => void,
  ): Promise<void> {
    let place: Cursor | UnprovenCursor = typeof after === 'number' ? { sequence: after } : after
    while (place.sequence < to) {
      const { sequence: at } = place
      const from = place
      const page = await this.#ask(() => this.#store.read(streamId, from, PAGE))
      const last = page?.batches.at(-1)
      if (page === undefined || page.truncated !== null || last === undefined) {
        const isLost = typeof after !== 'number' && page?.truncated && page.truncated !== 'below-floor'
        throw isLost
          ? new LogError(
              'regressed',
              `the log ${streamId} does not hold what was read of it up to ${at}: read it again`,
            )
          : new LogError(
              'truncated',
              `the log ${streamId} holds nothing after ${at}: it was trimmed or removed meanwhile`,
            )
      }
      for (const batch of page.batches) {
        if (batch.first > to) break
        const entries = decodeBatch(batch).filter(({ sequence }) => sequence > at && sequence <= to)
        if (entries.length > 0) call(entries, batch)
      }
      // What comes next is proven to follow.
      place = { sequence: last.last, incarnation: page.incarnation, epoch: last.mark }
    }
  }

  /** What lies after a place; undefined where the log does not hold that place, or where it is so much that it is better begun with a snapshot. */
  async since(streamId: string, after: Cursor): Promise<EntriesSince | undefined> {
    const page = await this.#ask(() => this.#store.read(streamId, after, PAGE))
    if (page === undefined || page.truncated !== null) return undefined
    const { sequence: at, incarnation } = after
    const { last: sequence, mark: epoch } = page.batches.at(-1) ?? { last: at, mark: after.epoch }
    if (sequence < page.head) return undefined
    const entries = page.batches.flatMap(batch => decodeBatch(batch)).filter(entry => entry.sequence > at)
    const bytes = page.batches.reduce((sum, { body }) => sum + body.length, 0)
    return { entries, cursor: sequence === at ? after : { sequence, incarnation, epoch }, bytes }
  }

  /** The log as it is now. Reads only what is new since the last call for this log. */
  async now(streamId: string): Promise<SharedLogState> {
    return (await this.#recall(streamId)) ?? this.#keep(streamId, await this.at(streamId))
  }

  /** The log as it is now, out of the cache; undefined if it is not cached, or if the cached state is not part of the log any more. */
  async #recall(streamId: string): Promise<SharedLogState | undefined> {
    for (let tries = 1; tries <= MOST_TRIES; tries++) {
      const cached = this.#cache.get(streamId)
      if (cached === undefined) return undefined
      const news = await this.since(streamId, cached.shared.cursor)
      // Another call has replaced it meanwhile, and no entry is folded twice.
      if (this.#cache.get(streamId) !== cached) continue
      if (news?.entries.length === 0) return cached.shared
      // A fold that throws half way is not used again.
      this.#cache.delete(streamId)
      if (news === undefined || news.entries.some(({ chunk }) => isRewind(chunk))) return undefined
      const log = cached.log ?? FoldedLog.from(cached.shared)
      log.apply(news)
      return this.#keep(streamId, log)
    }
    return undefined
  }

  #keep(streamId: string, log: FoldedLog): SharedLogState {
    // Nothing subscribes to changes here.
    log.fold.takeChanges()
    const shared = log.share()
    this.#cache.set(streamId, { shared, log }, log.bytes)
    return shared
  }

  /** The log as it is now, for the caller to continue. The cache keeps its shared state meanwhile. */
  async take(streamId: string): Promise<FoldedLog> {
    const shared = await this.now(streamId)
    const cached = this.#cache.get(streamId)
    if (cached?.log === undefined || cached.shared !== shared) return FoldedLog.from(shared)
    this.#cache.set(streamId, { shared }, shared.bytes)
    return cached.log
  }

  /** Returns a log that was taken, once its caller applies nothing to it any more. */
  giveBack(streamId: string, log: FoldedLog): void {
    const cached = this.#cache.get(streamId)
    if (cached === undefined || cached.shared.cursor.sequence <= log.cursor.sequence) this.#keep(streamId, log)
  }

  /** Keeps nothing of a log any more. */
  forget(streamId: string): void {
    this.#cache.delete(streamId)
  }

  /** The log as it stood at a place, which is its head if none is named. */
  at(streamId: string, sequence?: number): Promise<FoldedLog> {
    return this.steadily(streamId, page => this.#at(streamId, page, sequence))
  }

  async #at(streamId: string, page: Page | undefined, sequence?: number): Promise<FoldedLog> {
    if (page === undefined) throw new LogError('absent', `there is no log ${streamId}`)
    const at = sequence ?? page.head
    if (at > page.head) throw new LogError('invalid', `the log ${streamId} has ${page.head} entries, and none at ${at}`)
    for (let bound = at; ; ) {
      const from = await this.#snapshot(streamId, bound)
      if (from === undefined && page.floor > 0) {
        throw new LogError(
          'truncated',
          `the log ${streamId} is trimmed up to ${page.floor}, and has no snapshot at or below ${bound}`,
        )
      }
      const entries: Entry[] = []
      const unsealed = await this.#unsealedAt(streamId, page, from)
      let ticket = from?.ticket ?? EMPTY_TICKET
      let epoch = page.head === at ? page.mark : (from?.mark ?? '0')
      let bytes = from?.bytes ?? 0
      await this.each(streamId, from?.sequence ?? 0, at, (batch, { mark, body }) => {
        for (const entry of batch) {
          entries.push(entry)
          unsealed.add(entry)
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
        return new FoldedLog({ fold, ticket, cursor, drafts: unsealed, bytes, snapshot })
      }
      bound = lowest
    }
  }

  /** The drafts of a log as it stood at a place, which is its head if none is named: at the cost of what lies after the nearest snapshot. */
  unsealed(streamId: string, sequence?: number): Promise<OpenDrafts> {
    return this.steadily(streamId, async page => {
      if (page === undefined) return new OpenDrafts()
      const at = sequence ?? page.head
      const present = at === page.head ? await this.#recall(streamId) : undefined
      // What came meanwhile is not asked for.
      if (present?.cursor.sequence === at) return new OpenDrafts(present.drafts)
      const from = await this.#snapshot(streamId, at)
      const unsealed = await this.#unsealedAt(streamId, page, from)
      // No draft is older than what an open run still needs (law 12).
      await this.each(streamId, from?.sequence ?? page.floor, at, entries => {
        for (const entry of entries) unsealed.add(entry)
      })
      return unsealed
    })
  }

  /** The drafts at a snapshot. */
  async #unsealedAt(streamId: string, { floor }: Page, from: Snapshot | undefined): Promise<OpenDrafts> {
    const unsealed = new OpenDrafts(from?.drafts)
    if (from && from.drafts === undefined) {
      await this.each(streamId, floor, from.sequence, entries => {
        for (const entry of entries) unsealed.add(entry)
      })
    }
    return unsealed
  }

  /** Whether a run had ended at a place; false where no snapshot tells. */
  async hasEnded(streamId: string, runId: string, at: number): Promise<boolean> {
    try {
      const { runs } = (await this.at(streamId, at)).fold.view()
      return runs.some(run => run.runId === runId && run.status !== 'running' && run.status !== 'paused')
    } catch (error) {
      if (error instanceof LogError && error.code === 'truncated') return false
      throw error
    }
  }

  /** Stores a snapshot of the log at a place, its head if none is named; tells where that is, and how large it is, about, in bytes. */
  async keep(streamId: string, sequence?: number): Promise<{ cursor: string; bytes: number }> {
    const { view, ticket, cursor, drafts } = await (sequence === undefined
      ? this.now(streamId)
      : this.at(streamId, sequence).then(log => log.share()))
    const body = JSON.stringify({ view, ticket, drafts })
    const snapshot = { sequence: cursor.sequence, mark: cursor.epoch, version: FOLD_VERSION, body }
    // A cut that waits was admitted because there is a snapshot below it: none goes before it is made.
    const now = await this.head(streamId)
    const isCutWaiting = ticketOf(now?.ticket ?? '').requests.some(({ cut }) => cut !== undefined)
    // Neither does one that a trim is about to stand on.
    const keep = isCutWaiting || sequence !== undefined ? MANY_SNAPSHOTS : KEPT_SNAPSHOTS
    await this.#ask(() => this.#store.putSnapshot(streamId, snapshot, keep))
    return { cursor: encodeCursor(cursor), bytes: body.length }
  }

  /** The newest snapshot at or below a place that this version of the fold made and that the log still proves. */
  async #snapshot(streamId: string, atMost: number): Promise<Snapshot | undefined> {
    for (let bound = atMost; bound > 0; ) {
      const found = await this.#ask(() => this.#store.getSnapshot(streamId, bound))
      if (found === undefined) return undefined
      const { sequence, mark, version, body } = found
      if (version === FOLD_VERSION && (await this.#isProven(streamId, sequence, mark))) {
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

  async #isProven(streamId: string, sequence: number, epoch: string): Promise<boolean> {
    const page = await this.head(streamId)
    if (page === undefined) return false
    const cursor = { sequence, incarnation: page.incarnation, epoch }
    const proof = await this.#ask(() => this.#store.read(streamId, cursor, { batches: 0, bytes: 0 }))
    return proof?.truncated === null
  }
}
