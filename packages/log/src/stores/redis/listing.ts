import { LogError } from '../../store/log-error.ts'
import type { Listed, ListPage } from '../../store/log-store.ts'
import type { Connection } from './connection.ts'
import { FACT_FIELDS, readFacts } from './head.ts'
import type { IndexEntry, Indexes } from './indexes.ts'
import { decodeName, encodeName, encodeOptional, type Keys } from './keys.ts'
import { readRecord } from './page.ts'

/** Logs that are due, verified by reading them. Outdated candidates are settled. */
export async function dueOf(
  connection: Connection,
  keys: Keys,
  indexes: Indexes,
  programs: readonly string[],
  limit: number,
): Promise<string[]> {
  await indexes.settle()
  const looked = new Set<string>()
  for (;;) {
    const { now, lines } = await indexes.candidates(programs, limit)
    const heads = lines.map(({ streamId }) => connection.send(['HMGET', keys.head(streamId), ...FACT_FIELDS]))
    const due: { streamId: string; since: number }[] = []
    const others: string[] = []
    for (const [i, fields] of (await Promise.all(heads)).entries()) {
      const { streamId } = lines[i] as IndexEntry
      const facts = readFacts(fields as (string | null)[])
      const isFor = facts && (facts.program === null || programs.includes(facts.program))
      if (isFor && facts.due !== undefined && facts.due <= now) due.push({ streamId, since: facts.due })
      else if (!looked.has(streamId)) others.push(streamId)
    }
    if (others.length === 0) {
      due.sort((a, b) => a.since - b.since)
      return due.slice(0, limit).map(({ streamId }) => streamId)
    }
    // A log that changes all the time is refreshed once.
    for (const streamId of others) looked.add(streamId)
    await indexes.refresh(others)
  }
}

/** A page of the logs of a principal. */
export async function listOf(
  connection: Connection,
  keys: Keys,
  indexes: Indexes,
  principal: string | null,
  limit: number,
  after: string | undefined,
): Promise<ListPage> {
  const from = after === undefined ? undefined : readToken(after)
  if (limit < 1) return { streams: [], next: null }
  await indexes.settle()
  const found = new Map<string, Listed>()
  const others: string[] = []
  let end: IndexEntry | undefined
  let next: string | null = null
  for (let offset = 0; next === null; ) {
    const lines = await indexes.listed(principal, from?.score ?? Number.NEGATIVE_INFINITY, offset, limit + 1)
    if (lines.length === 0) break
    offset += lines.length
    const rest = lines.filter(line => from === undefined || isAfter(line, from))
    const listed = await Promise.all(rest.map(({ streamId }) => listedOf(connection, keys, principal, streamId)))
    for (const [i, line] of rest.entries()) {
      const one = listed[i]
      if (one === undefined) {
        others.push(line.streamId)
      } else if (found.size < limit) {
        found.set(line.streamId, one)
        end = line
      } else {
        next = writeToken(end as IndexEntry)
        break
      }
    }
  }
  // Not earlier: a removal from the index would shift the following entries.
  if (others.length > 0) await indexes.refresh(others)
  return { streams: [...found.values()], next }
}

/** A log's list entry, if it exists and belongs to the principal. */
async function listedOf(
  connection: Connection,
  keys: Keys,
  principal: string | null,
  streamId: string,
): Promise<Listed | undefined> {
  const read = [
    connection.send(['GET', keys.record(streamId)]),
    connection.send(['HMGET', keys.head(streamId), 't', 'm', 'n', 'p']),
  ] as const
  const [record, fields] = (await Promise.all(read)) as [string | null, (string | null)[]]
  const [ticket, createdAt, touchedAt, owner] = fields
  if (record === null || ticket == null || owner !== encodeOptional(principal)) return undefined
  const { head } = readRecord(record)
  return { streamId, head, ticket, createdAt: Number(createdAt), touchedAt: Number(touchedAt) }
}

const isAfter = (line: IndexEntry, from: IndexEntry): boolean =>
  line.score > from.score || (line.score === from.score && encodeName(line.streamId) > encodeName(from.streamId))

const writeToken = ({ score, streamId }: IndexEntry): string => `${-score}.${encodeName(streamId)}`

function readToken(token: string): IndexEntry {
  const [, time, name = ''] = /^(\d{1,15})\.([\w.:@/%-]+)$/.exec(token) ?? []
  const streamId = decodeName(name)
  if (time === undefined || encodeName(streamId) !== name) {
    throw new LogError('invalid', 'list: expected the `next` of an earlier page')
  }
  return { streamId, score: -Number(time) }
}
