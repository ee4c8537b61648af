import { listTokenError } from '../../store/checks.ts'
import type { OldestLog, OldestPage } from '../../store/log-store.ts'
import type { Connection } from './connection.ts'
import { type IndexEntry, type Indexes, isAfter } from './indexes.ts'
import { decodeName, encodeName, type Keys } from './keys.ts'
import { readRecord } from './page.ts'

/** A page of the logs of all principals. */
export async function oldestOf(
  connection: Connection,
  keys: Keys,
  indexes: Indexes,
  limit: number,
  after: string | undefined,
): Promise<OldestPage> {
  const from = after === undefined ? undefined : readToken(after)
  await indexes.updateDirty()
  if (from === undefined) await indexes.addUnlisted()
  const refreshed = new Set<string>()
  for (;;) {
    const [seconds = '', micros = ''] = (await connection.send(['TIME'])) as string[]
    const clock = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
    const entries = await entriesAfter(indexes, from, limit + 1)
    const logs = await Promise.all(entries.map(({ streamId }) => oldestLog(connection, keys, streamId)))
    const outdated: string[] = []
    const streams: OldestLog[] = []
    for (const [i, entry] of entries.entries()) {
      const log = logs[i]
      if (log?.touchedAt === entry.score) streams.push(log)
      else if (!refreshed.has(entry.streamId)) outdated.push(entry.streamId)
    }
    if (outdated.length === 0) {
      const page = streams.slice(0, limit)
      const end = page.at(-1)
      // Logs that change all the time are left out: they have moved towards the end of the list.
      const last = end ? { streamId: end.streamId, score: end.touchedAt } : entries.at(-1)
      const hasMore = limit > 0 && entries.length > limit
      return { streams: page, next: hasMore && last ? writeToken(last) : null, clock }
    }
    for (const streamId of outdated) refreshed.add(streamId)
    await indexes.refresh(outdated)
  }
}

/** The entries of the index after one of them. */
async function entriesAfter(indexes: Indexes, from: IndexEntry | undefined, limit: number): Promise<IndexEntry[]> {
  const found: IndexEntry[] = []
  for (let offset = 0; found.length < limit; ) {
    const entries = await indexes.oldest(from?.score ?? Number.NEGATIVE_INFINITY, offset, limit)
    if (entries.length === 0) break
    offset += entries.length
    found.push(...entries.filter(entry => from === undefined || isAfter(entry, from)))
  }
  return found.slice(0, limit)
}

async function oldestLog(connection: Connection, keys: Keys, streamId: string): Promise<OldestLog | undefined> {
  const read = [
    connection.send(['GET', keys.record(streamId)]),
    connection.send(['HMGET', keys.head(streamId), 't', 'm', 'n', 'f', 'o', 'u']),
  ] as const
  const [record, fields] = (await Promise.all(read)) as [string | null, (string | null)[]]
  const [ticket, createdAt, touchedAt, floor, owner, until] = fields
  if (record === null || ticket == null) return undefined
  return {
    streamId,
    head: readRecord(record).head,
    floor: Number(floor),
    ticket,
    createdAt: Number(createdAt),
    touchedAt: Number(touchedAt),
    lease: owner == null ? null : { owner: decodeName(owner), until: Number(until) },
  }
}

const writeToken = ({ score, streamId }: IndexEntry): string => `${score}.${encodeName(streamId)}`

function readToken(token: string): IndexEntry {
  const [, time, name = ''] = /^(\d{1,15})\.([\w.:@/%-]+)$/.exec(token) ?? []
  const streamId = decodeName(name)
  if (time === undefined || encodeName(streamId) !== name) throw listTokenError('listOldest')
  return { streamId, score: Number(time) }
}
