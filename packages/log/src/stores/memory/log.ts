import type { Cursor, UnprovenCursor } from '@millrace/protocol'
import type {
  Accepted,
  ReadLimit,
  StoredBatch,
  StoredSnapshot,
  TicketRecord,
  Truncation,
} from '../../store/log-store.ts'
import { randomName, versionOf } from '../../store/names.ts'

/** One log, as the memory store keeps it. */
export interface Log {
  incarnation: string
  head: number
  mark: string
  floor: number
  floorMark: string
  /** Timestamp of the last append. */
  timestamp: number
  version: string
  ticket: TicketRecord
  dueAt: number | null
  epochs: number
  epoch: string | null
  /** The writer's last append under this epoch. */
  latest: { readonly counter: number; readonly result: Accepted } | undefined
  lease: { readonly owner: string; readonly until: number } | null
  readonly principal: string | null
  readonly createdAt: number
  touchedAt: number
  batches: StoredBatch[]
  readonly keys: Map<string, { readonly first: number; readonly last: number; readonly keep: boolean }>
  snapshots: StoredSnapshot[]
  readonly blobs: Map<string, Uint8Array>
}

/** An empty log with a new incarnation. */
export function newLog(principal: string | null, now: number): Log {
  const incarnation = randomName()
  return {
    incarnation,
    head: 0,
    mark: '0',
    floor: 0,
    floorMark: '0',
    timestamp: now,
    version: versionOf(0, incarnation, '0'),
    ticket: { state: '', due: { at: null, program: null } },
    dueAt: null,
    epochs: 0,
    epoch: null,
    latest: undefined,
    lease: null,
    principal,
    createdAt: now,
    touchedAt: now,
    batches: [],
    keys: new Map(),
    snapshots: [],
    blobs: new Map(),
  }
}

/** Whether the log holds an entry that was acknowledged to a writer. Trimmed entries count as held. */
export function hasAcknowledged(log: Log, { sequence, incarnation, epoch }: Cursor): boolean {
  if (incarnation !== log.incarnation || sequence > log.head) return false
  return sequence < log.floor || markAt(log, sequence) === epoch
}

/** Why a cursor does not match the log; null if it does (law 2). */
export function truncationOf(log: Log, { sequence, incarnation, epoch }: Cursor | UnprovenCursor): Truncation | null {
  if (incarnation !== undefined && incarnation !== log.incarnation) return 'incarnation'
  if (sequence > log.head) return 'past-head'
  if (sequence < log.floor) return 'below-floor'
  return epoch !== undefined && markAt(log, sequence) !== epoch ? 'epoch' : null
}

/** The index of the first batch that ends after a sequence. */
export function indexAfter(batches: readonly StoredBatch[], sequence: number): number {
  let [low, high] = [0, batches.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((batches[middle] as StoredBatch).last > sequence) high = middle
    else low = middle + 1
  }
  return low
}

/** The mark of the entry at a sequence between the floor and the head. */
export function markAt(log: Log, sequence: number): string | undefined {
  if (sequence === log.head) return log.mark
  if (sequence === log.floor) return log.floorMark
  return log.batches[indexAfter(log.batches, sequence - 1)]?.mark
}

/** The batches that end after a sequence, within the limit. */
export function batchesAfter(log: Log, sequence: number, limit: ReadLimit): StoredBatch[] {
  const from = indexAfter(log.batches, sequence)
  const found: StoredBatch[] = []
  let bytes = 0
  for (let i = from; i < log.batches.length && found.length < limit.batches && bytes < limit.bytes; i++) {
    const batch = log.batches[i] as StoredBatch
    found.push(batch)
    bytes += batch.body.length
  }
  return found
}

/** A batch up to a sequence. Its body stays whole: readers take only the entries within its sequences. */
export function cutBatch(batch: StoredBatch, at: number): StoredBatch {
  return at >= batch.last ? batch : { ...batch, last: at }
}
