import { LogError } from '../error.ts'
import type { Listed, ListPage } from '../store.ts'
import type { Connection } from './connection.ts'
import { FACT_FIELDS, readFacts } from './head.ts'
import type { Indexes, Line } from './indexes.ts'
import { decodeName, encodeName, encodeOptional, type Keys } from './keys.ts'
import { readRecord } from './page.ts'

/** Logs that are due, read and found so; candidates that are not are put where they belong. */
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
      const { streamId } = lines[i] as Line
      const facts = readFacts(fields as (string | null)[])
      const isFor = facts && (facts.program === null || programs.includes(facts.program))
      if (isFor && facts.due !== undefined && facts.due <= now) due.push({ streamId, since: facts.due })
      else if (!looked.has(streamId)) others.push(streamId)
    }
    if (others.length === 0) {
      due.sort((a, b) => a.since - b.since)
      return due.slice(0, limit).map(({ streamId }) => streamId)
    }
    // A log that changes all the time is looked at once.
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
  await indexes.settle()
  const streams: Listed[] = []
  let end: Line | undefined
  for (let offset = 0; ; ) {
    const lines = await indexes.listed(principal, from?.score ?? Number.NEGATIVE_INFINITY, offset)
    offset += lines.length
    const rest = lines.filter(line => from === undefined || isAfter(line, from))
    const heads = rest.map(async ({ streamId }) => {
      const fields = connection.send(['HMGET', keys.head(streamId), 't', 'm', 'n', 'p'])
      return [await connection.send(['GET', keys.record(streamId)]), ...((await fields) as (string | null)[])]
    })
    const others: string[] = []
    for (const [i, fields] of (await Promise.all(heads)).entries()) {
      const line = rest[i] as Line
      const [record, ticket, createdAt, touchedAt, owner] = fields as (string | null)[]
      if (record == null || ticket == null || owner !== encodeOptional(principal)) {
        others.push(line.streamId)
        continue
      }
      if (streams.length >= limit) return { streams, next: end ? writeToken(end) : null }
      const { head } = readRecord(record)
      streams.push({
        streamId: line.streamId,
        head,
        ticket,
        createdAt: Number(createdAt),
        touchedAt: Number(touchedAt),
      })
      end = line
    }
    if (others.length > 0) await indexes.refresh(others)
    if (lines.length === 0) return { streams, next: null }
  }
}

const isAfter = (line: Line, from: Line): boolean =>
  line.score > from.score || (line.score === from.score && encodeName(line.streamId) > encodeName(from.streamId))

const writeToken = ({ score, streamId }: Line): string => `${-score}.${encodeName(streamId)}`

function readToken(token: string): Line {
  const [, time, name = ''] = /^(\d{1,15})\.([\w.:@/%-]+)$/.exec(token) ?? []
  const streamId = decodeName(name)
  if (time === undefined || encodeName(streamId) !== name) {
    throw new LogError('invalid', 'list: expected the `next` of an earlier page')
  }
  return { streamId, score: -Number(time) }
}
