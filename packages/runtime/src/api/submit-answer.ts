// How an answer gets into a session: looked at beside what waits there, then decided on the ticket, where the first wins (law 5).

import type { GuestOptions, StreamInfo, StreamManager, Ticket } from '@millrace/log'
import { MAX_CLAIM } from '@millrace/log/internal'
import type { Chunk, Part, View } from '@millrace/protocol'
import type { Program } from '../define/program.ts'
import { checkObject, describeType } from '../error/check-object.ts'
import { RunError, ValidationError } from '../error/error.ts'
import { sessionUnknown } from '../session/log-errors.ts'
import {
  type Answer,
  type AnswerOptions,
  answerOf,
  approvedPart,
  chunkOf,
  mustBeOfKind,
  mustFit,
  pendingFor,
  refusalOf,
} from './answer.ts'
import { ClientToolSchemas } from './client-tool-schemas.ts'
import type { KeyedQueue } from './keyed-queue.ts'

/** What became of an answer: where it is in the log. */
export interface Answered {
  readonly sequence: number
}

export interface ClaimOptions extends AnswerOptions {
  /** For how long, in milliseconds: after that another client may take the call. */
  readonly forMs: number
  /** Which of the places where this guest works, such as a tab. */
  readonly by?: string
}

/** Where answers go, and what is known here of who waits for them. */
export interface AnswerTarget {
  readonly manager: StreamManager
  /** By their programs. */
  readonly programs: ReadonlyMap<string, Program>
  /** Those of this process who append to a session: all at once they would have to try again after each of the others. */
  readonly queue: KeyedQueue
}

/** An answer that was taken, and the run that waited for it. */
export interface AcceptedAnswer extends Answered {
  readonly runId: string | undefined
}

/** Answers what a run waits for: the first answer counts, and who repeats it is told so. */
export async function submitAnswer(
  answering: AnswerTarget,
  sessionId: string,
  given: Answer,
  options: AnswerOptions,
): Promise<AcceptedAnswer> {
  checkOptions(options)
  const { manager, programs } = answering
  const answer = answerOf(given)
  const { ticket, version } = await infoFor(manager, sessionId, options)
  mustBeOfKind(ticket, answer)
  const { runId, program = '' } = ticket.run ?? {}
  const known = new ClientToolSchemas(programs, program)
  const pending = pendingFor(ticket, answer)
  let call = pending?.toolCallId
  // The ticket decides; the session, which may be long, is read only where something is to be compared with what it shows.
  if (pending ? isCompared(answer, known) : isOfOld(ticket, answer)) {
    const { view } = await manager.view(sessionId)
    const schema = pending && known.schemaFor(view, pending)
    await mustFit(view, answer, schema, manager, sessionId)
    call ??= callOf(view, answer)
  }
  const chunk = chunkOf(answer, call)
  // What did not wait was compared with nothing: it is an answer to nothing that begins to wait just now.
  const isNothing = pending === undefined && isCompared(answer, known)
  const beside = { ...ownedBy(options), ...(isNothing && { ifVersion: version }) }
  const done = await append(answering, sessionId, options.guest, () => chunk, beside)
  return done ? { ...done, runId } : submitAnswer(answering, sessionId, answer, options)
}

/** Whether something of an answer has to fit what the session shows. */
function isCompared(answer: Answer, known: ClientToolSchemas): boolean {
  if (answer.kind === 'approval') return answer.input !== undefined
  return answer.kind === 'interrupt' || ('output' in answer && known.hasSchemas)
}

/** Whether an answer to what does not wait has to be looked at beside what was settled: it says what was shown, or its id alone does not tell its call. */
const isOfOld = (ticket: Ticket, answer: Answer): boolean =>
  answer.kind === 'approval' &&
  hasSettled(ticket) &&
  (answer.input !== undefined || answer.id.indexOf('::') !== answer.id.lastIndexOf('::'))

/** Whether anything was settled in a session: a ticket forgets what, but never that. */
const hasSettled = ({ settled }: Ticket): boolean => settled.length > 0

/** Takes the call of a client's tool upon oneself for a while, so that nobody else runs it meanwhile; tells until when. */
export async function claimCall(
  answering: AnswerTarget,
  sessionId: string,
  toolCallId: string,
  options: ClaimOptions,
): Promise<{ readonly until: number }> {
  checkOptions(options)
  const { forMs, by, guest } = options
  if (!(Number.isSafeInteger(forMs) && forMs > 0 && forMs <= MAX_CLAIM)) {
    const found = typeof forMs === 'number' ? forMs : describeType(forMs)
    throw new ValidationError(`claim: forMs: expected whole milliseconds from 1 to ${MAX_CLAIM}, found ${found}`)
  }
  if (typeof toolCallId !== 'string') {
    throw new ValidationError(`claim: toolCallId: expected text, found ${describeType(toolCallId)}`)
  }
  let until = 0
  const say = async (): Promise<Chunk> => {
    // Only now: the time in which others had their turn is none of the claim's.
    const { clock, ticket } = await infoFor(answering.manager, sessionId, options)
    mustBeOfKind(ticket, { kind: 'tool-result', id: toolCallId })
    until = clock + forMs
    return { type: 'tool-claimed', toolCallId, until, ...(by !== undefined && { by }) }
  }
  await append(answering, sessionId, guest, say, ownedBy(options))
  return { until }
}

function checkOptions(options: AnswerOptions): void {
  checkObject('options', options)
  // A user who was not found must not be one who need not be looked for.
  if (!('principal' in options) || typeof options.principal === 'string') return
  const found = describeType(options.principal)
  throw new ValidationError(`options.principal: expected text, or not to be there, found ${found}`)
}

/** Whose the session must still be when something is appended to it: another may have been made under its name. */
const ownedBy = ({ principal }: AnswerOptions): GuestOptions => (principal === undefined ? {} : { principal })

async function infoFor(manager: StreamManager, sessionId: string, { principal }: AnswerOptions): Promise<StreamInfo> {
  const info = await manager.getInfo(sessionId)
  if (info === null) throw sessionUnknown(sessionId)
  if (principal !== undefined && info.principal !== principal) {
    throw new RunError('answer_forbidden', `session ${sessionId} is not that of who answers`)
  }
  return info
}

/** Appends what a guest says, when it is their turn; undefined where the session is not at the version any more on which that was decided. */
async function append(
  { manager, queue }: AnswerTarget,
  sessionId: string,
  guest = 'runtime',
  say: () => Chunk | Promise<Chunk>,
  beside: GuestOptions = {},
): Promise<Answered | undefined> {
  const [chunk, done] = await queue.run(sessionId, async () => {
    const said = await say()
    return [said, await manager.append(sessionId, guest, said, beside)] as const
  })
  if (done.outcome !== 'refused') return { sequence: done.first }
  if (done.reason === 'moved') return undefined
  const {
    approvalId,
    interruptId,
    toolCallId = '',
  } = chunk as Partial<Record<'approvalId' | 'interruptId' | 'toolCallId', string>>
  const isForgotten = done.reason === 'unknown' && (await wasSettled(manager, sessionId, chunk))
  throw refusalOf(isForgotten ? 'already-settled' : done.reason, approvalId ?? interruptId ?? toolCallId)
}

/** Whether what an answer is to was settled long ago: a ticket remembers only the latest, so the session is read, unless nothing ever was. */
async function wasSettled(manager: StreamManager, sessionId: string, chunk: Chunk): Promise<boolean> {
  const info = await manager.getInfo(sessionId)
  return info !== null && hasSettled(info.ticket) && isSettled((await manager.view(sessionId)).view, chunk)
}

/** Whether a session shows that what an answer is to was settled. */
function isSettled(view: View, chunk: Chunk): boolean {
  if (chunk.type === 'interrupt-response')
    return view.interrupts.some(({ interruptId }) => interruptId === chunk.interruptId)
  if (chunk.type === 'tool-approval-response') {
    const part = approvedPart(view, chunk.approvalId)
    return part !== undefined && part.state !== 'approval-requested'
  }
  const { toolCallId } = chunk as { toolCallId?: string }
  const isIt = (part: Part): boolean =>
    'toolCallId' in part &&
    part.toolCallId === toolCallId &&
    part.executor === 'client' &&
    part.state.startsWith('output-')
  return view.messages.some(({ parts }) => parts.some(isIt))
}

/** The call that an approval is about, as the session shows it; where that was taken back, told from the longest id of a run that fits. */
function callOf(view: View, { kind, id }: Answer): string | undefined {
  if (kind !== 'approval') return undefined
  const fitting = view.runs.filter(({ runId }) => id.startsWith(`${runId}::`)).map(({ runId }) => runId.length)
  return approvedPart(view, id)?.toolCallId ?? (fitting.length > 0 ? id.slice(Math.max(...fitting) + 2) : undefined)
}
