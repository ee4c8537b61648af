// How far a log may be trimmed (law 12): never past the start of an unfinished run, nor past a request that waits, nor past where one of them
// cuts; and never without a snapshot at the new floor.

import { type Entry, isRewind, type View } from '@millrace/protocol'
import type { LogHistory } from '../read/log-history.ts'
import type { LogStore } from '../store/log-store.ts'
import type { StoreCall } from '../store/retry.ts'
import type { Ticket } from '../ticket/ticket.ts'

export interface Retention {
  /** Entries older than this may go, by the store's clock, in milliseconds. */
  readonly maxAgeMs?: number
  /** Entries before the last so many may go. */
  readonly maxEntries?: number
}

/** Drops what need not be kept; tells the floor. */
export async function trim(
  store: LogStore,
  history: LogHistory,
  ask: StoreCall,
  streamId: string,
  { maxAgeMs, maxEntries }: Retention,
): Promise<number> {
  for (;;) {
    const page = await history.head(streamId)
    if (page === undefined) return 0
    const { fold, ticket } = await history.at(streamId, page.head)
    const wished = Math.max(
      maxEntries === undefined ? 0 : page.head - maxEntries,
      maxAgeMs === undefined ? 0 : await lastBefore(history, streamId, page, page.clock - maxAgeMs),
    )
    const kept = Math.min(wished, keptFrom(fold.view(), ticket) - 1)
    const floor = await beforeCuts(history, streamId, page, kept)
    if (floor <= page.floor) return page.floor
    await history.storeSnapshot(streamId, floor)
    // Somebody may have asked for a cut meanwhile, which needs what is about to go: then it is decided again.
    if (await ask(() => store.trim(streamId, floor, page.version))) return floor
  }
}

/** The first sequence that is still needed. */
function keptFrom({ runs, requests }: View, ticket: Ticket): number {
  const isOpen = (status: string) => status === 'running' || status === 'paused'
  return Math.min(
    Number.POSITIVE_INFINITY,
    ...runs.filter(({ status }) => isOpen(status)).map(({ at }) => at),
    ...requests.filter(({ status }) => status === 'waiting').map(({ at }) => at),
    ...ticket.requests.flatMap(({ cut }) => (cut ? [cut.toSequence + 1] : [])),
  )
}

/** A floor that lies in nothing that was cut: what a rewind after it goes back to must be found. */
async function beforeCuts(
  history: LogHistory,
  streamId: string,
  { floor, head }: { floor: number; head: number },
  wished: number,
): Promise<number> {
  const cuts: { at: number; to: number }[] = []
  await history.forEachBatch(streamId, floor, head, entries => {
    for (const { sequence, chunk } of entries) if (isRewind(chunk)) cuts.push({ at: sequence, to: chunk.toSequence })
  })
  // From the last one on: each may lead to before the one before it.
  return cuts.reduceRight((low, { at, to }) => (to < low && low < at ? to : low), wished)
}

/** The last sequence that was written before a time. */
async function lastBefore(
  history: LogHistory,
  streamId: string,
  { floor, head }: { floor: number; head: number },
  time: number,
): Promise<number> {
  let last = floor
  await history.forEachBatch(streamId, floor, head, (entries: Entry[]) => {
    for (const { timestamp, sequence } of entries) if (timestamp < time) last = sequence
  })
  return last
}
