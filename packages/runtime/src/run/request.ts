// What asks for a run: the request, and where it cuts or goes on from, told from the session as it is.

import { randomUUID } from 'node:crypto'
import type { Refusal, StreamManager } from '@millrace/log'
import {
  type Chunk,
  type Content,
  type Input,
  isCheckpointCreated,
  isRunRequested,
  type Json,
  type Run,
  type View,
} from '@millrace/protocol'
import type { ErrorCode } from '../error/code.ts'
import { RunError } from '../error/error.ts'

export type RequestChunk = Extract<Chunk, { type: 'run-requested' }>

/** What a person says: text, or a message of parts. */
export type UserInput = string | { readonly parts: readonly Content[]; readonly metadata?: Input['metadata'] }

/** The message that a person's input becomes. */
export function messageOf(input: UserInput, messageId: string = randomUUID()): Input {
  if (typeof input === 'string') return { messageId, role: 'user', parts: [{ type: 'text', text: input }] }
  const { parts, metadata } = input
  return { messageId, role: 'user', parts: [...parts], ...(metadata && { metadata }) }
}

/** How an interrupted run goes on. */
export type ResumeOptions =
  | { readonly mode?: 'continue' }
  | { readonly mode: 'with-message'; readonly input: UserInput; readonly messageId?: string }
  | { readonly mode: 'with-confirmation'; readonly approved: boolean; readonly reason?: string }
  | { readonly mode: 'from-checkpoint'; readonly checkpointId: string }

/** The run of that id, which must be there. */
export function runOf(view: View, runId: string): Run {
  const run = view.runs.find(other => other.runId === runId)
  if (run) return run
  throw new RunError('run_unknown', `there is no run ${runId} in the session`)
}

/** The request that resumes an interrupted run. */
export async function resumption(
  manager: StreamManager,
  sessionId: string,
  run: Run,
  options: ResumeOptions,
): Promise<Omit<RequestChunk, 'type' | 'runId'>> {
  const { runId, program = '' } = run
  if (run.status === 'running' || run.status === 'paused') {
    throw new RunError('run_busy', `run ${runId} is ${run.status}: stop it first, or answer what it waits for`)
  }
  const { mode = 'continue' } = options
  const wanted = options.mode === 'from-checkpoint' ? options.checkpointId : run.checkpointId
  const checkpoint = wanted === undefined ? undefined : await findCheckpoint(manager, sessionId, run, wanted)
  const resume = {
    runId,
    mode,
    ...(checkpoint && { fromCheckpointId: wanted as string, fromStepCount: checkpoint.stepCount }),
  }
  switch (options.mode) {
    case 'from-checkpoint':
      if (checkpoint === undefined) {
        throw new RunError('run_cut_refused', `run ${runId} has no checkpoint ${options.checkpointId}`)
      }
      return { program, resume, ...(await cutAt(manager, sessionId, checkpoint.sequence, 'from-checkpoint')) }
    case 'with-message':
      mustBeInterrupted(run)
      return { program, resume, message: messageOf(options.input, options.messageId) }
    case 'with-confirmation':
      mustBeInterrupted(run)
      return { program, resume, message: confirmation(options.approved, options.reason) }
    default:
      mustBeInterrupted(run)
      return { program, resume }
  }
}

function mustBeInterrupted({ runId, status }: Run): void {
  if (status === 'interrupted') return
  throw new RunError(
    'run_ended',
    `run ${runId} is ${status}: only an interrupted run can be resumed, retry it or start another`,
  )
}

function confirmation(approved: boolean, reason: string | undefined): Input {
  const said = approved ? 'I confirm: go on.' : 'I do not confirm.'
  const message = messageOf(reason ? `${said} ${reason}` : said)
  return { ...message, metadata: { confirmation: { approved, ...(reason !== undefined && { reason }) } } }
}

/** Where a checkpoint of a run lies, and after which step. */
async function findCheckpoint(
  manager: StreamManager,
  sessionId: string,
  { runId, at }: Run,
  checkpointId: string,
): Promise<{ sequence: number; stepCount: number } | undefined> {
  const info = await manager.getInfo(sessionId)
  const entries = await manager.entries(sessionId, at, info?.head ?? at)
  const found = entries.find(
    ({ chunk, origin }) => origin.runId === runId && isCheckpointCreated(chunk) && chunk.checkpointId === checkpointId,
  )
  return found && { sequence: found.sequence, stepCount: (found.chunk as { stepCount?: number }).stepCount ?? 0 }
}

/** A cut at a sequence; none where nothing lies after it. */
async function cutAt(manager: StreamManager, sessionId: string, toSequence: number, reason: string) {
  const info = await manager.getInfo(sessionId)
  return info !== null && info.head > toSequence ? { cut: { toSequence, reason } } : {}
}

/** The request that does a turn again, from before its start, with the same message. */
export function repetition(view: View, run: Run): Omit<RequestChunk, 'type' | 'runId'> {
  const asked = view.requests.find(request => request.runId === run.runId)
  const { message, data } = asked ?? {}
  return {
    program: run.program ?? '',
    cut: { toSequence: run.at - 1, reason: 'retry' },
    ...(message && { message }),
    ...(data !== undefined && { data }),
  }
}

/** The request that replaces a person's message, and all that came of it. */
export function revision(
  view: View,
  messageId: string,
  input: UserInput,
  newId?: string,
): Omit<RequestChunk, 'type' | 'runId'> {
  const asked = view.requests.findLast(
    ({ message, status }) => message?.messageId === messageId && status === 'started',
  )
  if (asked === undefined)
    throw new RunError('run_unknown', `no run of the session began with the message ${messageId}`)
  const run = runOf(view, asked.runId)
  return {
    program: run.program ?? asked.program,
    cut: { toSequence: run.at - 1, reason: 'edit' },
    message: messageOf(input, newId),
    ...(asked.data !== undefined && { data: asked.data }),
  }
}

/** The context that came with the request of a run. */
export async function contextOfRequest(
  manager: StreamManager,
  sessionId: string,
  view: View,
  runId: string,
): Promise<Json | undefined> {
  const asked = view.requests.find(request => request.runId === runId)
  if (asked === undefined) return undefined
  const entries = await manager.entries(sessionId, asked.at - 1, asked.at + 1).catch(() => [])
  const at = entries.findIndex(({ chunk }) => isRunRequested(chunk))
  const next = entries[at + 1]
  if (next?.chunk.type !== 'run-context') return undefined
  const { chunk } = await manager.resolve(sessionId, next)
  return (chunk as Extract<Chunk, { type: 'run-context' }>).context
}

const WHY: Partial<Record<Refusal, readonly [ErrorCode, string]>> = {
  busy: ['run_busy', 'another run is open or asked for: wait, or say whenBusy'],
  full: ['run_queue_full', 'too many requests wait in the session'],
  'already-settled': ['run_ended', 'a run of that id was there before: choose another id'],
  ended: ['run_ended', 'it has ended already'],
  gone: ['run_cut_refused', 'the session cannot be taken back to there'],
  'cut-waiting': ['run_busy', 'another cut of the session waits already'],
}

/** A refusal of the log, as what a caller is told. */
export function refusalOf(reason: Refusal, runId: string): RunError {
  const [code, why] = WHY[reason] ?? ['internal_error', `the log refused it: ${reason}`]
  return new RunError(code, `run ${runId}: ${why}`, { retryable: code === 'run_busy' || code === 'run_queue_full' })
}
