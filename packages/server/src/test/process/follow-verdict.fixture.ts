// Compares what followers received with the log: every public entry once, and nothing else.

import { isDeepStrictEqual } from 'node:util'
import { type Entry, foldLog, isData, isDraftChunk, isGuest, type View } from '@millrace/protocol'
import { asJson, differenceOf } from '../../../../../scripts/faults/sessions/difference.fixture.ts'
import type { Follower, FollowHarness } from './follow-harness.fixture.ts'
import type { RunReader } from './follower.fixture.ts'
import type { Applied, SessionReplica } from './session-replica.fixture.ts'

/** A log, read from the store at the end of a schedule. */
export interface StoredLog {
  readonly sessionId: string
  readonly head: number
  readonly incarnation: string
  /** Internal entries too. */
  readonly entries: readonly Entry[]
}

/** Reads a log from the store. */
export async function readStoredLog({ server }: FollowHarness, sessionId: string): Promise<StoredLog> {
  const info = await server.manager.getInfo(sessionId)
  if (info === null) return { sessionId, head: 0, incarnation: '', entries: [] }
  const { head, incarnation } = info
  return { sessionId, head, incarnation, entries: await server.manager.entries(sessionId, 0, head) }
}

/** All problems. Empty if the schedule passed. */
export function verdict({ followers, runReaders }: FollowHarness, logs: readonly StoredLog[]): string[] {
  const problems: string[] = []
  for (const log of logs) {
    const publicEntries = log.entries.filter(({ internal }) => !internal)
    const expected = asJson({ ...foldLog(publicEntries).view(), head: log.head })
    const retracted = retractedSequences(log.entries)
    problems.push(...endProblems(log))
    for (const follower of followers) {
      const replica = follower.replicas.find(({ sessionId }) => sessionId === log.sessionId) as SessionReplica
      const found = [
        ...coverageProblems(replica, log),
        ...replica.applied.flatMap(frameProblems(publicEntries, retracted, follower)),
      ]
      const view = asJson(replica.view)
      for (const name of Object.keys({ ...view, ...expected }) as (keyof View)[]) {
        const difference = differenceOf(view[name], expected[name], name)
        if (difference) found.push(`its view differs: ${difference}`)
      }
      problems.push(...found.map(problem => `${follower.name}, ${log.sessionId}: ${problem}`), ...replica.problems)
    }
    // A deleted log can no longer be compared.
    const logReaders = runReaders.filter(reader => reader.incarnation === log.incarnation)
    problems.push(...logReaders.flatMap(reader => runProblems(reader, publicEntries, retracted)))
  }
  for (const { readers } of followers) for (const reader of readers) problems.push(...reader.problems)
  for (const reader of runReaders) problems.push(...reader.problems)
  return problems
}

/** Law 2: the applied pieces reach from the beginning to the head, each from where the one before it ended. */
function coverageProblems(
  { applied, position, incarnation }: SessionReplica,
  { head, incarnation: logIncarnation }: StoredLog,
): string[] {
  const problems: string[] = []
  let at = 0
  for (const piece of applied) {
    if (piece.kind === 'frame' && piece.after !== at)
      problems.push(`(${piece.after}, ${piece.sequence}] was received at position ${at}`)
    if (piece.sequence < at) problems.push(`the position went back from ${at} to ${piece.sequence}`)
    at = piece.sequence
  }
  if (position !== head || at !== head) problems.push(`the follower is at ${position}, the log at ${head}`)
  if (incarnation !== logIncarnation) problems.push('the follower has another incarnation of the log')
  return problems
}

/** Sequences that a discard or a rewind took back. Late followers need not receive them. */
function retractedSequences(entries: readonly Entry[]): ReadonlySet<number> {
  const retracted = new Set<number>()
  const drafts = new Map<string, number[]>()
  for (const [index, { sequence, origin, chunk }] of entries.entries()) {
    if (isGuest(origin)) continue
    const lane = `${origin.runId} ${origin.lane}`
    if (isDraftChunk(chunk)) drafts.set(lane, [...(drafts.get(lane) ?? []), sequence])
    else if (chunk.type === 'checkpoint-created') drafts.delete(lane)
    else if (chunk.type === 'step-discarded') {
      for (const draft of drafts.get(lane) ?? []) retracted.add(draft)
      retracted.add(sequence)
      drafts.delete(lane)
    } else if (chunk.type === 'rewind') {
      for (const cut of entries.slice(0, index + 1)) if (cut.sequence > chunk.toSequence) retracted.add(cut.sequence)
    }
  }
  return retracted
}

/** Law 2: a frame holds all public entries of its range, deltas perhaps merged, and nothing else. */
function frameProblems(publicEntries: readonly Entry[], retracted: ReadonlySet<number>, follower?: Follower) {
  return (applied: Applied): string[] => {
    if (applied.kind === 'snapshot') return []
    const { after, sequence } = applied
    const left = publicEntries.filter(entry => entry.sequence > after && entry.sequence <= sequence)
    const problems: string[] = []
    for (const entry of applied.entries) {
      const count = accountFor(entry, left)
      if (count === 0)
        problems.push(
          `(${after}, ${sequence}]: ${entry.sequence} (${entry.chunk.type}) differs from the log, or is not in it`,
        )
      if (count > 1 && follower?.followerSettings.merge === false)
        problems.push(`(${after}, ${sequence}]: ${entry.sequence} is merged`)
    }
    for (const entry of left) {
      const isTransient = isData(entry.chunk) && entry.chunk.transient
      if (retracted.has(entry.sequence) || isTransient) continue
      problems.push(`(${after}, ${sequence}] misses ${entry.sequence} (${entry.chunk.type})`)
    }
    return problems
  }
}

/** Removes from `left` the log entries that an entry of a frame represents. Returns their number. */
function accountFor(entry: Entry, left: Entry[]): number {
  const first = left.findIndex(({ sequence }) => sequence === entry.sequence)
  const firstLeft = left[first]
  if (firstLeft === undefined) return 0
  if (isDeepStrictEqual(asJson(firstLeft), asJson(entry))) {
    left.splice(first, 1)
    return 1
  }
  let merged = ''
  const found: Entry[] = []
  for (const other of left.slice(first)) {
    if (!isDeepStrictEqual(asJson(other.origin), asJson(firstLeft.origin)) || !('delta' in other.chunk)) continue
    if (!isDeepStrictEqual(asJson({ ...other.chunk, delta: '' }), asJson({ ...firstLeft.chunk, delta: '' }))) continue
    merged += other.chunk.delta
    found.push(other)
    if (!isDeepStrictEqual(asJson({ ...firstLeft, chunk: { ...firstLeft.chunk, delta: merged } }), asJson(entry)))
      continue
    for (const each of found) left.splice(left.indexOf(each), 1)
    return found.length
  }
  return 0
}

/** Law 7: each run has one end, and nothing of it follows. */
function endProblems({ sessionId, entries }: StoredLog): string[] {
  const ends = new Map<string, number>()
  const problems: string[] = []
  for (const { sequence, origin, chunk } of entries) {
    const { runId } = origin
    if (runId === undefined || isGuest(origin)) continue
    if (ends.has(runId))
      problems.push(`${sessionId}: ${sequence} (${chunk.type}) was written after the end of ${runId}`)
    if (chunk.type === 'run-finished') ends.set(runId, sequence)
  }
  for (const { chunk, origin } of entries) {
    if (chunk.type === 'run-started' && !ends.has(origin.runId ?? '')) problems.push(`${origin.runId} has no end`)
  }
  return problems
}

/** A follower of one run receives all of it, and its end when it has ended. */
function runProblems(reader: RunReader, publicEntries: readonly Entry[], retracted: ReadonlySet<number>): string[] {
  const { runId, applied, end, isLost } = reader
  const runEntries = publicEntries.filter(({ origin }) => origin.runId === runId)
  // Its log was deleted, or it never began.
  if (isLost)
    return runEntries.some(({ chunk }) => chunk.type === 'run-started') ? [`${runId} alone: was given up`] : []
  const problems = applied.flatMap(frameProblems(runEntries, retracted))
  const finished = runEntries.findLast(({ chunk }) => chunk.type === 'run-finished')
  if (finished?.chunk.type !== 'run-finished') return [...problems, 'has no end in the log']
  if (end?.status !== finished.chunk.status) problems.push(`ended as ${end?.status}, not ${finished.chunk.status}`)
  if (end?.sequence !== finished.sequence) problems.push(`ended at ${end?.sequence}, not ${finished.sequence}`)
  const first = applied[0]?.after ?? 0
  const missed = runEntries.filter(({ sequence, origin }) => sequence <= first && !isGuest(origin))
  if (missed.length > 0) problems.push(`begins after ${first}, and misses ${missed.length}`)
  if (applied.at(-1)?.sequence !== finished.sequence) problems.push(`reaches to ${applied.at(-1)?.sequence}`)
  return problems.map(problem => `${runId} alone: ${problem}`)
}
