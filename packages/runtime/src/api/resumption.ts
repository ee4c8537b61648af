// Resumes an interrupted run by a new run that refers to it and to a checkpoint.

import type { StreamManager, Ticket } from '@millrace/log'
import { type Input, isCheckpointCreated, isGuest, type Run, type View } from '@millrace/protocol'
import { RunError } from '../error/error.ts'
import {
  checkNewMessageId,
  checkVisible,
  messageOf,
  type RunSpec,
  requestFor,
  rewindingRun,
  runOf,
  type UserInput,
} from './request.ts'

/**
 * How to resume an interrupted run. A message or a confirmation becomes part of the conversation. Nodes of a workflow
 * do not get it: they continue with their own input.
 */
export type ResumeOptions =
  | {
      /** Continues after the committed content. @default 'continue' */
      readonly mode?: 'continue'
    }
  | {
      /** Continues with another message of the user. */
      readonly mode: 'with-message'
      readonly input: UserInput
      /** Id of the message. @default a random UUID */
      readonly messageId?: string
    }
  | {
      /** Continues with a decision of the user. For a paused run, it answers all approvals. */
      readonly mode: 'with-confirmation'
      readonly approved: boolean
      /** Reason for the decision. @default none */
      readonly reason?: string
    }
  | {
      /** Rewinds the session to a checkpoint of an ended run, and continues from there. */
      readonly mode: 'from-checkpoint'
      readonly checkpointId: string
    }

/** A session as it was read for a decision. */
export interface ObservedSession {
  readonly view: View
  readonly ticket: Ticket
  /** The last trimmed sequence. */
  readonly floor: number
}

/**
 * The run that a request resumes: the one with this id, or else the run of the checkpoint, or the latest.
 * @throws {RunError} `run_unknown` or `run_cut_refused` if there is none.
 */
export async function runToResume(
  manager: StreamManager,
  sessionId: string,
  { view, floor }: ObservedSession,
  runId: string | undefined,
  options: ResumeOptions,
): Promise<Run> {
  if (runId !== undefined) return runOf(view, runId)
  if (options.mode === 'from-checkpoint') return runOfCheckpoint(manager, sessionId, view, floor, options.checkpointId)
  const latest = view.runs.at(-1)
  if (latest) return latest
  throw new RunError('run_unknown', `session ${sessionId} has no run to resume: start a run first`)
}

/** Number of log entries that are read at once. */
const PAGE_ENTRIES = 2000

/** The run that made a checkpoint on its main lane. Of several, a visible one counts, and then the latest. */
async function runOfCheckpoint(
  manager: StreamManager,
  sessionId: string,
  view: View,
  floor: number,
  checkpointId: string,
): Promise<Run> {
  const mainLanes = new Map<string, string>()
  const found = new Set<string>()
  for (let at = floor; at < view.head; at += PAGE_ENTRIES) {
    for (const { chunk, origin } of await manager.entries(sessionId, at, Math.min(at + PAGE_ENTRIES, view.head))) {
      if (isGuest(origin) || origin.agentId !== origin.runId) continue
      const { runId, lane } = origin
      if (chunk.type === 'run-started') mainLanes.set(runId, lane)
      else if (isCheckpointCreated(chunk) && chunk.checkpointId === checkpointId && isMain(lane, mainLanes.get(runId)))
        found.add(runId)
    }
  }
  const runs = view.runs.filter(({ runId }) => found.has(runId))
  const run = runs.findLast(other => rewindingRun(view, other) === undefined) ?? runs.at(-1)
  if (run) return run
  const why = floor > 0 ? 'it was never made, or was trimmed' : 'it was never made'
  throw new RunError(
    'run_cut_refused',
    `checkpoint ${checkpointId}: no run of the session has it on its main lane: ${why}`,
  )
}

/** Whether a lane is the main lane of its run. If the start was trimmed, the name tells: nested lanes have a slash. */
const isMain = (lane: string, mainLane: string | undefined): boolean =>
  mainLane === undefined ? !lane.includes('/') : lane === mainLane

/**
 * The request that resumes a run.
 * @throws {RunError} `run_busy`, `run_not_resumable` or `run_cut_refused` if the run cannot be resumed.
 */
export async function resumeSpec(
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
  checkVisible(view, run)
  // The position of a workflow is only in its entries.
  if (program.startsWith('workflow:') && floor >= run.at) {
    throw new RunError('run_not_resumable', `run ${runId} was trimmed and cannot be continued: start another run`)
  }
  const { mode = 'continue' } = options
  if (options.mode !== 'from-checkpoint') checkResumable(view, ticket, run, options.whenBusy)
  const wantedId = options.mode === 'from-checkpoint' ? options.checkpointId : undefined
  const from = await findCheckpoint(manager, sessionId, run, floor, wantedId)
  const checkpointId = from?.checkpointId ?? run.checkpointId
  const resume = {
    runId,
    mode,
    ...(checkpointId !== undefined && { fromCheckpointId: checkpointId }),
    // A run without a commit starts from the beginning.
    ...((from || checkpointId === undefined) && { fromStepCount: from?.stepCount ?? 0 }),
  }
  const data = requestFor(view, runId)?.data
  const spec: RunSpec = { program, resume, ...(data !== undefined && { data }) }
  switch (options.mode) {
    case 'from-checkpoint': {
      if (from === undefined) {
        const why = floor < run.at ? 'has no such checkpoint on its main lane' : 'was trimmed with its checkpoints'
        throw new RunError('run_cut_refused', `checkpoint ${wantedId}: run ${runId} ${why}`)
      }
      // If nothing follows the checkpoint, there is nothing to rewind (law 3).
      const isLast = !from.isFollowed && view.runs.at(-1)?.runId === runId
      return { ...spec, ...(!isLast && { cut: { toSequence: from.sequence, reason: 'from-checkpoint' } }) }
    }
    case 'with-message': {
      const message = messageOf(options.input, options.messageId)
      checkNewMessageId(view, message.messageId)
      return { ...spec, message }
    }
    case 'with-confirmation':
      return { ...spec, message: confirmationMessage(options.approved, options.reason) }
    default:
      return spec
  }
}

/** @throws {RunError} if the run was not interrupted, or if another run follows it. */
function checkResumable(view: View, ticket: Ticket, { runId, status }: Run, whenBusy: string | undefined): void {
  if (status !== 'interrupted') {
    const problem = `run ${runId} is ${status}: only an interrupted run can be resumed`
    throw new RunError('run_not_resumable', `${problem}: retry it, or resume it from a checkpoint`)
  }
  const latest = view.runs.at(-1)?.runId
  if (latest !== runId) {
    throw new RunError('run_not_resumable', `run ${runId} cannot be resumed: run ${latest} follows it`)
  }
  const [waiting] = ticket.requests
  if (waiting && whenBusy === 'queue') {
    throw new RunError('run_busy', `run ${runId} cannot be resumed: run ${waiting.runId} was requested first`, {
      retryable: true,
    })
  }
}

function confirmationMessage(approved: boolean, reason: string | undefined): Input {
  const decision = approved ? 'I confirm: go on.' : 'I do not confirm.'
  const message = messageOf(reason ? `${decision} ${reason}` : decision)
  return { ...message, metadata: { confirmation: { approved, ...(reason !== undefined && { reason }) } } }
}

interface Checkpoint {
  readonly checkpointId: string
  readonly sequence: number
  readonly stepCount: number
  /** Whether the run wrote something after it, other than its end. */
  isFollowed: boolean
}

/** Chunks of a run's end. A rewind may remove them. */
const END_CHUNK_TYPES = new Set(['stop-requested', 'finish', 'abort', 'error', 'run-finished'])

/** A checkpoint of the main lane of an ended run, by id, or the last one. */
async function findCheckpoint(
  manager: StreamManager,
  sessionId: string,
  { runId, at }: Run,
  floor: number,
  wantedId: string | undefined,
): Promise<Checkpoint | undefined> {
  let found: Checkpoint | undefined
  let mainLane: string | undefined
  const after = Math.max(at - 1, floor)
  const reader = await manager.createResumableReader(sessionId, { after, runId, includeDiscarded: true })
  for await (const { chunk, origin, sequence } of reader) {
    if (isGuest(origin)) continue
    // The batch of the start is on the main lane.
    if (chunk.type === 'run-started') mainLane = origin.lane
    const isOwn = origin.agentId === runId && isMain(origin.lane, mainLane)
    if (isCheckpointCreated(chunk) && isOwn && (wantedId === undefined || chunk.checkpointId === wantedId)) {
      const { checkpointId, stepCount = 0 } = chunk
      found = { checkpointId, sequence, stepCount, isFollowed: false }
    } else if (found && !END_CHUNK_TYPES.has(chunk.type)) found.isFollowed = true
  }
  return found
}
