import { randomUUID } from 'node:crypto'
import type { GuestRefusalReason } from '@millrace/log/internal'
import type { Chunk, Content, Input, Run, RunRequest, View } from '@millrace/protocol'
import { checkChunk } from '@millrace/protocol/internal'
import { describeType } from '../error/check-object.ts'
import { RunError, ValidationError } from '../error/error.ts'
import type { ErrorCode } from '../error/error-codes.ts'

type RequestChunk = Extract<Chunk, { type: 'run-requested' }>

/** The content of a request, without its id and options. */
export type RunSpec = Pick<RequestChunk, 'program' | 'message' | 'cut' | 'resume' | 'data'>

/** A part of a user message. */
export type UserPart = Exclude<Content, { type: 'reasoning' }>

/** Input of a user: text, or a message with parts. */
export type UserInput = string | { readonly parts: readonly UserPart[]; readonly metadata?: Input['metadata'] }

/** Options of a request for a run. */
export interface RequestOptions {
  /** Id of the run. A second request with the same id returns the same run. @default a random UUID */
  readonly runId?: string
  /** Label of the requesting user, for the log. @default 'runtime' */
  readonly guest?: string
  /**
   * Expected owner of the session, or null for none, and the owner of a new session. A session of another owner counts
   * as missing.
   * @default not checked, and a new session has no owner
   */
  readonly principal?: string | null
  /**
   * What happens while another run is open: rejects the request, queues it, or interrupts the open run. Requests that
   * rewind the session always stop the open run.
   * @default 'reject'
   */
  readonly whenBusy?: 'reject' | 'queue' | 'interrupt-previous'
  /** Data of the client. Untrusted input. @default none; for retry and resume the data of the earlier run */
  readonly data?: RequestChunk['data']
  /**
   * Context of the server for the run: JSON without credentials. Readers never see it.
   * @default none; for retry, edit and resume the context of the earlier run
   */
  readonly context?: RequestChunk['data']
}

/** The message of a user's input. @throws {ValidationError} if it is malformed. */
export function messageOf(input: UserInput, messageId: string = randomUUID()): Input {
  if (typeof messageId !== 'string') {
    throw new ValidationError(`messageId: expected a string, found ${describeType(messageId)}`)
  }
  if (messageId.includes('::')) {
    throw new ValidationError(`messageId ${messageId}: \`::\` marks the messages of agents: choose another id`)
  }
  if (typeof input === 'string') return { messageId, role: 'user', parts: [{ type: 'text', text: input }] }
  if (!Array.isArray(input?.parts)) {
    throw new ValidationError(`input: expected text or an object with parts, found ${describeType(input)}`)
  }
  const { parts, metadata } = input
  const message: Input = { messageId, role: 'user', parts: [...parts], ...(metadata !== undefined && { metadata }) }
  checkUserParts(message)
  return message
}

/** Part types that a user message may have, besides `data-*`. */
const USER_PART_TYPES: readonly string[] = [
  'text',
  'file',
  'source-url',
  'source-document',
] satisfies UserPart['type'][]

/** @throws {ValidationError} with the path of a part that a user message cannot have. */
function checkUserParts(message: Input): void {
  const problem = checkChunk({ type: 'message', ...message })
  // Converts the paths of the protocol's checks.
  if (problem !== undefined) throw new ValidationError(problem.replace(' message', 'input').replace(/\[(\d+)\]/, '.$1'))
  const index = message.parts.findIndex(({ type }) => !USER_PART_TYPES.includes(type) && !type.startsWith('data-'))
  if (index < 0) return
  throw new ValidationError(`input.parts.${index}.type: expected ${USER_PART_TYPES.join(', ')} or data-*`)
}

/** Maximum length of a run id, in characters. Other names contain it, such as approval ids. */
export const MAX_RUN_ID_LENGTH = 256

/** The chunk that requests a run. @throws {ValidationError} if the run id is too long. */
export function requestOf(spec: RunSpec, runId: string, { whenBusy, data = spec.data }: RequestOptions): RequestChunk {
  if (typeof runId === 'string' && runId.length > MAX_RUN_ID_LENGTH) {
    throw new ValidationError(`runId: expected at most ${MAX_RUN_ID_LENGTH} characters, found ${runId.length}`)
  }
  return {
    type: 'run-requested',
    ...spec,
    runId,
    ...(whenBusy && { whenBusy }),
    ...(data !== undefined && { data }),
  }
}

/** The request of a run, if the session has one. */
export const requestFor = ({ requests }: View, runId: string): RunRequest | undefined =>
  requests.find(request => request.runId === runId)

/**
 * @throws {ValidationError} if the session has a message with this id, except for messages after `upTo`, or a waiting
 * request has it. A second message would be lost, because ids are unique.
 */
export function checkNewMessageId(view: View, messageId: string, upTo: number = view.head): void {
  const isUsed = view.messages.some(({ id, at }) => id === messageId && at <= upTo)
  const isQueued = view.requests.some(({ message, status }) => status === 'waiting' && message?.messageId === messageId)
  if (!isUsed && !isQueued) return
  throw new ValidationError(`messageId ${messageId}: the session already has a message with this id: choose another`)
}

/** The run with this id. @throws {RunError} `run_unknown` if it has not started or does not exist. */
export function runOf(view: View, runId: string): Run {
  const run = view.runs.find(other => other.runId === runId)
  if (run) return run
  const why = requestFor(view, runId) ? 'has not started' : 'is not in the session'
  throw new RunError('run_unknown', `run ${runId} ${why}`)
}

/** The run that rewound the session to before another run; undefined if that run is visible. */
export function rewindingRun(view: View, { at }: Run): Run | undefined {
  const runs = new Map(view.runs.map(run => [run.runId, run]))
  for (const { runId, cut } of view.requests) {
    const laterRun = runs.get(runId)
    if (cut && laterRun && cut.toSequence < at && at < laterRun.at) return laterRun
  }
  return undefined
}

/** @throws {RunError} `run_cut_refused` if a run is not visible, because the session was rewound to before it. */
export function checkVisible(view: View, run: Run): void {
  const laterRun = rewindingRun(view, run)
  if (laterRun === undefined) return
  throw new RunError(
    'run_cut_refused',
    `run ${run.runId} was removed: run ${laterRun.runId} rewound the session to before it`,
  )
}

const REFUSALS: Partial<Record<GuestRefusalReason, readonly [ErrorCode, string]>> = {
  busy: ['run_busy', 'another run is open or requested: wait, or set whenBusy'],
  full: ['run_queue_full', 'the queue of the session is full: wait for a run to end'],
  'already-settled': ['run_ended', 'the run id is already used: choose another'],
  gone: ['run_cut_refused', 'the session cannot be rewound to that point'],
  'cut-waiting': ['run_busy', 'another request is about to rewind the session: wait for it'],
}

/** The error of a refused request. */
export function requestRefusal(reason: GuestRefusalReason, runId: string): RunError {
  const [code, why] = REFUSALS[reason] ?? ['internal_error', `the log rejected it: ${reason}`]
  return new RunError(code, `run ${runId}: ${why}`, { retryable: code === 'run_busy' || code === 'run_queue_full' })
}

/** The session changed after the request was decided. */
export const overtakenError = (runId: string, by: string | undefined): RunError =>
  new RunError('run_overtaken', `run ${runId}: run ${by} was started first: read the session and try again`)
