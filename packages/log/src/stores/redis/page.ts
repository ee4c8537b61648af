import type { Cursor, UnprovenCursor } from '@millrace/protocol'
import type { Page, ReadLimit, StoredBatch, Truncation } from '../../store/log-store.ts'
import type { Connection } from './connection.ts'
import { decodeName, decodeOptional, type LogKeys } from './keys.ts'
import { READ } from './scripts.ts'

type ReadReply = [clock: string, record: string, fields: (string | null)[], truncated: string, batches: string[]]

/** Reads the head and the batches after a cursor, atomically. */
export async function readPage(
  connection: Connection,
  { record, head, batches }: LogKeys,
  { sequence, incarnation = '', epoch = '' }: Cursor | UnprovenCursor,
  limit: ReadLimit,
): Promise<Page | undefined> {
  const args = [`${sequence}`, incarnation, epoch, `${limit.batches}`, `${limit.bytes}`]
  const found = (await connection.run(READ, [record, head, batches], args)) as ReadReply | null
  if (found === null) return undefined
  const [clock, current, fields, truncated, reply] = found
  const [floor, , version, ticket, principal, createdAt, touchedAt, owner, until] = fields as string[]
  const { incarnation: currentIncarnation, head: last, mark } = readRecord(current)
  return {
    incarnation: currentIncarnation,
    head: last,
    mark,
    floor: Number(floor),
    version: version as string,
    ticket: ticket as string,
    principal: decodeOptional(principal as string),
    createdAt: Number(createdAt),
    touchedAt: Number(touchedAt),
    lease: owner == null ? null : { owner: decodeName(owner), until: Number(until) },
    clock: Number(clock),
    batches: batchesOf(reply),
    truncated: truncated === '' ? null : (truncated as Truncation),
  }
}

/** Parses the end of the log in a record. */
export function readRecord(record: string): { incarnation: string; head: number; mark: string } {
  const [incarnation = '', , head, mark = ''] = record.split(' ', 4)
  return { incarnation, head: Number(head), mark }
}

function batchesOf(reply: readonly string[]): StoredBatch[] {
  const batches: StoredBatch[] = []
  for (let i = 0; i < reply.length; i += 2) batches.push(batchOf(reply[i] as string, reply[i + 1] as string))
  return batches
}

/** Parses a batch of the stream. */
function batchOf(id: string, value: string): StoredBatch {
  const dash = id.indexOf('-')
  const last = Number(id.slice(0, dash))
  const afterMark = value.indexOf(' ')
  const afterCount = value.indexOf(' ', afterMark + 1)
  return {
    first: last - Number(value.slice(afterMark + 1, afterCount)) + 1,
    last,
    timestamp: Number(id.slice(dash + 1)),
    mark: detached(value.slice(0, afterMark)),
    body: value.slice(afterCount + 1),
  }
}

/**
 * A copy of a substring: a slice would keep the whole string in memory, and a reader keeps the mark of its last
 * batch.
 */
const detached = (part: string): string => Buffer.from(part, 'latin1').toString('latin1')
