import type { Cursor, UnprovenCursor } from '@millrace/protocol'
import type { Page, ReadLimit, StoredBatch } from '../store.ts'
import type { LogFile } from './file.ts'
import { headOf, truncationOf } from './head.ts'

const REST = 'SELECT ticket, principal, created, touched, owner, until FROM streams WHERE id = ?'
const BATCHES = `
SELECT place & 0xffffffff, first, timestamp, mark, body FROM batches
WHERE place BETWEEN (?1 << 32) | ?2 AND (?1 << 32) | 0xffffffff ORDER BY place`

type Rest = [string, string | null, number, number, string | null, number | null]
type Batch = [last: number, first: number, timestamp: number, mark: string, body: string]

/** Reads what lies after a cursor, and proves the cursor (law 2). */
export function read(
  file: LogFile,
  now: number,
  streamId: string,
  after: Cursor | UnprovenCursor,
  limit: ReadLimit,
): Page | undefined {
  const log = headOf(file, streamId)
  if (log === undefined) return undefined
  const { id, incarnation, head, mark, floor, version } = log
  const [ticket, principal, createdAt, touchedAt, owner, until] = file.row<Rest>(REST, id) as Rest
  const lease = owner === null || until === null ? null : { owner, until }
  const truncated = truncationOf(file, log, after)
  const isEmpty = truncated !== null || after.sequence === head
  const batches = isEmpty ? [] : batchesFrom(file, id, after.sequence + 1, limit)
  const state = { incarnation, head, mark, floor, version, ticket, principal, createdAt, touchedAt, lease, clock: now }
  return { ...state, batches, truncated }
}

function batchesFrom(file: LogFile, id: number, sequence: number, limit: ReadLimit): StoredBatch[] {
  const found: StoredBatch[] = []
  if (limit.batches < 1 || limit.bytes <= 0) return found
  let bytes = 0
  for (const [last, first, timestamp, mark, body] of file.rows<Batch>(BATCHES, id, sequence)) {
    found.push({ first, last, timestamp, mark, body })
    bytes += body.length
    if (found.length >= limit.batches || bytes >= limit.bytes) break
  }
  return found
}
