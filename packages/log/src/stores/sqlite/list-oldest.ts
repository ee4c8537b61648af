import { listTokenError } from '../../store/checks.ts'
import type { OldestPage } from '../../store/log-store.ts'
import type { LogFile } from './log-file.ts'

/** The last log of a page, after which the next page begins. */
export interface OldestPosition {
  readonly touchedAt: number
  /** The number of the log in the file. */
  readonly id: number
}

const LIST = `
SELECT s.name, s.floor, s.ticket, s.created, s.touched, s.owner, s.until, s.id,
  (SELECT max(place) & 0xffffffff FROM batches WHERE place BETWEEN s.id << 32 AND (s.id << 32) | 0xffffffff)
FROM streams s WHERE s.touched >= ? AND (s.touched > ? OR s.id > ?) ORDER BY s.touched, s.id LIMIT ?`

type Row = [
  streamId: string,
  floor: number,
  ticket: string,
  createdAt: number,
  touchedAt: number,
  owner: string | null,
  until: number,
  id: number,
  head: number | null,
]

const TOKEN = /^(-?\d+(?:\.\d+)?):(\d{1,16})$/

/** The logs of all principals, least recently touched first. */
export function listOldest(file: LogFile, now: number, limit: number, { touchedAt, id }: OldestPosition): OldestPage {
  const rows = [...file.rows<Row>(LIST, touchedAt, touchedAt, id, Math.min(limit, 0xffff_ffff) + 1)]
  const page = rows.slice(0, limit)
  const streams = page.map(([streamId, floor, ticket, createdAt, touchedAt, owner, until, , head]) => {
    const lease = owner === null ? null : { owner, until }
    return { streamId, head: head ?? 0, floor, ticket, createdAt, touchedAt, lease }
  })
  const end = page.at(-1)
  return { streams, next: end && rows.length > limit ? `${end[4]}:${end[7]}` : null, clock: now }
}

/** The position before the first log. */
export const OLDEST_START: OldestPosition = { touchedAt: Number.NEGATIVE_INFINITY, id: 0 }

/**
 * Parses a `next` token.
 *
 * @throws LogError `invalid`
 */
export function parseOldestToken(token: string): OldestPosition {
  const [, touchedAt, id] = TOKEN.exec(token) ?? []
  if (touchedAt === undefined || id === undefined) throw listTokenError('listOldest')
  return { touchedAt: Number(touchedAt), id: Number(id) }
}
