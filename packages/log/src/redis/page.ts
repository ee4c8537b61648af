import type { Cursor, UnprovenCursor } from '@millrace/protocol'
import type { Page, ReadLimit, StoredBatch, Truncation } from '../store.ts'
import type { Connection } from './connection.ts'
import { decodeName, decodeOptional, type LogKeys } from './keys.ts'
import { READ } from './scripts.ts'

/** Reads what lies after a cursor, and the head, at one position. */
export async function readPage(
  connection: Connection,
  { head, batches }: LogKeys,
  { sequence, incarnation = '', epoch = '' }: Cursor | UnprovenCursor,
  limit: ReadLimit,
): Promise<Page | undefined> {
  const args = [`${sequence}`, incarnation, epoch, `${limit.batches}`, `${limit.bytes}`]
  const found = (await connection.run(READ, [head, batches], args)) as [(string | null)[], string[]] | null
  if (found === null) return undefined
  const [fields, [clock, truncated, ...rest]] = found
  const [record, floor, , version, ticket, principal, createdAt, touchedAt, owner, until] = fields as string[]
  const [current = '', , last, mark = ''] = (record as string).split(' ')
  return {
    incarnation: current,
    head: Number(last),
    mark,
    floor: Number(floor),
    version: version as string,
    ticket: ticket as string,
    principal: decodeOptional(principal as string),
    createdAt: Number(createdAt),
    touchedAt: Number(touchedAt),
    lease: owner == null ? null : { owner: decodeName(owner), until: Number(until) },
    clock: Number(clock),
    batches: batchesOf(rest),
    truncated: truncated === '' ? null : (truncated as Truncation),
  }
}

function batchesOf(told: readonly string[]): StoredBatch[] {
  const batches: StoredBatch[] = []
  for (let i = 0; i < told.length; i += 5) {
    const last = Number.parseInt(told[i] as string, 10)
    batches.push({
      first: last - Number(told[i + 3]) + 1,
      last,
      timestamp: Number(told[i + 1]),
      mark: told[i + 2] as string,
      body: told[i + 4] as string,
    })
  }
  return batches
}
