// What asks for a run, and what the requests of a session tell.

import { randomUUID } from 'node:crypto'
import {
  type Chunk,
  type Content,
  checkChunk,
  type Input,
  type Run,
  type RunRequest,
  type View,
} from '@millrace/protocol'
import { describeType } from '../error/check-object.ts'
import { RunError, ValidationError } from '../error/error.ts'

type RequestChunk = Extract<Chunk, { type: 'run-requested' }>

/** What is asked for, apart from who asks and under which id. */
export type RunSpec = Pick<RequestChunk, 'program' | 'message' | 'cut' | 'resume' | 'data'>

/** A part of a user message. */
export type UserPart = Exclude<Content, { type: 'reasoning' }>

/** What a person says: text, or a message of parts. */
export type UserInput = string | { readonly parts: readonly UserPart[]; readonly metadata?: Input['metadata'] }

/** Options of a request for a run. */
export interface RequestOptions {
  /** Who asks again under the same id gets the same run. */
  readonly runId?: string
  /** A label of who asks, as the server's own code knows it. */
  readonly guest?: string
  /** Whose session it must be, null for nobody's, and is where it has to be made; another's is as if there were none. */
  readonly principal?: string | null
  /** What becomes of it while another run is open; it is refused, if nothing is said. What takes the session back always stops the open run. */
  readonly whenBusy?: 'reject' | 'queue' | 'interrupt-previous'
  /** What the client sent along: input, and so not to be trusted. What does a turn again keeps that turn's, if nothing is said; an edit does not. */
  readonly data?: RequestChunk['data']
  /** What the server's own code gives the run: JSON without credentials; no reader sees it. What asks for a turn again keeps that turn's, if nothing is said. */
  readonly context?: RequestChunk['data']
}

/** The message that a person's input becomes. */
export function messageOf(input: UserInput, messageId: string = randomUUID()): Input {
  if (typeof messageId !== 'string') {
    throw new ValidationError(`messageId: expected a string, found ${describeType(messageId)}`)
  }
  if (messageId.includes('::')) {
    throw new ValidationError(`messageId ${messageId}: \`::\` marks the messages of agents, choose another`)
  }
  if (typeof input === 'string') return { messageId, role: 'user', parts: [{ type: 'text', text: input }] }
  if (!Array.isArray(input?.parts)) {
    throw new ValidationError(`input: expected text or an object with parts, found ${describeType(input)}`)
  }
  const { parts, metadata } = input
  const message: Input = { messageId, role: 'user', parts: [...parts], ...(metadata !== undefined && { metadata }) }
  mustBeSaid(message)
  return message
}

/** The kinds of parts that a person says, beside data of any name. */
const SAID: readonly string[] = ['text', 'file', 'source-url', 'source-document'] satisfies UserPart['type'][]

/** Throws, with the place, where a message holds what no person says: who reads the log would not know what to make of it. */
function mustBeSaid(message: Input): void {
  const problem = checkChunk({ type: 'message', ...message })
  // The checks of the protocol name their places as code does.
  if (problem !== undefined) throw new ValidationError(problem.replace(' message', 'input').replace(/\[(\d+)\]/, '.$1'))
  const index = message.parts.findIndex(({ type }) => !SAID.includes(type) && !type.startsWith('data-'))
  if (index < 0) return
  throw new ValidationError(
    `input.parts.${index}.type: expected ${SAID.join(', ')} or data-*, which is what people say`,
  )
}

/** The longest id of a run: names are made of it, as of what has to be approved in it. */
export const LONGEST_RUN_ID = 256

/** The entry that asks for a run; throws where it could not be one. */
export function requestOf(
  asked: RunSpec,
  runId: string,
  { whenBusy, data = asked.data }: RequestOptions,
): RequestChunk {
  if (typeof runId === 'string' && runId.length > LONGEST_RUN_ID) {
    throw new ValidationError(`runId: expected at most ${LONGEST_RUN_ID} characters, found ${runId.length}`)
  }
  return {
    type: 'run-requested',
    ...asked,
    runId,
    ...(whenBusy && { whenBusy }),
    ...(data !== undefined && { data }),
  }
}

/** The request for a run, if the session had one. */
export const requestFor = ({ requests }: View, runId: string): RunRequest | undefined =>
  requests.find(request => request.runId === runId)

/**
 * Throws where a message of that id is in the session, apart from what is taken back after `upTo`, or is going to be: a second would be lost, because a session holds
 * one of each id.
 */
export function mustBeNew(view: View, messageId: string, upTo: number = view.head): void {
  const isShown = view.messages.some(({ id, at }) => id === messageId && at <= upTo)
  const waits = view.requests.some(({ message, status }) => status === 'waiting' && message?.messageId === messageId)
  if (!isShown && !waits) return
  throw new ValidationError(`messageId ${messageId}: the session has a message of that id, choose another`)
}

/** The run of that id, which must be there. */
export function runOf(view: View, runId: string): Run {
  const run = view.runs.find(other => other.runId === runId)
  if (run) return run
  const why = requestFor(view, runId) ? 'has not started' : 'is not in the session'
  throw new RunError('run_unknown', `run ${runId} ${why}`)
}

/** The run that took the session back to before another, which is then not shown any more; none, if it is. */
export function cutterOf(view: View, { at }: Run): Run | undefined {
  const ats = new Map(view.runs.map(run => [run.runId, run]))
  for (const { runId, cut } of view.requests) {
    const cutter = ats.get(runId)
    if (cut && cutter && cut.toSequence < at && at < cutter.at) return cutter
  }
  return undefined
}

/** Throws where a run is not shown any more, because the session was taken back to before it. */
export function mustBeShown(view: View, run: Run): void {
  const cutter = cutterOf(view, run)
  if (cutter === undefined) return
  throw new RunError(
    'run_cut_refused',
    `run ${run.runId} is not shown any more: run ${cutter.runId} took the session back to before it, ask for that`,
  )
}
