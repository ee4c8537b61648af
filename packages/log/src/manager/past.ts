// The log's past: its entries, the view and the ticket at a place, from the nearest snapshot on.

import {
  type Cursor,
  type Entry,
  encodeCursor,
  FOLD_VERSION,
  type Fold,
  foldLog,
  isRewind,
  type View,
} from '@millrace/protocol'
import { decodeBatch } from '../entry.ts'
import { LogError } from '../error.ts'
import type { LogStore, Page } from '../store.ts'
import { advance, EMPTY_TICKET, type Ticket, ticketOf } from '../ticket/ticket.ts'
import { PAGE } from './tail.ts'
import { Unsealed, type UnsealedDraft } from './unsealed.ts'

/** A log at one place. */
export interface Past {
  readonly fold: Fold
  readonly ticket: Ticket
  readonly cursor: Cursor
  readonly unsealed: Unsealed
}

interface Snapshot {
  readonly sequence: number
  readonly mark: string
  readonly view: View
  readonly ticket: Ticket
  /** Those that do not say are from before it was kept. */
  readonly drafts?: readonly UnsealedDraft[]
}

/** How many snapshots a log keeps: a rewind goes back to before some of them. */
const KEPT_SNAPSHOTS = 8
const MANY_SNAPSHOTS = 1024
/** How often what is trimmed meanwhile is read again. */
const MOST_TRIES = 8

export class PastReader {
  readonly #store: LogStore
  readonly #ask: <T>(ask: () => Promise<T>) => Promise<T>

  constructor(store: LogStore, ask: <T>(ask: () => Promise<T>) => Promise<T>) {
    this.#store = store
    this.#ask = ask
  }

  /** The head of a log, without its entries. */
  head(streamId: string): Promise<Page | undefined> {
    return this.#ask(() => this.#store.read(streamId, { sequence: 0 }, { batches: 0, bytes: 0 }))
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

  /** Calls back with the entries of `(after, to]`, page by page; throws where they are not all there. */
  async each(
    streamId: string,
    after: number,
    to: number,
    call: (entries: Entry[], mark: string) => void,
  ): Promise<void> {
    let incarnation: string | undefined
    for (let at = after; at < to; ) {
      const page = await this.#ask(() => this.#store.read(streamId, { sequence: at }, PAGE))
      const last = page?.batches.at(-1)
      incarnation ??= page?.incarnation
      if (page === undefined || page.truncated !== null || last === undefined || page.incarnation !== incarnation) {
        throw new LogError(
          'truncated',
          `the log ${streamId} holds nothing after ${at}: it was trimmed or removed meanwhile`,
        )
      }
      for (const batch of page.batches) {
        if (batch.first > to) break
        const entries = decodeBatch(batch).filter(({ sequence }) => sequence > at && sequence <= to)
        if (entries.length > 0) call(entries, batch.mark)
      }
      at = last.last
    }
  }

  /** The log as it stood at a place, which is its head if none is named. */
  at(streamId: string, sequence?: number): Promise<Past> {
    return this.steadily(streamId, page => this.#at(streamId, page, sequence))
  }

  async #at(streamId: string, page: Page | undefined, sequence?: number): Promise<Past> {
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
      await this.each(streamId, from?.sequence ?? 0, at, (batch, mark) => {
        for (const entry of batch) {
          entries.push(entry)
          unsealed.add(entry)
        }
        ticket = advance(ticket, batch)
        epoch = mark
      })
      // A rewind to before the snapshot needs an older one.
      const lowest = entries.reduce((low, { chunk }) => (isRewind(chunk) ? Math.min(low, chunk.toSequence) : low), at)
      if (from === undefined || lowest >= from.sequence) {
        const fold = foldLog(entries, {}, from?.view)
        return { fold, ticket, cursor: { sequence: at, incarnation: page.incarnation, epoch }, unsealed }
      }
      bound = lowest
    }
  }

  /** The drafts of a log as it stood at a place, which is its head if none is named: at the cost of what lies after the nearest snapshot. */
  unsealed(streamId: string, sequence?: number): Promise<Unsealed> {
    return this.steadily(streamId, async page => {
      if (page === undefined) return new Unsealed()
      const at = sequence ?? page.head
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
  async #unsealedAt(streamId: string, { floor }: Page, from: Snapshot | undefined): Promise<Unsealed> {
    const unsealed = new Unsealed(from?.drafts)
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

  /** Stores a snapshot of the log at a place, its head if none is named; tells where that is. */
  async keep(streamId: string, sequence?: number): Promise<string> {
    const { fold, ticket, cursor, unsealed } = await this.at(streamId, sequence)
    const body = JSON.stringify({ view: fold.view(), ticket, drafts: unsealed.drafts })
    const snapshot = { sequence: cursor.sequence, mark: cursor.epoch, version: FOLD_VERSION, body }
    // A cut that waits was admitted because there is a snapshot below it: none goes before it is made.
    const now = await this.head(streamId)
    const isCutWaiting = ticketOf(now?.ticket ?? '').requests.some(({ cut }) => cut !== undefined)
    // Neither does one that a trim is about to stand on.
    const keep = isCutWaiting || sequence !== undefined ? MANY_SNAPSHOTS : KEPT_SNAPSHOTS
    await this.#ask(() => this.#store.putSnapshot(streamId, snapshot, keep))
    return encodeCursor(cursor)
  }

  /** The newest snapshot at or below a place that this version of the fold made and that the log still proves. */
  async #snapshot(streamId: string, atMost: number): Promise<Snapshot | undefined> {
    for (let bound = atMost; bound > 0; ) {
      const found = await this.#ask(() => this.#store.getSnapshot(streamId, bound))
      if (found === undefined) return undefined
      const { sequence, mark, version, body } = found
      if (version === FOLD_VERSION && (await this.#isProven(streamId, sequence, mark))) {
        return { ...(JSON.parse(body) as Pick<Snapshot, 'view' | 'ticket' | 'drafts'>), sequence, mark }
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
