// The start of a run that resumes another run, and the records that it copies. The copy is committed before any node runs, so that the new run never reads the
// old one again.

import type { BatchItem, Lane } from '@millrace/log'
import { type Entry, Fold, isGuest, type Part, type StructuredDataChunk, type WriterOrigin } from '@millrace/protocol'
import { DraftTracker, MAIN_LANE } from '@millrace/protocol/internal'
import type { Session } from '../../session/session.ts'
import { type HookRecord, type HookResult, hookRecordEntry, Journal, parseHookRecord } from './journal.ts'
import { openExecutions, type WorkflowPosition } from './position.ts'

/** The position of the resumed run, its state, and the hook results of its open executions. */
export interface ResumePoint {
  readonly position: WorkflowPosition
  readonly records: readonly HookRecord[]
}

type EmissionCounts = NonNullable<HookResult['shown']>

/** The chain of runs that a run resumes, the oldest first. */
export function resumedRunIds({ view }: Session, runId: string): readonly string[] {
  const resumes = new Map(view.requests.map(request => [request.runId, request.resume?.runId]))
  const runs: string[] = []
  for (let from = resumes.get(runId); from !== undefined; from = resumes.get(from)) runs.unshift(from)
  return runs
}

/**
 * The point where a run continues the run that it resumes: its end, or one of its checkpoints. Undefined if the run resumes none, or none that had started.
 * A message that is sent with the resumption belongs to the conversation; no node gets it as input.
 */
export async function readResumePoint(session: Session, runId: string): Promise<ResumePoint | undefined> {
  const { resume } = session.view.requests.find(request => request.runId === runId) ?? {}
  if (resume === undefined) return undefined
  const all = await session.runEntries(resume.runId)
  const count = resume.mode === 'from-checkpoint' ? countUntil(all, resume.fromCheckpointId) : all.length
  const entries = all.slice(0, count)
  const fold = new Fold()
  fold.apply(entries.filter(isRecord))
  const hooks = (await session.hooksWithLargeValues(fold.view().internal?.hooks ?? [])).map(parseHookRecord)
  const { position } = new Journal(hooks, '')
  // A run that stopped before it had copied everything has no position: continue where it would have.
  if (position === undefined) return readResumePoint(session, resume.runId)
  const rename = (counts: EmissionCounts) => renameStreams(counts, resume.runId, runId)
  const records = hooks.flatMap(record => copyRecord(session, record, position, rename))
  const isComplete = !all.slice(count).some(isRecord)
  return {
    // If no record is left behind, interrupted work is repeated under the same idempotency keys.
    position: isComplete ? { ...position, keys: position.keys ?? resume.runId } : withoutKeys(position),
    records: [...records, ...uncommittedEmissions(records, position, entries, rename)],
  }
}

/** Splits a resume point into as few batches as fit. The run has not started before the last one, which holds its position. */
export function resumeBatches(
  { records }: ResumePoint,
  lane: Lane,
  last: readonly BatchItem[],
): readonly (readonly BatchItem[])[] {
  const entries = records.map(record => hookRecordEntry(record, lane))
  return lane.fits([...entries, ...last]) ? [[...entries, ...last]] : [...fittingBatches(entries, lane), last]
}

/** Halves the entries until each batch fits. */
function fittingBatches(entries: readonly BatchItem[], lane: Lane): readonly (readonly BatchItem[])[] {
  if (entries.length < 2 || lane.fits(entries)) return [entries]
  const middle = entries.length >> 1
  return [...fittingBatches(entries.slice(0, middle), lane), ...fittingBatches(entries.slice(middle), lane)]
}

const isRecord = ({ chunk }: Entry): boolean => chunk.type === 'hook-completed'

/** The number of entries up to and including a checkpoint of the main lane. */
const countUntil = (entries: readonly Entry[], checkpointId: string | undefined): number =>
  entries.findLastIndex(
    ({ chunk, origin }) =>
      chunk.type === 'checkpoint-created' &&
      chunk.checkpointId === checkpointId &&
      !isGuest(origin) &&
      origin.lane === MAIN_LANE,
  ) + 1

const withoutKeys = ({ keys, ...position }: WorkflowPosition): WorkflowPosition => position

/** A record as the new run stores it: only records of the state and of open executions. */
function copyRecord(
  session: Session,
  record: HookRecord,
  { line }: WorkflowPosition,
  rename: (counts: EmissionCounts) => EmissionCounts,
): readonly HookRecord[] {
  const [first] = record.hookId.split('/', 1)
  if (first !== 'state' && !openExecutions(line).some(({ execution }) => execution === first)) return []
  const { asked, shown, ...result } = record.result
  return [
    {
      ...record,
      result: {
        ...result,
        ...(asked && { asked: isAnswered(session, asked) ? asked : [] }),
        ...(shown && { shown: rename(shown) }),
      },
    },
  ]
}

/** Whether the hook's last interrupt was answered. The new run creates an unanswered one again, with an id of its own. */
const isAnswered = (session: Session, questionIds: readonly string[]): boolean =>
  session.interrupt(questionIds.at(-1) ?? '')?.status === 'answered'

/** Emission counts with the stream ids of the new run: generated ids begin with the id of their run. */
function renameStreams(counts: EmissionCounts, from: string, runId: string): EmissionCounts {
  const renamed = Object.entries(counts).map(([subject, count]) => [
    subject.replace(`structured:${from}:`, `structured:${runId}:`),
    count,
  ])
  return Object.fromEntries(renamed) as EmissionCounts
}

/** The message parts of all resumed runs, internal ones too, in log order. */
export function resumedParts(session: Session, runId: string): readonly Part[] {
  const runs = resumedRunIds(session, runId)
  const messages = runs.flatMap(from => [session.message(from, from), session.internalMessage(from, from)])
  return messages.flatMap(message => message?.parts ?? []).sort((a, b) => a.at - b.at)
}

/**
 * Counts the structured updates that the old run wrote after its last commit and kept when it was stopped. Without these counts the new run would write them
 * twice. Text deltas are not counted, because they cannot be told apart: the new run writes them again.
 */
function uncommittedEmissions(
  records: readonly HookRecord[],
  { line }: WorkflowPosition,
  entries: readonly Entry[],
  rename: (counts: EmissionCounts) => EmissionCounts,
): readonly HookRecord[] {
  const drafts = new DraftTracker<StructuredDataChunk[], WriterOrigin>(() => [])
  for (const entry of entries) {
    const { chunk, origin } = entry
    // The end of the run keeps its drafts, but no record counts them.
    if (chunk.type === 'run-finished') continue
    drafts.apply(entry)
    if (chunk.type === 'structured-data' && !isGuest(origin)) drafts.get(origin)?.data.push(chunk)
  }
  return openExecutions(line).flatMap(({ execution, step }) => {
    const updates = drafts.drafts.flatMap(({ lane, data }) => (lane.step === step ? data : []))
    const withDeltas = new Set(updates.flatMap(({ kind, streamId }) => (kind === 'text-delta' ? [streamId] : [])))
    const counts: Record<string, number> = {}
    for (const { streamId } of updates) {
      const subject = `structured:${streamId}`
      if (!withDeltas.has(streamId)) counts[subject] = (counts[subject] ?? 0) + 1
    }
    const executionRecords = records.filter(({ hookId }) => hookId.startsWith(`${execution}/`))
    const committed = (subject: string) =>
      Math.max(0, ...executionRecords.map(({ result }) => result.shown?.[subject] ?? 0))
    const totals = Object.entries(rename(counts)).map(([subject, count]) => [subject, committed(subject) + count])
    const result = { shown: Object.fromEntries(totals) as EmissionCounts }
    return totals.length > 0 ? [{ hookId: `${execution}/words/left`, hook: 'words', result }] : []
  })
}
