// Submits answers: compares them with the session, then appends them. The ticket accepts the first one (law 5).

import type { GuestOptions, StreamInfo, StreamManager, Ticket } from '@millrace/log'
import { MAX_CLAIM_MS } from '@millrace/log/internal'
import type { Chunk, Part, View } from '@millrace/protocol'
import type { KeyedQueue } from '../async/keyed-queue.ts'
import type { Program } from '../define/program.ts'
import { checkObject, describeType } from '../error/check-object.ts'
import { RunError, ValidationError } from '../error/error.ts'
import type { SchemaChecker } from '../schema/schema-checker.ts'
import { sessionUnknown } from '../session/log-errors.ts'
import {
  type Answer,
  type AnswerMode,
  type AnswerOptions,
  answerChunk,
  answerRefusal,
  checkKind,
  checkMatchesPending,
  partOfApproval,
  pendingFor,
  validatedAnswer,
} from './answer.ts'
import { ClientToolSchemas } from './client-tool-schemas.ts'

/** An accepted answer: its sequence in the log. */
export interface Answered {
  /** Sequence of the answer. */
  readonly sequence: number
}

/** Options of `runtime.claim`. */
export interface ClaimOptions extends AnswerOptions {
  /** Duration of the claim, in ms. After it another client may claim the call. */
  readonly forMs: number
  /** Name of the client that claims, such as a tab, if a user has several. @default none */
  readonly by?: string
}

/** The log, programs and queue for answers. */
export interface AnswerTarget {
  readonly manager: StreamManager
  /** Programs by name. */
  readonly programs: ReadonlyMap<string, Program>
  /** Serializes the appends of this process to a session: concurrent ones would retry after each other. */
  readonly queue: KeyedQueue
  readonly checker: SchemaChecker
}

/** An accepted answer and its run. */
export interface AcceptedAnswer extends Answered {
  readonly runId: string | undefined
}

/**
 * Submits an answer. The first one counts. A repeated one gets the sequence of the first. `mode` is that of the resume
 * which the answer is part of.
 */
export async function submitAnswer(
  target: AnswerTarget,
  sessionId: string,
  input: Answer,
  options: AnswerOptions,
  mode?: AnswerMode,
): Promise<AcceptedAnswer> {
  checkOptions(options)
  const { manager, programs, checker } = target
  const answer = validatedAnswer(input)
  const { ticket, version } = await checkedInfo(manager, sessionId, options)
  checkKind(ticket, answer)
  const { runId, program = '' } = ticket.run ?? {}
  const schemas = new ClientToolSchemas(programs, program)
  const pending = pendingFor(ticket, answer)
  let toolCallId = pending?.toolCallId
  // The ticket decides. The session, which may be long, is read only if the answer must be compared with it.
  if (pending ? needsSession(answer, schemas) : needsSettledCalls(ticket, answer)) {
    const { view } = await manager.view(sessionId)
    const schema = pending && schemas.schemaFor(view, pending)
    const caller = { kind: 'principal', principal: options.caller ?? options.principal } as const
    await checkMatchesPending(view, answer, schema, manager, sessionId, { checker, caller })
    toolCallId ??= toolCallIdOf(view, answer)
  }
  const chunk = answerChunk(answer, toolCallId, mode)
  // Without a pending it was compared with nothing, so it must not answer a pending that is created just now.
  const hasNoPending = pending === undefined && needsSession(answer, schemas)
  const appendOptions = { ...ownedBy(options), ...(hasNoPending && { ifVersion: version }) }
  const answered = await append(target, sessionId, options.guest, () => chunk, appendOptions)
  return answered ? { ...answered, runId } : submitAnswer(target, sessionId, answer, options, mode)
}

/** Whether an answer must be compared with the session. */
function needsSession(answer: Answer, schemas: ClientToolSchemas): boolean {
  if (answer.kind === 'approval') return answer.input !== undefined
  return answer.kind === 'interrupt' || ('output' in answer && schemas.hasSchemas)
}

/** Whether an answer without a pending must be compared with settled calls: it has an input, or its id is ambiguous. */
const needsSettledCalls = (ticket: Ticket, answer: Answer): boolean =>
  answer.kind === 'approval' &&
  hasSettled(ticket) &&
  (answer.input !== undefined || answer.id.indexOf('::') !== answer.id.lastIndexOf('::'))

/** Whether any pending of a session was settled. A ticket drops old settled pendings, but never all of them. */
const hasSettled = ({ settled }: Ticket): boolean => settled.length > 0

/** Claims a client tool call for a limited time. Returns the end of the claim. */
export async function claimCall(
  target: AnswerTarget,
  sessionId: string,
  toolCallId: string,
  options: ClaimOptions,
): Promise<{ readonly until: number }> {
  checkOptions(options)
  const { forMs, by, guest } = options
  if (!(Number.isSafeInteger(forMs) && forMs > 0 && forMs <= MAX_CLAIM_MS)) {
    const found = typeof forMs === 'number' ? forMs : describeType(forMs)
    throw new ValidationError(`claim: forMs: expected whole milliseconds from 1 to ${MAX_CLAIM_MS}, found ${found}`)
  }
  if (typeof toolCallId !== 'string') {
    throw new ValidationError(`claim: toolCallId: expected text, found ${describeType(toolCallId)}`)
  }
  let until = 0
  const build = async (): Promise<Chunk> => {
    // Read only now, so that the time in the queue does not count.
    const { clock, ticket } = await checkedInfo(target.manager, sessionId, options)
    checkKind(ticket, { kind: 'tool-result', id: toolCallId })
    until = clock + forMs
    return { type: 'tool-claimed', toolCallId, until, ...(by !== undefined && { by }) }
  }
  await append(target, sessionId, guest, build, ownedBy(options))
  return { until }
}

function checkOptions(options: AnswerOptions): void {
  checkObject('options', options)
  // `principal: undefined` must not skip the ownership check.
  if (!('principal' in options) || typeof options.principal === 'string') return
  const found = describeType(options.principal)
  throw new ValidationError(`options.principal: expected text or no such key, found ${found}`)
}

/** The expected owner at the time of the append: the session may have been deleted and created again. */
const ownedBy = ({ principal }: AnswerOptions): GuestOptions => (principal === undefined ? {} : { principal })

async function checkedInfo(
  manager: StreamManager,
  sessionId: string,
  { principal }: AnswerOptions,
): Promise<StreamInfo> {
  const info = await manager.getInfo(sessionId)
  if (info === null) throw sessionUnknown(sessionId)
  if (principal !== undefined && info.principal !== principal) {
    throw new RunError('answer_forbidden', `session ${sessionId} belongs to another principal: answer as its owner`)
  }
  return info
}

/** Appends a guest's chunk. Returns undefined if the session changed since `ifVersion`. */
async function append(
  { manager, queue }: AnswerTarget,
  sessionId: string,
  guest = 'runtime',
  build: () => Chunk | Promise<Chunk>,
  appendOptions: GuestOptions = {},
): Promise<Answered | undefined> {
  const [chunk, appended] = await queue.run(sessionId, async () => {
    const built = await build()
    return [built, await manager.append(sessionId, guest, built, appendOptions)] as const
  })
  if (appended.outcome !== 'refused') return { sequence: appended.first }
  if (appended.reason === 'moved') return undefined
  const {
    approvalId,
    interruptId,
    toolCallId = '',
  } = chunk as Partial<Record<'approvalId' | 'interruptId' | 'toolCallId', string>>
  const wasSettledBefore = appended.reason === 'unknown' && (await wasSettled(manager, sessionId, chunk))
  throw answerRefusal(wasSettledBefore ? 'already-settled' : appended.reason, approvalId ?? interruptId ?? toolCallId)
}

/**
 * Whether the pending of an answer was settled long ago. A ticket remembers only recent ones, so the session is read.
 */
async function wasSettled(manager: StreamManager, sessionId: string, chunk: Chunk): Promise<boolean> {
  const info = await manager.getInfo(sessionId)
  return info !== null && hasSettled(info.ticket) && isSettled((await manager.view(sessionId)).view, chunk)
}

/** Whether the session shows that the pending of a chunk was settled. */
function isSettled(view: View, chunk: Chunk): boolean {
  if (chunk.type === 'interrupt-response')
    return view.interrupts.some(({ interruptId }) => interruptId === chunk.interruptId)
  if (chunk.type === 'tool-approval-response') {
    const part = partOfApproval(view, chunk.approvalId)
    return part !== undefined && part.state !== 'approval-requested'
  }
  const { toolCallId } = chunk as { toolCallId?: string }
  const matches = (part: Part): boolean =>
    'toolCallId' in part &&
    part.toolCallId === toolCallId &&
    part.executor === 'client' &&
    part.state.startsWith('output-')
  return view.messages.some(({ parts }) => parts.some(matches))
}

/** The id of an approval's call, by the session; if it was rewound, by the longest run id that the approval id starts with. */
function toolCallIdOf(view: View, { kind, id }: Answer): string | undefined {
  if (kind !== 'approval') return undefined
  const prefixLengths = view.runs.filter(({ runId }) => id.startsWith(`${runId}::`)).map(({ runId }) => runId.length)
  return (
    partOfApproval(view, id)?.toolCallId ??
    (prefixLengths.length > 0 ? id.slice(Math.max(...prefixLengths) + 2) : undefined)
  )
}
