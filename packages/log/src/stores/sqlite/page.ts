import type { Cursor, UnprovenCursor } from '@millrace/protocol'
import type { Page, ReadLimit, StoredBatch } from '../../store/log-store.ts'
import { HEAD_COLUMNS, HEAD_TABLES, headFrom, type SqliteHeadRow, truncationOf } from './head.ts'
import type { LogFile } from './log-file.ts'

const PAGE = `
SELECT ${HEAD_COLUMNS}, s.ticket, s.principal, s.touched, s.owner, s.until FROM ${HEAD_TABLES} WHERE s.name = ?`
const BATCHES = `
SELECT place & 0xffffffff, first, timestamp, mark, body FROM batches
WHERE place BETWEEN (? << 32) | ? AND (? << 32) | 0xffffffff ORDER BY place`

type PageRow = [...SqliteHeadRow, string, string | null, number, string | null, number | null]
type BatchRow = [last: number, first: number, timestamp: number, mark: string, body: string]

/** Reads the batches after a cursor, and verifies the cursor (law 2). */
export function read(
  file: LogFile,
  now: number,
  streamId: string,
  after: Cursor | UnprovenCursor,
  limit: ReadLimit,
): Page | undefined {
  const row = file.row<PageRow>(PAGE, streamId)
  if (row === undefined) return undefined
  const log = headFrom(row)
  const truncated = truncationOf(file, log, after)
  const isEmpty = truncated !== null || after.sequence === log.head
  const [owner, until] = [row[18], row[19]]
  return {
    incarnation: log.incarnation,
    head: log.head,
    mark: log.mark,
    floor: log.floor,
    version: log.version,
    ticket: row[15],
    principal: row[16],
    createdAt: row[5],
    touchedAt: row[17],
    lease: owner === null || until === null ? null : { owner, until },
    clock: now,
    batches: isEmpty ? [] : batchesFrom(file, log.id, after.sequence + 1, limit),
    truncated,
  }
}

function batchesFrom(file: LogFile, id: number, sequence: number, limit: ReadLimit): StoredBatch[] {
  const found: StoredBatch[] = []
  if (limit.batches < 1 || limit.bytes <= 0) return found
  let bytes = 0
  for (const [last, first, timestamp, mark, body] of file.rows<BatchRow>(BATCHES, id, sequence, id)) {
    found.push({ first, last, timestamp, mark, body })
    bytes += body.length
    if (found.length >= limit.batches || bytes >= limit.bytes) break
  }
  return found
}
