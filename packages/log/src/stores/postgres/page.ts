import type { Page } from '../../store/log-store.ts'
import { decodeName } from './name.ts'

interface PostgresHeadRow {
  incarnation: string
  head: number
  mark: string
  floor: number
  version: string
  ticket: string
  principal: string | null
  createdAt: number
  touchedAt: number
  owner: string | null
  until: number
  clock: number
  truncated: Page['truncated']
}

/** The page in the rows of a read: the first row's body is the log itself, the others are its batches. */
export function pageOf(rows: readonly (readonly unknown[])[]): Page | undefined {
  const [log, ...batches] = rows
  if (log === undefined) return undefined
  const { owner, until, ...head } = JSON.parse(String(log[4])) as PostgresHeadRow
  return {
    ...head,
    mark: decodeName(head.mark),
    version: decodeName(head.version),
    principal: head.principal === null ? null : decodeName(head.principal),
    lease: owner === null ? null : { owner: decodeName(owner), until },
    batches: batches.map(([first, last, at, mark, body]) => ({
      first: Number(first),
      last: Number(last),
      timestamp: Number(at),
      mark: decodeName(String(mark)),
      body: String(body),
    })),
  }
}
