import type { WriterOrigin } from '@millrace/protocol'
import { encodeBatch, type NewEntry } from './entry.ts'
import type { StoredBatch } from './log-store.ts'

/** The writer of the entries in tests. */
export const MAIN: WriterOrigin = { runId: 'run-1', lane: 'main', agentId: 'run-1', agentType: 'writer', step: 1 }

/** Batches as a store returns them, one after the other from the beginning of a log. */
export function storedBatches(batches: readonly (readonly NewEntry[])[]): StoredBatch[] {
  let last = 0
  return batches.map((entries, i) => {
    const { body, count } = encodeBatch(entries)
    const first = last + 1
    last += count
    return { first, last, timestamp: 1_000 + i, mark: '1-a', body }
  })
}
