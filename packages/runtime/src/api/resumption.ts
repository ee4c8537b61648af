// How an interrupted run goes on: by another, that names it and the checkpoint it goes on from.

import type { StreamManager, Ticket } from '@millrace/log'
import { type Input, isCheckpointCreated, isGuest, type Run, type View } from '@millrace/protocol'
import { RunError } from '../error/error.ts'
import { messageOf, mustBeNew, mustBeShown, type RunSpec, requestFor, type UserInput } from './request.ts'

/**
 * How an interrupted run goes on. A message or a confirmation belongs to the conversation: an agent reads it there, and of a workflow no node is given it, as what
 * its nodes were given is what they go on with.
 */
export type ResumeOptions =
  | { readonly mode?: 'continue' }
  | { readonly mode: 'with-message'; readonly input: UserInput; readonly messageId?: string }
  | { readonly mode: 'with-confirmation'; readonly approved: boolean; readonly reason?: string }
  | { readonly mode: 'from-checkpoint'; readonly checkpointId: string }

/** A session as it was when something was decided on it. */
export interface ObservedSession {
  readonly view: View
  readonly ticket: Ticket
  /** The last sequence that was trimmed. */
  readonly floor: number
}

/** The request that resumes a run. */
export async function resumption(
  manager: StreamManager,
  sessionId: string,
  run: Run,
  { view, ticket, floor }: ObservedSession,
  options: ResumeOptions & { readonly whenBusy?: string },
): Promise<RunSpec> {
  const { runId, program = '' } = run
  if (run.status === 'running' || run.status === 'paused') {
    throw new RunError('run_busy', `run ${runId} is ${run.status}: stop it first, or answer what it waits for`, {
      retryable: true,
    })
  }
  mustBeShown(view, run)
  // Where a workflow stood is told by its entries alone.
  if (program.startsWith('workflow:') && floor >= run.at) {
    throw new RunError('run_not_resumable', `run ${runId} was trimmed and cannot be continued: start another run`)
  }
  const { mode = 'continue' } = options
  if (options.mode !== 'from-checkpoint') mustBeNext(view, ticket, run, options.whenBusy)
  const wanted = options.mode === 'from-checkpoint' ? options.checkpointId : undefined
  const from = await findCheckpoint(manager, sessionId, run, floor, wanted)
  const checkpointId = from?.checkpointId ?? run.checkpointId
  const resume = {
    runId,
    mode,
    ...(checkpointId !== undefined && { fromCheckpointId: checkpointId }),
    // A run that was stopped before its first commit goes on from nothing.
    ...((from || checkpointId === undefined) && { fromStepCount: from?.stepCount ?? 0 }),
  }
  const data = requestFor(view, runId)?.data
  const asked: RunSpec = { program, resume, ...(data !== undefined && { data }) }
  switch (options.mode) {
    case 'from-checkpoint': {
      if (from === undefined) {
        const why =
          floor < run.at ? 'has no such checkpoint of its main lane' : 'is trimmed, and its checkpoints with it'
        throw new RunError('run_cut_refused', `checkpoint ${wanted}: run ${runId} ${why}`)
      }
      // Where nothing lies after it there is nothing to cut (law 3).
      const isLast = !from.isFollowed && view.runs.at(-1)?.runId === runId
      return { ...asked, ...(!isLast && { cut: { toSequence: from.sequence, reason: 'from-checkpoint' } }) }
    }
    case 'with-message': {
      const message = messageOf(options.input, options.messageId)
      mustBeNew(view, message.messageId)
      return { ...asked, message }
    }
    case 'with-confirmation':
      return { ...asked, message: confirmation(options.approved, options.reason) }
    default:
      return asked
  }
}

/** Only what was interrupted goes on, and only where nothing came after it: who decided on an older session is told. */
function mustBeNext(view: View, ticket: Ticket, { runId, status }: Run, whenBusy: string | undefined): void {
  if (status !== 'interrupted') {
    const what = `run ${runId} is ${status}, and only an interrupted run can be resumed`
    throw new RunError('run_not_resumable', `${what}: retry it, or resume it from a checkpoint`)
  }
  const next = view.runs.at(-1)?.runId
  if (next !== runId) {
    throw new RunError('run_not_resumable', `run ${runId} cannot be resumed: run ${next} came after it`)
  }
  const [waiting] = ticket.requests
  if (waiting && whenBusy === 'queue') {
    throw new RunError('run_busy', `run ${runId} cannot be resumed: run ${waiting.runId} is asked for and goes first`, {
      retryable: true,
    })
  }
}

function confirmation(approved: boolean, reason: string | undefined): Input {
  const said = approved ? 'I confirm: go on.' : 'I do not confirm.'
  const message = messageOf(reason ? `${said} ${reason}` : said)
  return { ...message, metadata: { confirmation: { approved, ...(reason !== undefined && { reason }) } } }
}

interface Checkpoint {
  readonly checkpointId: string
  readonly sequence: number
  readonly stepCount: number
  /** Whether the run said something after it, beside how it ended. */
  isFollowed: boolean
}

/** What says how a run ended, and takes nothing along when it is cut. */
const ENDS = new Set(['stop-requested', 'finish', 'abort', 'error', 'run-finished'])

/** A checkpoint of the main lane of a run that has ended, by its id; the last, if none is named. */
async function findCheckpoint(
  manager: StreamManager,
  sessionId: string,
  { runId, at }: Run,
  floor: number,
  wanted: string | undefined,
): Promise<Checkpoint | undefined> {
  let found: Checkpoint | undefined
  let main: string | undefined
  const after = Math.max(at - 1, floor)
  const reader = await manager.createResumableReader(sessionId, { after, runId, whole: true })
  for await (const { chunk, origin, sequence } of reader) {
    if (isGuest(origin)) continue
    // What follows its start in the batch is of its main lane too; of a run that is trimmed the id tells.
    if (chunk.type === 'run-started') main = origin.lane
    const isMain = origin.agentId === runId && (main === undefined ? !origin.lane.includes('/') : origin.lane === main)
    if (isCheckpointCreated(chunk) && isMain && (wanted === undefined || chunk.checkpointId === wanted)) {
      const { checkpointId, stepCount = 0 } = chunk
      found = { checkpointId, sequence, stepCount, isFollowed: false }
    } else if (found && !ENDS.has(chunk.type)) found.isFollowed = true
  }
  return found
}
