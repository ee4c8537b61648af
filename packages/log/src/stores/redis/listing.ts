import { listTokenError } from '../../store/checks.ts'
import type { Listed, ListPage } from '../../store/log-store.ts'
import { listStartName, listTokenName } from '../../store/session-id.ts'
import type { Connection } from './connection.ts'
import { INDEX_FIELDS, readIndexFields } from './head.ts'
import { type IndexEntry, type Indexes, isAfter } from './indexes.ts'
import { decodeName, encodeName, encodeOptional, type Keys } from './keys.ts'
import { readRecord } from './page.ts'

/** Logs that are due, verified by reading them. Outdated index entries are updated. */
export async function dueOf(
  connection: Connection,
  keys: Keys,
  indexes: Indexes,
  programs: readonly string[],
  limit: number,
): Promise<string[]> {
  await indexes.updateDirty()
  const refreshed = new Set<string>()
  for (;;) {
    const { now, candidates } = await indexes.candidates(programs, limit)
    const heads = candidates.map(({ streamId }) => connection.send(['HMGET', keys.head(streamId), ...INDEX_FIELDS]))
    const due: { streamId: string; since: number }[] = []
    const outdated: string[] = []
    for (const [i, fields] of (await Promise.all(heads)).entries()) {
      const { streamId } = candidates[i] as IndexEntry
      const log = readIndexFields(fields as (string | null)[])
      const isFor = log && (log.program === null || programs.includes(log.program))
      if (isFor && log.due !== undefined && log.due <= now) due.push({ streamId, since: log.due })
      else if (!refreshed.has(streamId)) outdated.push(streamId)
    }
    if (outdated.length === 0) {
      due.sort((a, b) => a.since - b.since)
      return due.slice(0, limit).map(({ streamId }) => streamId)
    }
    // A log that changes all the time is refreshed once.
    for (const streamId of outdated) refreshed.add(streamId)
    await indexes.refresh(outdated)
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
  const from = after === undefined ? undefined : readToken(after, principal)
  if (limit < 1) return { streams: [], next: null }
  await indexes.updateDirty()
  const found = new Map<string, Listed>()
  const outdated: string[] = []
  let end: IndexEntry | undefined
  let next: string | null = null
  for (let offset = 0; next === null; ) {
    const entries = await indexes.listed(principal, from?.score ?? Number.NEGATIVE_INFINITY, offset, limit + 1)
    if (entries.length === 0) break
    offset += entries.length
    const rest = entries.filter(entry => from === undefined || isAfter(entry, from))
    const listed = await Promise.all(rest.map(({ streamId }) => listedOf(connection, keys, principal, streamId)))
    for (const [i, entry] of rest.entries()) {
      const log = listed[i]
      if (log === undefined) {
        outdated.push(entry.streamId)
      } else if (found.size < limit) {
        found.set(entry.streamId, log)
        end = entry
      } else {
        next = writeToken(end as IndexEntry)
        break
      }
    }
  }
  // Not earlier: a removal from the index would shift the following entries.
  if (outdated.length > 0) await indexes.refresh(outdated)
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

const writeToken = ({ score, streamId }: IndexEntry): string => `${-score}.${encodeName(listTokenName(streamId))}`

function readToken(token: string, principal: string | null): IndexEntry {
  const [, time, name = ''] = /^(\d{1,15})\.([\w.:@/%-]+)$/.exec(token) ?? []
  const decoded = decodeName(name)
  if (time === undefined || encodeName(decoded) !== name) {
    throw listTokenError()
  }
  return { streamId: listStartName(principal, decoded), score: -Number(time) }
}
