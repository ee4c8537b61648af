import { listTokenError } from '../../store/checks.ts'
import type { ListPage } from '../../store/log-store.ts'
import { listStartName, listTokenName } from '../../store/session-id.ts'
import type { LogFile } from './log-file.ts'

/** The last log of a page, after which the next page begins. */
export interface ListPosition {
  readonly touchedAt: number
  readonly streamId: string
}

const LIST = `
SELECT s.name, s.ticket, s.created, s.touched,
  (SELECT max(place) & 0xffffffff FROM batches WHERE place BETWEEN s.id << 32 AND (s.id << 32) | 0xffffffff)
FROM streams s WHERE s.principal IS ? AND s.touched <= ? AND (s.touched < ? OR s.name > ?)
ORDER BY s.touched DESC, s.name LIMIT ?`

const TOKEN = /^(-?\d+(?:\.\d+)?):([\w-]*)$/

/** The logs of a principal, last touched first. */
export function list(
  file: LogFile,
  _now: number,
  principal: string | null,
  limit: number,
  { touchedAt, streamId }: ListPosition,
): ListPage {
  type Row = [streamId: string, ticket: string, createdAt: number, touchedAt: number, head: number | null]
  const rows = [...file.rows<Row>(LIST, principal, touchedAt, touchedAt, streamId, Math.min(limit, 0xffff_ffff) + 1)]
  const streams = rows.slice(0, limit).map(([streamId, ticket, createdAt, touchedAt, head]) => {
    return { streamId, head: head ?? 0, ticket, createdAt, touchedAt }
  })
  const end = streams.at(-1)
  return { streams, next: end !== undefined && rows.length > limit ? listTokenOf(end) : null }
}

/** The position before the first log of every list. */
export const LIST_START: ListPosition = { touchedAt: Number.POSITIVE_INFINITY, streamId: '' }

/**
 * Parses a `next` token.
 *
 * @throws LogError `invalid`
 */
export function parseListToken(token: string, principal: string | null): ListPosition {
  const [found, digits, encoded = ''] = TOKEN.exec(token) ?? []
  const touchedAt = Number(digits)
  const name = Buffer.from(encoded, 'base64url').toString()
  // Accepts only the canonical form of a token.
  if (found !== undefined && listTokenOf({ touchedAt, streamId: name }) === token)
    return { touchedAt, streamId: listStartName(principal, name) }
  throw listTokenError()
}

function listTokenOf({ touchedAt, streamId }: ListPosition): string {
  return `${touchedAt}:${Buffer.from(listTokenName(streamId)).toString('base64url')}`
}
