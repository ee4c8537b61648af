// The checker of all schedules: compares the whole log, read through a fresh handle, with everything that was reported.

import { decodeCursor, type Entry, isGuest, type WriterOrigin } from '@millrace/protocol'
import { decodeBatch } from '../../store/entry.ts'
import type { LogHead, LogStore } from '../../store/log-store.ts'
import { advance, EMPTY_TICKET, mustStop, type Ticket, ticketOf } from '../../ticket/ticket.ts'
import { openDrafts } from '../chaos/log-model.fixture.ts'
import type { ReadSegment, ReportedLog, ReportedReader } from './fault-record.fixture.ts'
import { tokensIn } from './token.fixture.ts'

const PAGE = { batches: 500, bytes: 4 * 1024 * 1024 }
const NOTHING = { batches: 0, bytes: 0 }

export interface WholeBatch {
  readonly first: number
  readonly last: number
  readonly mark: string
  readonly timestamp: number
  readonly entries: readonly Entry[]
}

/** A whole log. */
export interface WholeLog {
  readonly head: LogHead
  readonly batches: readonly WholeBatch[]
}

/** Reads a log whole. */
export async function readWhole(store: LogStore, streamId: string): Promise<WholeLog> {
  const batches: WholeBatch[] = []
  for (let at: number | undefined; ; ) {
    const page = await store.read(streamId, { sequence: at ?? 0 }, PAGE)
    if (page === undefined) throw new Error(`there is no log ${streamId}`)
    for (const batch of page.batches) batches.push({ ...batch, entries: decodeBatch(batch) })
    at = batches.at(-1)?.last ?? 0
    if (at >= page.head || page.batches.length === 0) return { head: page, batches }
  }
}

/** Violations of laws 1, 4, 5 and 7 in a log. */
export function problemsOfLog({ head, batches }: WholeLog): string[] {
  const problems: string[] = []
  const entries: Entry[] = []
  const runs = new Map<string, { started: number; finished: number }>()
  const seen = new Set<string>()
  const lines = new Map<string, number>()
  let ticket: Ticket = EMPTY_TICKET
  let version = { sequence: 0, mark: '0' }
  let [epoch, at, timestamp] = ['', 0, 0]
  for (const batch of batches) {
    const { first, last, mark } = batch
    if (first !== at + 1) problems.push(`law 1: ${first} follows ${at}`)
    if (batch.entries.length !== last - first + 1)
      problems.push(`law 1: (${first}, ${last}) has ${batch.entries.length}`)
    if (batch.timestamp < timestamp) problems.push(`law 1: the time decreases at ${first}`)
    ;[at, timestamp] = [last, batch.timestamp]
    const isWriters = batch.entries.every(({ origin }) => !isGuest(origin))
    if (isWriters && mark !== epoch) {
      if (countOf(mark) <= countOf(epoch)) problems.push(`law 4: ${mark} writes at ${first}, after ${epoch}`)
      problems.push(...problemsOfTakeover(batch, entries, ticket))
      epoch = mark
    }
    for (const entry of batch.entries) {
      const { chunk, sequence, origin } = entry
      for (const { text, by, line, n } of tokensIn(chunk)) {
        if (seen.has(text)) problems.push(`law 2: ${text} is in the log twice, again at ${sequence}`)
        seen.add(text)
        const before = lines.get(`${by}.${line}`) ?? -1
        if (n <= before) problems.push(`law 1: ${text} at ${sequence} comes after ${before}`)
        lines.set(`${by}.${line}`, n)
      }
      if (isGuest(origin)) continue
      const run = runs.get(origin.runId) ?? { started: 0, finished: 0 }
      runs.set(origin.runId, run)
      if (run.finished > 0) problems.push(`law 7: ${chunk.type} of ${origin.runId} at ${sequence}, after its end`)
      if (chunk.type === 'run-started') run.started++
      if (chunk.type === 'run-finished') run.finished++
    }
    const next = advance(ticket, batch.entries)
    if (next !== ticket) version = { sequence: last, mark }
    ticket = next
    entries.push(...batch.entries)
  }
  if (at !== head.head) problems.push(`law 1: the head is ${head.head}, the last entry ${at}`)
  for (const [runId, { started, finished }] of runs) {
    if (started !== 1 || finished !== 1)
      problems.push(`law 7: ${runId} started ${started} and finished ${finished} times`)
  }
  if (JSON.stringify(ticket) !== JSON.stringify(ticketOf(head.ticket))) {
    problems.push(`law 5: the ticket is ${head.ticket}, rebuilt ${JSON.stringify(ticket)}`)
  }
  const stored = decodeCursor(head.version)
  if (stored.sequence !== version.sequence || stored.epoch !== version.mark) {
    problems.push(`law 5: the ticket's version is ${head.version}, expected ${version.sequence} of ${version.mark}`)
  }
  return problems
}

/** The index of an epoch in its log. */
const countOf = (epoch: string): number => Number.parseInt(epoch || '0', 10)

/** A takeover writes its preamble and discards the drafts, unless the run must stop or ends (law 4). */
function problemsOfTakeover(batch: WholeBatch, before: readonly Entry[], ticket: Ticket): string[] {
  if (ticket.run === null || ticket.run.paused) return []
  const types = batch.entries.map(({ chunk }) => chunk.type)
  if (types[0] !== 'executor-superseded') return [`law 4: the takeover at ${batch.first} begins with ${types[0]}`]
  if (mustStop(ticket) || types.includes('run-finished')) return []
  const discarded = batch.entries.flatMap(({ chunk, origin }) => {
    return chunk.type === 'step-discarded' ? [laneOf(origin as WriterOrigin)] : []
  })
  return openDrafts(before)
    .filter(draft => !discarded.includes(laneOf(draft)))
    .map(({ lane }) => `law 4: the takeover at ${batch.first} leaves the draft of ${lane}`)
}

const laneOf = ({ runId, lane, agentId }: WriterOrigin): string => JSON.stringify([runId, lane, agentId])

/** Differences between a log and its acknowledgements: laws 1, 2 and 5. */
export function problemsOfAcks({ batches }: WholeLog, record: ReportedLog): string[] {
  const problems: string[] = []
  const entryByText = new Map<string, { sequence: number; batch: WholeBatch }>()
  const settled = new Map<string, number>()
  for (const batch of batches) {
    for (const { chunk, sequence, origin } of batch.entries) {
      for (const { text } of tokensIn(chunk)) entryByText.set(text, { sequence, batch })
      const pending = isGuest(origin) ? answeredBy(chunk) : undefined
      if (pending === undefined) continue
      if (settled.has(pending))
        problems.push(`law 5: ${pending} is answered at ${settled.get(pending)} and ${sequence}`)
      settled.set(pending, sequence)
    }
  }
  const isAt = (token: string, first: number, last: number): boolean => {
    const { sequence = 0 } = entryByText.get(token) ?? {}
    return first <= sequence && sequence <= last
  }

  const missing: typeof record.acks = []
  for (const ack of record.acks) {
    const absent = ack.tokens.filter(token => !entryByText.has(token))
    if (absent.length > 0) missing.push(ack)
    for (const token of ack.tokens) {
      if (absent.includes(token) || isAt(token, ack.first, ack.last)) continue
      problems.push(
        `law 2: ${token} was acknowledged at ${ack.first} to ${ack.last}, but is at ${entryByText.get(token)?.sequence}`,
      )
    }
  }
  for (const { tokens, at, by, first } of missing) {
    const loss = record.lossy.find(({ from, to }) => from <= at && at <= to)
    if (loss === undefined) problems.push(`law 2: ${tokens} of ${by} was acknowledged, and is lost`)
    const kept = record.acks.find(ack => !missing.includes(ack) && ack.at <= (loss?.to ?? 0) && ack.first > first)
    if (loss && kept) problems.push(`law 2: ${tokens} at ${first} is lost, ${kept.tokens} at ${kept.first} is not`)
  }
  for (const { tokens, first } of record.lostAcks) {
    const stored = tokens.find(token => entryByText.has(token))
    if (stored) problems.push(`law 2: ${stored} at ${first} was appended after the restored copy, but is in the log`)
  }
  for (const { tokens, by } of record.sent) {
    const found = tokens.flatMap(token => entryByText.get(token)?.batch ?? [])
    if (found.length !== 0 && (found.length !== tokens.length || new Set(found).size !== 1)) {
      problems.push(
        `law 1: ${found.length} entries of the batch ${tokens} of ${by} are in ${new Set(found).size} batches`,
      )
    }
  }
  for (const { token, outcome, reason, first = 0, last = 0, at } of record.answers) {
    const isLossy = record.lossy.some(({ from, to }) => from <= at && at <= to)
    const wasTaken = record.answers.some(answer => answer.token === token && answer.outcome !== 'refused')
    if (outcome === 'refused') {
      if (entryByText.has(token) && !wasTaken)
        problems.push(`law 5: ${token} was refused as ${reason}, but is in the log`)
    } else if (!isAt(token, first, last) && !isLossy) {
      problems.push(`law 5: ${token} was ${outcome} at ${first}, but is at ${entryByText.get(token)?.sequence}`)
    }
  }
  for (const { token, status } of record.ends) {
    if (!entryByText.has(token)) problems.push(`law 7: the run ended as ${status}, and its output ${token} is lost`)
  }
  return problems
}

function answeredBy(chunk: Entry['chunk']): string | undefined {
  switch (chunk.type) {
    case 'interrupt-response':
      return chunk.interruptId
    case 'tool-approval-response':
      return chunk.approvalId
    case 'tool-output-available':
      return chunk.toolCallId
    default:
      return undefined
  }
}

/** Differences between a log and the batches of a reader, and truncations without need (law 2). */
export async function problemsOfReader(store: LogStore, whole: WholeLog, reader: ReportedReader): Promise<string[]> {
  const { name, streamId, segments, current } = reader
  const problems = [...reader.problems]
  const log = whole.batches.flatMap(({ entries }) => entries)
  const texts = log.map(entry => JSON.stringify(entry))
  for (const segment of segments) {
    problems.push(...problemsOfSegment(name, segment, texts))
    if (segment.truncated === undefined || segment.sequence === 0) continue
    const proof = await store.read(streamId, decodeCursor(segment.cursor), NOTHING)
    if (proof?.truncated === null)
      problems.push(
        `law 2: ${name} was truncated as ${segment.truncated} at ${segment.cursor}, which the log still has`,
      )
  }
  if (current.sequence !== whole.head.head)
    problems.push(`law 2: ${name} ends at ${current.sequence}, the log at ${whole.head.head}`)
  return problems
}

function problemsOfSegment(name: string, { entries, truncated }: ReadSegment, log: readonly string[]): string[] {
  const problems: string[] = []
  let differing: number | undefined
  for (const entry of entries) {
    const isSame = log[entry.sequence - 1] === JSON.stringify(entry)
    if (isSame && differing !== undefined)
      problems.push(`law 2: ${name} got ${entry.sequence} of the log after ${differing}, which is not of the log`)
    if (!isSame) differing ??= entry.sequence
    if (problems.length > 0) break
  }
  if (differing !== undefined && truncated === undefined) {
    const actual = JSON.stringify(entries.find(({ sequence }) => sequence === differing))
    problems.push(`law 2: ${name} got ${actual}, the log has ${log[differing - 1]}`)
  }
  return problems
}

/** Blobs of a log that are missing. */
export async function problemsOfBlobs(store: LogStore, streamId: string, { batches }: WholeLog): Promise<string[]> {
  const problems: string[] = []
  for (const { sequence, blobs = {}, chunk } of batches.flatMap(({ entries }) => entries)) {
    for (const { hash, bytes } of Object.values(blobs)) {
      const data = await store.getBlob(streamId, hash)
      const [token] = tokensIn(chunk)
      if (data?.byteLength !== bytes)
        problems.push(`law 6: the blob of ${sequence} has ${data?.byteLength} of ${bytes} bytes`)
      else if (
        !Buffer.from(data)
          .toString()
          .includes(`${token?.text.slice(1, -1)} `)
      )
        problems.push(`law 6: the blob of ${sequence} belongs to another entry`)
    }
  }
  return problems
}
