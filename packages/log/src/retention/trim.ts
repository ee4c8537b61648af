// How far a log may be trimmed (law 12): never past the start of an unfinished run, a waiting request, or the
// sequence to which a waiting request rewinds; and never without a snapshot at the new floor.

import { isRewind, type View } from '@millrace/protocol'
import type { LogHistory } from '../read/log-history.ts'
import type { LogStore, Page } from '../store/log-store.ts'
import type { StoreCall } from '../store/retry.ts'
import type { Ticket } from '../ticket/ticket.ts'

/** What `trimStream` drops: entries beyond either limit that no open or waiting run needs. */
export interface Retention {
  /** Age above which entries are dropped, by the store's clock, in ms. @default no limit */
  readonly maxAgeMs?: number
  /** Number of the last entries that are kept. @default no limit */
  readonly maxEntries?: number
}

/** Drops the entries that may be dropped. Returns the floor. */
export async function trim(
  store: LogStore,
  history: LogHistory,
  call: StoreCall,
  streamId: string,
  { maxAgeMs, maxEntries }: Retention,
): Promise<number> {
  const trimOnce = async (page: Page | undefined): Promise<number | undefined> => {
    if (page === undefined) return 0
    const target = Math.max(
      maxEntries === undefined ? 0 : page.head - maxEntries,
      maxAgeMs === undefined ? 0 : await lastBefore(history, streamId, page, page.clock - maxAgeMs),
    )
    // Returns before the fold, which reads the whole log.
    if (target <= page.floor) return page.floor
    const { fold, ticket } = await history.at(streamId, page.head)
    const allowed = Math.min(target, firstNeeded(fold.view(), ticket) - 1)
    const floor = await outsideRewinds(history, streamId, page, allowed)
    if (floor <= page.floor) return page.floor
    await history.storeSnapshot(streamId, floor)
    return (await call(() => store.trim(streamId, floor, page.version))) ? floor : undefined
  }
  for (;;) {
    const floor = await history.withTrimRetry(streamId, trimOnce)
    // A rewind that was requested meanwhile may need the dropped entries: then decide again.
    if (floor !== undefined) return floor
  }
}

/** The first sequence that is still needed. */
function firstNeeded({ runs, requests }: View, ticket: Ticket): number {
  const isOpen = (status: string) => status === 'running' || status === 'paused'
  return Math.min(
    Number.POSITIVE_INFINITY,
    ...runs.filter(({ status }) => isOpen(status)).map(({ at }) => at),
    ...requests.filter(({ status }) => status === 'waiting').map(({ at }) => at),
    ...ticket.requests.flatMap(({ cut }) => (cut ? [cut.toSequence + 1] : [])),
  )
}

/**
 * The highest floor up to `target` that is not inside a retracted range: the target of every later rewind must stay
 * readable.
 */
async function outsideRewinds(
  history: LogHistory,
  streamId: string,
  { floor, head }: { floor: number; head: number },
  target: number,
): Promise<number> {
  const cuts: { at: number; to: number }[] = []
  await history.forEachBatch(streamId, floor, head, entries => {
    for (const { sequence, chunk } of entries) if (isRewind(chunk)) cuts.push({ at: sequence, to: chunk.toSequence })
  })
  // From the last rewind on: each may lead to before an earlier one.
  return cuts.reduceRight((low, { at, to }) => (to < low && low < at ? to : low), target)
}

/** The last sequence before a time. Reads up to the first entry that is not before it: times never decrease. */
async function lastBefore(
  history: LogHistory,
  streamId: string,
  { floor, head }: { floor: number; head: number },
  time: number,
): Promise<number> {
  let last = floor
  await history.forEachBatch(streamId, floor, head, (entries, { timestamp }) => {
    const isBefore = timestamp < time
    if (isBefore) last = entries.at(-1)?.sequence ?? last
    return isBefore
  })
  return last
}
