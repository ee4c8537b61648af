import type { Cursor, UnprovenCursor } from '@millrace/protocol'
import type { Truncation } from '../../store/log-store.ts'
import type { LogFile } from './log-file.ts'

/** The state of a log that an append needs. */
export interface Head {
  readonly id: number
  readonly incarnation: string
  readonly floor: number
  readonly floorMark: string
  readonly version: string
  readonly head: number
  readonly mark: string
  /** Time of the last append, or of the creation. */
  readonly timestamp: number
  readonly epoch: string | null
  /** The latest append of the epoch. */
  readonly latest: { readonly counter: number; readonly first: number; readonly last: number } | undefined
  /** Whether the log's last batch is that append. */
  readonly latestIsLast: boolean
}

/** A log's row and that of its last batch. */
export type SqliteHeadRow = [
  id: number,
  incarnation: string,
  floor: number,
  floorMark: string,
  version: string,
  created: number,
  epoch: string | null,
  counter: number | null,
  counterFirst: number,
  counterLast: number,
  last: number | null,
  first: number,
  timestamp: number,
  mark: string,
  batchCounter: number | null,
]

/** The columns of a head, from `HEAD_TABLES`. */
export const HEAD_COLUMNS = `s.id, s.incarnation, s.floor, s.floor_mark, s.version, s.created, s.epoch, s.counter, s.counter_first, s.counter_last,
  b.place & 0xffffffff, b.first, b.timestamp, b.mark, b.counter`
export const HEAD_TABLES = `streams s LEFT JOIN batches b
  ON b.place = (SELECT max(place) FROM batches WHERE place BETWEEN s.id << 32 AND (s.id << 32) | 0xffffffff)`

const HEAD = `SELECT ${HEAD_COLUMNS} FROM ${HEAD_TABLES} WHERE s.name = ?`

const MARK = `
SELECT mark FROM batches WHERE place BETWEEN (? << 32) | ? AND (? << 32) | 0xffffffff ORDER BY place LIMIT 1`

/** The head of a log; undefined if it does not exist. */
export function headOf(file: LogFile, streamId: string): Head | undefined {
  const row = file.row<SqliteHeadRow>(HEAD, streamId)
  return row && headFrom(row)
}

/** The head in a row. Ignores further columns. */
export function headFrom(row: readonly [...SqliteHeadRow, ...unknown[]]): Head {
  const [id, incarnation, floor, floorMark, version, created, epoch, counter, counterFirst, counterLast] = row
  const base = { id, incarnation, floor, floorMark, version, epoch }
  const rowLatest = counter === null ? undefined : { counter, first: counterFirst, last: counterLast }
  const last = row[10]
  if (last === null) {
    return { ...base, head: 0, mark: '0', timestamp: created, latest: rowLatest, latestIsLast: false }
  }
  const [first, timestamp, mark, batchCounter] = [row[11], row[12], row[13], row[14]]
  const latestIsLast = batchCounter !== null && mark === epoch
  const latest = latestIsLast ? { counter: batchCounter, first, last } : rowLatest
  return { ...base, head: last, mark, timestamp, latest, latestIsLast }
}

/** The mark of the entry at a sequence between the floor and the head. */
export function markAt(file: LogFile, log: Head, sequence: number): string | undefined {
  if (sequence === log.head) return log.mark
  if (sequence === log.floor) return log.floorMark
  return file.row<[string]>(MARK, log.id, sequence, log.id)?.[0]
}

/** Why a cursor does not match the log; null if it does (law 2). */
export function truncationOf(file: LogFile, log: Head, cursor: Cursor | UnprovenCursor): Truncation | null {
  const { sequence, incarnation, epoch } = cursor
  if (incarnation !== undefined && incarnation !== log.incarnation) return 'incarnation'
  if (sequence > log.head) return 'past-head'
  if (sequence < log.floor) return 'below-floor'
  return epoch !== undefined && markAt(file, log, sequence) !== epoch ? 'epoch' : null
}

/** Whether the log holds an entry that was acknowledged to its writer (law 4). Trimmed entries count as held. */
export function hasAcknowledged(file: LogFile, log: Head, lastAcked: Cursor): boolean {
  const { sequence, incarnation, epoch } = lastAcked
  // The epoch's latest append is known without reading its batch.
  if (sequence === log.latest?.last && epoch === log.epoch && incarnation === log.incarnation) return true
  const truncated = truncationOf(file, log, lastAcked)
  return truncated === null || truncated === 'below-floor'
}
