// What a run takes over that goes on from one that has ended. It is kept in the new run before anything of it is at work, so that this stands by itself: whoever
// takes it up need not know the old one.

import type { BatchItem, Lane } from '@millrace/log'
import { type Entry, Fold, isGuest, type Part, type StructuredDataChunk } from '@millrace/protocol'
import type { Session } from '../../session/session.ts'
import { Journal } from './journal.ts'
import { openOf, type WorkflowPosition } from './position.ts'
import { type HookRecord, type HookResult, recordIn, recordOf } from './record.ts'

/** Where a run goes on, and what it keeps of the one before: the state, and what the hooks of the open executions gave. */
export interface Inheritance {
  readonly position: WorkflowPosition
  readonly records: readonly HookRecord[]
}

type Shown = NonNullable<HookResult['shown']>

/** The runs from which a run goes on, one from the other, the first of them first. */
export function forebearsOf({ view }: Session, runId: string): readonly string[] {
  const resumes = new Map(view.requests.map(request => [request.runId, request.resume?.runId]))
  const runs: string[] = []
  for (let from = resumes.get(runId); from !== undefined; from = resumes.get(from)) runs.unshift(from)
  return runs
}

/**
 * What a run takes over from the one that it goes on from; nothing where there is none, or that had not begun either. It goes on where the other stood when it
 * ended, or at a checkpoint of it. What a person says when a run is resumed belongs to the conversation: no node is given it.
 */
export async function inheritanceOf(session: Session, runId: string): Promise<Inheritance | undefined> {
  const { resume } = session.view.requests.find(request => request.runId === runId) ?? {}
  if (resume === undefined) return undefined
  const past = await session.runEntries(resume.runId)
  const place = resume.mode === 'from-checkpoint' ? placeOf(past, resume.fromCheckpointId) : past.length
  const fold = new Fold()
  fold.apply(past.slice(0, place).filter(isRecord))
  const hooks = await session.wholeHooks(fold.view().internal?.hooks ?? [])
  const { position } = new Journal(hooks.map(recordIn), '')
  // One that was stopped before it had taken over everything stands where it would have gone on.
  if (position === undefined) return inheritanceOf(session, resume.runId)
  const rename = (shown: Shown) => renamed(shown, resume.runId, runId)
  const records = hooks.map(recordIn).flatMap(record => keptOf(session, record, position, rename))
  const isWhole = !past.slice(place).some(isRecord)
  return {
    // Where nothing is left behind, what was cut off is what is done again, and goes by the same name.
    position: isWhole ? { ...position, keys: position.keys ?? resume.runId } : without(position),
    records: [...records, ...wordsOf(records, position, past.slice(0, place), rename)],
  }
}

/** The batches that keep an inheritance, as few as fit: before the last of them, which says where the run stands, it has not begun. */
export function batchesOf(
  { records }: Inheritance,
  lane: Lane,
  last: readonly BatchItem[],
): readonly (readonly BatchItem[])[] {
  const said = records.map(record => recordOf(record, lane))
  return lane.fits([...said, ...last]) ? [[...said, ...last]] : [...halves(said, lane), last]
}

function halves(said: readonly BatchItem[], lane: Lane): readonly (readonly BatchItem[])[] {
  if (said.length < 2 || lane.fits(said)) return [said]
  const middle = said.length >> 1
  return [...halves(said.slice(0, middle), lane), ...halves(said.slice(middle), lane)]
}

const isRecord = ({ chunk }: Entry): boolean => chunk.type === 'hook-completed'

/** How many of the entries of a run lie before the end of a checkpoint of its main lane. */
const placeOf = (past: readonly Entry[], wanted: string | undefined): number =>
  past.findLastIndex(
    ({ chunk, origin }) =>
      chunk.type === 'checkpoint-created' && chunk.checkpointId === wanted && !isGuest(origin) && origin.lane === MAIN,
  ) + 1

const MAIN = 'main'

const without = ({ keys, ...position }: WorkflowPosition): WorkflowPosition => position

/** A record as the new run keeps it: of its state and of executions that are open, where they ended with the run too. */
function keptOf(
  session: Session,
  record: HookRecord,
  { line }: WorkflowPosition,
  rename: (shown: Shown) => Shown,
): readonly HookRecord[] {
  const [first] = record.hookId.split('/', 1)
  if (first !== 'state' && !openOf(line).some(({ execution }) => execution === first)) return []
  const { asked, shown, ...given } = record.given
  return [
    {
      ...record,
      given: {
        ...given,
        ...(asked && { asked: isAnswered(session, asked) ? asked : [] }),
        ...(shown && { shown: rename(shown) }),
      },
    },
  ]
}

/** Whether a question was answered that the hook asked last; one that was not is asked again, under a name of the new run. */
const isAnswered = (session: Session, asked: readonly string[]): boolean =>
  session.interrupt(asked.at(-1) ?? '')?.status === 'answered'

/** What was shown, by the names that it has in the new run: those of structured objects without a name begin with that of their run. */
function renamed(shown: Shown, from: string, runId: string): Shown {
  const all = Object.entries(shown).map(([place, count]) => [
    place.replace(`structured:${from}:`, `structured:${runId}:`),
    count,
  ])
  return Object.fromEntries(all) as Shown
}

/** What was said in the runs from which a run goes on, hidden words too, in the order in which it was. */
export function partsBefore(session: Session, runId: string): readonly Part[] {
  const runs = forebearsOf(session, runId)
  const messages = runs.flatMap(from => [session.message(from, from), session.internalMessage(from, from)])
  return messages.flatMap(message => message?.parts ?? []).sort((a, b) => a.at - b.at)
}

/**
 * What was shown after the last commit and kept because the run was asked to stop, counted as if it were committed: updates of structured objects, which would
 * be made twice. Pieces of texts cannot be told apart any more: they come again.
 */
function wordsOf(
  records: readonly HookRecord[],
  { line }: WorkflowPosition,
  past: readonly Entry[],
  rename: (shown: Shown) => Shown,
): readonly HookRecord[] {
  const drafts = new Map<string, StructuredDataChunk[]>()
  for (const { chunk, origin } of past) {
    if (isGuest(origin)) continue
    const place = `${origin.lane} ${origin.step}`
    if (chunk.type === 'structured-data') drafts.set(place, [...(drafts.get(place) ?? []), chunk])
    else if (chunk.type === 'checkpoint-created' || chunk.type === 'step-discarded') drafts.delete(place)
  }
  return openOf(line).flatMap(({ execution, step }) => {
    const words = [...drafts].flatMap(([place, chunks]) => (place.endsWith(` ${step}`) ? chunks : []))
    const grown = new Set(words.flatMap(({ kind, streamId }) => (kind === 'text-delta' ? [streamId] : [])))
    const left: Record<string, number> = {}
    for (const { streamId } of words) {
      const about = `structured:${streamId}`
      if (!grown.has(streamId)) left[about] = (left[about] ?? 0) + 1
    }
    const own = records.filter(({ hookId }) => hookId.startsWith(`${execution}/`))
    const counted = (about: string) => Math.max(0, ...own.map(({ given }) => given.shown?.[about] ?? 0))
    const all = Object.entries(rename(left)).map(([about, count]) => [about, counted(about) + count])
    const given = { shown: Object.fromEntries(all) as Shown }
    return all.length > 0 ? [{ hookId: `${execution}/words/left`, hook: 'words', given }] : []
  })
}
