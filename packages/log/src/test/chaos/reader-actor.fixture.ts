import { decodeCursor, type Entry, foldLog, type View } from '@millrace/protocol'
import type { ReadBatch } from '../../read/read-batch.ts'
import { LogError, StreamTruncatedError, TruncatedError } from '../../store/log-error.ts'
import { canonical, contentOf, contentOfView, retractedSequences } from './log-model.fixture.ts'
import type { LogRecord } from './log-record.fixture.ts'
import type { Actor } from './schedule-actor.fixture.ts'
import { excerptOf, same, type World } from './schedule-world.fixture.ts'

/**
 * Kind of reader: `whole` everything, `run` one run, `surviving` only surviving entries, `merged` everything with merged deltas, `thrown` with
 * an error on each cut, `entries` single entries to the end of the latest run.
 */
export type ReaderKind = 'whole' | 'run' | 'surviving' | 'merged' | 'thrown' | 'entries'

/** State of a reader that survives the death of its process. */
export class ReaderMemory {
  readonly kind: ReaderKind
  streamId: string
  cursor: string | undefined
  runId: string | undefined
  sequence = 0
  seen: Entry[] = []
  /** The head when it started or restarted. It must not see entries that were retracted before. */
  attachedAt = 0
  /** The start sequence, if not the beginning. */
  from = 0
  /** The incarnation of the log when it started. */
  incarnation: string | undefined

  constructor(kind: ReaderKind, streamId: string) {
    this.kind = kind
    this.streamId = streamId
  }

  forget(streamId = this.streamId): void {
    this.streamId = streamId
    this.cursor = this.runId = undefined
    this.sequence = this.from = 0
    this.seen = []
  }
}

/** Reads from its last position and compares each piece with the log. */
export async function readerActor(actor: Actor, memory: ReaderMemory): Promise<never> {
  const { random, world } = actor
  for (;;) {
    await actor.sleep(5, 50)
    if (world.logs.size === 0) continue
    if (memory.sequence === 0) memory.forget(random.pick([...world.logs.keys()]))
    await actor.attempt(() => read(actor, memory))
  }
}

async function read(actor: Actor, memory: ReaderMemory): Promise<void> {
  const { world, random } = actor
  const { kind, streamId, cursor } = memory
  const log = world.logs.get(streamId)
  if (cursor === undefined) {
    if (kind === 'run') memory.runId = random.pick([...(log?.laws.started.keys() ?? [])])
    // A new reader knows a trimmed log only by its floor.
    memory.from = memory.sequence = log?.floor ?? 0
  }
  actor.recordAction(`read ${kind} ${memory.runId ?? ''} of ${streamId} after ${cursor ?? memory.from}`)
  memory.attachedAt = log?.head ?? 0
  memory.incarnation = log?.incarnation
  try {
    await (kind === 'entries' ? readEntries(actor, memory) : readPieces(actor, memory))
  } catch (error) {
    if (!(error instanceof LogError) || error.code !== 'truncated') throw error
    checkLostPosition(world, memory, error)
  }
}

/** Reads single entries until the latest run has ended. */
async function readEntries(actor: Actor, memory: ReaderMemory): Promise<void> {
  const { manager, world, random } = actor
  const { streamId, cursor } = memory
  const options = { after: cursor ?? memory.from, includeDiscarded: true, internal: true }
  for await (const { cursor, ...entry } of await manager.createResumableReader(streamId, options)) {
    const { sequence } = entry
    const piece = { after: memory.sequence, sequence, cursor, entries: [entry], isCaughtUp: false, replayEnd: 0 }
    checkPiece(world, memory, piece)
    if (random.chance(0.02)) return
  }
  memory.forget()
}

async function readPieces(actor: Actor, memory: ReaderMemory): Promise<void> {
  const { world, random, manager } = actor
  const { kind, streamId, cursor, runId } = memory
  const reader = manager.readBatches(streamId, {
    after: cursor ?? memory.from,
    follow: kind !== 'run',
    internal: kind === 'whole' || kind === 'merged',
    includeDiscarded: kind === 'whole' || kind === 'merged' || kind === 'run',
    merge: kind === 'merged',
    ...(kind === 'thrown' && { onRetraction: 'throw' }),
    ...(runId !== undefined && { runId }),
  })
  try {
    for (;;) {
      const batch = await reader.next()
      if (batch === undefined) break
      actor.recordAction(`piece ${batch.after}-${batch.sequence}`)
      checkPiece(world, memory, batch)
      // Sometimes stops, and starts again with its cursor or as a new reader.
      if (random.chance(0.1)) return
      if (random.chance(0.05)) {
        memory.forget()
        return
      }
      if (random.chance(0.2)) await actor.sleep(1, 100)
    }
  } finally {
    reader.close()
  }
  checkEnd(world, memory)
  memory.forget()
}

/** The log of a cursor. */
function logOf(world: World, streamId: string, cursor: string): LogRecord | undefined {
  const { incarnation } = decodeCursor(cursor)
  return world.logsOf(streamId).find(({ incarnations }) => incarnations.includes(incarnation as string))
}

function checkPiece(world: World, memory: ReaderMemory, batch: ReadBatch): void {
  const { kind, streamId } = memory
  const { after, sequence, cursor, entries } = batch
  const where = `${kind} reader of ${streamId}, ${after} to ${sequence}`
  world.check(after === memory.sequence, 'law 2', () => `${where}: the piece before it ended at ${memory.sequence}`)
  const before = memory.cursor === undefined ? undefined : decodeCursor(memory.cursor).incarnation
  const isSame = before === undefined || before === decodeCursor(cursor).incarnation
  world.check(isSame, 'law 2', () => `${where}: its cursor was ${memory.cursor}, and is now of another log: ${cursor}`)
  const log = logOf(world, streamId, cursor)
  if (log === undefined) {
    world.violate('law 2', `${where}: ${cursor} is of no log`)
    return
  }
  const mark = decodeCursor(cursor).epoch
  world.check(mark === log.markAt(sequence), 'law 2', () => `${where}: the cursor has the mark ${mark}`)
  const all = log.entries.slice(after, sequence)
  if (kind === 'whole' || kind === 'run' || kind === 'entries') {
    // Transient entries need not reach later readers.
    const persistent = (list: readonly Entry[]) => list.filter(({ chunk }) => !('transient' in chunk))
    const [actual, expected] = [persistent(entries), persistent(all.filter(entry => isVisible(memory, entry)))]
    world.check(
      same(actual, expected),
      'law 2',
      () => `${where}: got ${excerptOf(actual)}, the log holds ${excerptOf(expected)}`,
    )
  }
  for (const entry of entries) {
    const isStored =
      kind === 'merged' ||
      same(
        entry,
        all.find(({ sequence }) => sequence === entry.sequence),
      )
    world.check(isStored, 'law 2', () => `${where}: got ${excerptOf(entry)}, which the log does not hold`)
  }
  if (kind === 'surviving') checkLateReader(world, memory, log, entries)
  memory.cursor = cursor
  memory.sequence = sequence
  memory.seen.push(...entries)
}

/** Whether a reader sees an entry that was not retracted. */
function isVisible({ kind, runId }: ReaderMemory, { internal, origin }: Entry): boolean {
  if (kind === 'whole' || kind === 'merged' || kind === 'entries') return true
  return !internal && (runId === undefined || origin.runId === runId)
}

/** A late reader sees only the entries that survived until its start. */
function checkLateReader(
  world: World,
  { attachedAt, sequence: from, streamId }: ReaderMemory,
  log: LogRecord,
  entries: readonly Entry[],
): void {
  const past = log.entries.slice(0, attachedAt)
  const retracted = retractedSequences(past)
  for (const { sequence, chunk, origin } of entries) {
    // Requests stay visible, and so do the end and the error of a run with remaining entries.
    const isRequest = origin.guest !== undefined && /^(run|stop)-requested/.test(chunk.type)
    const startedAt = log.laws.started.get(origin.runId ?? '') ?? 0
    const isExempt = isRequest || (/^(run-finished|error)$/.test(chunk.type) && !retracted.has(startedAt))
    const isRetraction = chunk.type === 'rewind' || chunk.type === 'step-discarded'
    const isWrong = sequence <= attachedAt && retracted.has(sequence) && !isExempt && !isRetraction
    world.check(!isWrong, 'law 3', () => {
      return `a reader that started on ${streamId} at head ${attachedAt}, after ${from}, sees ${sequence}, which was retracted`
    })
  }
}

/** A position is lost only with a provable reason (law 2). */
function checkLostPosition(world: World, memory: ReaderMemory, error: LogError): void {
  const { streamId, cursor, kind } = memory
  const log = world.logs.get(streamId)
  world.scheduler.count('truncated')
  if (error instanceof StreamTruncatedError) {
    const chunk =
      logOf(world, streamId, cursor ?? '0')?.entries[error.atSequence - 1]?.chunk ??
      log?.entries[error.atSequence - 1]?.chunk
    const isRetraction = chunk?.type === 'rewind' || chunk?.type === 'step-discarded'
    world.check(
      kind === 'thrown' && isRetraction,
      'law 3',
      () => `got a cut at ${error.atSequence}, where ${excerptOf(chunk)} is`,
    )
  } else if (error instanceof TruncatedError) {
    const position = cursor === undefined ? { sequence: memory.from } : decodeCursor(cursor)
    // A reader that started on an empty log waits for entries of that log.
    const isOther = cursor === undefined && log?.incarnation !== memory.incarnation
    const isLost = log === undefined || isOther || !log.holds(position)
    world.check(
      isLost,
      'law 2',
      () => `the position ${cursor ?? memory.from} of ${streamId} is in the log, but the reader got ${error.reason}`,
    )
  }
  memory.forget()
}

/** A reader that got the end has read everything. */
function checkEnd(world: World, memory: ReaderMemory): void {
  const { kind, runId, streamId, cursor } = memory
  const log = cursor === undefined ? world.logs.get(streamId) : logOf(world, streamId, cursor)
  world.check(kind === 'run', 'law 2', () => `a ${kind} reader of ${streamId} ended, but it should follow`)
  if (kind !== 'run' || runId === undefined || log === undefined) return
  const end = log.laws.finished.get(runId)
  world.check(end !== undefined, 'law 7', () => `a reader of ${runId} ended, but the run has not`)
  const isAll = end === undefined || cursor === undefined || memory.sequence >= end
  world.check(isAll, 'law 2', () => `a reader of ${runId} ended at ${memory.sequence}, but the run ends at ${end}`)
}

/** The content from a reader's entries equals the content of the log up to its position. */
export function checkContent(world: World, memory: ReaderMemory, entries: readonly Entry[]): void {
  const { kind, streamId, seen, from } = memory
  if (from > 0 || kind === 'run') return
  const seenView = foldLog(seen).view()
  const naive = contentOf(entries)
  world.check(canonical(contentOfView(seenView)) === canonical(naive), 'law 2', () => {
    return `a ${kind} reader of ${streamId} shows ${excerptOf(contentOfView(seenView))}, the log ${excerptOf(naive)}`
  })
  const statuses = (view: View) => Object.fromEntries(view.messages.map(({ id, status }) => [id, status]))
  const [actual, expected] = [statuses(seenView), statuses(foldLog(entries).view())]
  world.check(
    same(actual, expected),
    'law 2',
    () => `a ${kind} reader of ${streamId} shows the statuses ${excerptOf(actual)}, expected ${excerptOf(expected)}`,
  )
}
