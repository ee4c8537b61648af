// What people and clients answer, checked before it is in the log: the session, who it is of, the kind, the id, what was offered or asked for, and the input that was shown.

import type { StreamManager, Ticket, TicketPending } from '@millrace/log'
import type { Refusal } from '@millrace/log/internal'
import type { Chunk, Interrupt, Json, Part, ToolPart, View } from '@millrace/protocol'
import { checkObject, describeType } from '../error/check-object.ts'
import { RunError, ValidationError } from '../error/error.ts'
import type { ErrorCode } from '../error/error-codes.ts'
import { excerpt } from '../error/excerpt.ts'
import { formResponseProblem } from '../schema/form-response.ts'
import { type Schema, validate } from '../schema/schema.ts'
import { largeValue } from '../session/large-value.ts'
import { isSame } from '../session/state-diff.ts'

/** An answer to what a run waits for. */
export type Answer =
  | {
      readonly kind: 'approval'
      /** `runId::toolCallId`. */
      readonly id: string
      readonly approved: boolean
      readonly reason?: string
      /** What was shown to who answers: another than would run is refused. */
      readonly input?: Json
    }
  | { readonly kind: 'tool-result'; readonly id: string; readonly output: Json }
  | {
      readonly kind: 'tool-result'
      readonly id: string
      /** Why the client could not run it, for the model. */
      readonly error: string
      /** One of `CLIENT_TOOL_ERROR_CODES` or of one's own; `client_tool_failed`, if nothing is said. */
      readonly code?: string
    }
  | { readonly kind: 'interrupt'; readonly id: string; readonly response: Json }

/** Who answers. */
export interface AnswerOptions {
  /** A label of who answers, as the server's own code knows it. */
  readonly guest?: string
  /** Whose session it must be, if that is to be checked here. */
  readonly principal?: string
}

/** The longest error of a client, and the longest reason of an answer. */
export const LONGEST_ERROR = 8192
/** So much is told of a kind that is none. */
const LONGEST_KIND = 64

/** What the code of a client's error may be. */
const CODE = /^[a-z0-9_]{1,64}$/

const KINDS = { approval: 'approval', 'tool-result': 'client-tool', interrupt: 'interrupt' } as const

/** An answer that is nobody else's to change: read once, so that what is checked is what is kept; throws where it can never be one. */
export function answerOf(given: Answer): Answer {
  checkObject('answer', given)
  const { kind, id } = given
  if (typeof kind !== 'string' || !Object.hasOwn(KINDS, kind)) {
    const found = typeof kind === 'string' ? excerpt(kind, LONGEST_KIND) : describeType(kind)
    throw new ValidationError(`answer.kind: expected approval, tool-result or interrupt, found ${found}`)
  }
  if (typeof id !== 'string' || id === '')
    throw new ValidationError(`answer.id: expected text, found ${describeType(id)}`)
  switch (given.kind) {
    case 'approval': {
      const { approved, reason, input } = given
      if (typeof approved !== 'boolean') {
        throw new ValidationError(`answer.approved: expected true or false, found ${describeType(approved)}`)
      }
      return {
        kind: 'approval',
        id,
        approved,
        ...(reason !== undefined && { reason: textOf('reason', reason) }),
        ...(input !== undefined && { input: jsonIn('input', input) }),
      }
    }
    case 'tool-result': {
      if (!('error' in given)) return { kind: 'tool-result', id, output: jsonIn('output', given.output) }
      const { error, code = 'client_tool_failed' } = given
      const text = textOf('error', error)
      if (typeof code === 'string' && CODE.test(code)) return { kind: 'tool-result', id, error: text, code }
      throw new ValidationError('answer.code: expected 1 to 64 small letters, digits and _, as in client_tool_failed')
    }
    case 'interrupt':
      return { kind: 'interrupt', id, response: jsonIn('response', given.response) }
  }
}

/** The entry that gives an answer; of an approval to a call, where that is known. */
export function chunkOf(answer: Answer, toolCallId?: string): Chunk {
  const { id } = answer
  switch (answer.kind) {
    case 'approval': {
      const { approved, reason } = answer
      const at = id.lastIndexOf('::')
      return {
        type: 'tool-approval-response',
        toolCallId: toolCallId ?? (at < 0 ? id : id.slice(at + 2)),
        approvalId: id,
        approved,
        ...(reason !== undefined && { reason }),
      }
    }
    case 'tool-result': {
      const result = { toolCallId: id, executor: 'client' } as const
      if ('output' in answer) return { type: 'tool-output-available', ...result, output: answer.output }
      return {
        type: 'tool-output-error',
        ...result,
        errorText: answer.error,
        ...(answer.code && { code: answer.code }),
      }
    }
    case 'interrupt':
      return { type: 'interrupt-response', interruptId: id, response: answer.response }
  }
}

function textOf(what: string, text: unknown): string {
  if (typeof text !== 'string') throw new ValidationError(`answer.${what}: expected text, found ${describeType(text)}`)
  if (text.length <= LONGEST_ERROR) return text
  throw new ValidationError(`answer.${what}: expected at most ${LONGEST_ERROR} characters, found ${text.length}`)
}

/** A copy of a value; throws where it is no JSON, and would be kept as something else or not at all. */
function jsonIn(what: string, value: unknown): Json {
  let copy: Json | undefined
  try {
    copy = copyOf(value)
  } catch (cause) {
    const found = 'what is too deep, holds itself or cannot be read'
    throw new ValidationError(`answer.${what}: expected JSON, found ${found}`, { cause })
  }
  if (copy !== undefined) return copy
  throw new ValidationError(
    `answer.${what}: expected JSON, found ${describeType(value)} that is none, or holds what is none`,
  )
}

/** A value with all that it holds, each read once: a getter may say something else the next time; undefined where it is no JSON. */
function copyOf(value: unknown): Json | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value !== 'object') return undefined
  if (Array.isArray(value)) {
    const items: (Json | undefined)[] = Array.from(value, copyOf)
    return items.includes(undefined) ? undefined : (items as Json[])
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return undefined
  const own = Object.entries(value).filter(([, held]) => held !== undefined)
  const copies = own.map(([name, held]) => [name, copyOf(held)] as const)
  return copies.some(([, held]) => held === undefined) ? undefined : (Object.fromEntries(copies) as Json)
}

/** Throws where what waits under that id wants another kind of answer: a result never stands in for an approval, nor the other way round. */
export function mustBeOfKind({ pendings }: Ticket, { kind, id }: Pick<Answer, 'kind' | 'id'>): void {
  const isMeant = (pending: TicketPending) => pending.id === id || pending.toolCallId === id
  const wanted = pendings.filter(isMeant)
  if (wanted.length === 0 || wanted.some(pending => pending.kind === KINDS[kind] && pending.id === id)) return
  const [other] = wanted as [TicketPending]
  const instead = other.kind === KINDS[kind] ? '' : `, not for ${WANTED[KINDS[kind]]}`
  throw new RunError('answer_wrong_kind', `${id} waits for ${WANTED[other.kind]} under ${other.id}${instead}`)
}

/** What waits for an answer, as far as the ticket says. */
export const pendingFor = ({ pendings }: Ticket, { kind, id }: Answer): TicketPending | undefined =>
  pendings.find(pending => pending.kind === KINDS[kind] && pending.id === id)

const WANTED = { approval: 'an approval', 'client-tool': 'a tool-result', interrupt: 'an answer to its question' }

/** Throws where an answer is not to what waits: not to what was shown, none that was offered, no output that fits the schema, where one is known. */
export async function mustFit(
  view: View,
  answer: Answer,
  schema: Schema | undefined,
  manager: StreamManager,
  sessionId: string,
): Promise<void> {
  const large = (hash: string) => largeValue(manager, sessionId, hash)
  const problem = await problemOf(view, answer, schema, large)
  if (problem !== undefined) throw new RunError('answer_invalid', `${answer.id}: ${problem}`)
}

async function problemOf(
  view: View,
  answer: Answer,
  schema: Schema | undefined,
  large: (hash: string) => Promise<Json>,
): Promise<string | undefined> {
  if (answer.kind === 'approval') {
    // Also of what was settled: who repeats an answer repeats what it was to.
    const part = approvedPart(view, answer.id)
    if (part === undefined || answer.input === undefined) return undefined
    const { input = null, blobs } = part
    const hash = blobs?.['/input']?.hash
    const shown = hash === undefined ? input : await large(hash)
    return isSame(shown, answer.input) ? undefined : 'the answer is to another input than the one that would run'
  }
  const pending = view.pendings.find(({ kind, id }) => kind === KINDS[answer.kind] && id === answer.id)
  if (answer.kind === 'tool-result' && pending?.kind === 'client-tool' && 'output' in answer) {
    const checked = schema && (await validate(schema, answer.output))
    return checked && 'problem' in checked ? `the output does not fit: ${checked.problem}` : undefined
  }
  if (answer.kind === 'interrupt' && pending?.kind === 'interrupt') return misfit(pending.interrupt, answer.response)
  return undefined
}

/** The call whose approval has that id; where ids hold what stands between them and several do, the latest. */
export function approvedPart({ messages }: View, approvalId: string): ToolPart | undefined {
  const isIt = (part: Part): part is ToolPart => 'toolCallId' in part && part.approval?.id === approvalId
  return messages.flatMap(({ parts }) => parts.filter(isIt)).at(-1)
}

/** Why a response is none to a question; undefined where it is one. */
function misfit({ input }: Interrupt, response: Json): string | undefined {
  switch (input.kind) {
    case 'text':
      return typeof response === 'string' ? undefined : `expected text, found ${describeType(response)}`
    case 'choice':
    case 'multi-choice': {
      const isMany = input.kind === 'multi-choice' || input.multiple === true
      const offered = input.options.map(({ id }) => id)
      const chosen = isMany ? response : [response]
      if (!Array.isArray(chosen)) return `expected a list of options, found ${describeType(response)}`
      const other = chosen.find(id => typeof id !== 'string' || !offered.includes(id))
      if (other === undefined && new Set(chosen).size === chosen.length) return undefined
      return `expected ${isMany ? 'some' : 'one'} of ${offered.join(', ')}`
    }
    case 'form':
      return formResponseProblem(input.schema, response)
    default:
      return response === null ? 'expected an answer, found null' : undefined
  }
}

const WHY: Partial<Record<Refusal, readonly [ErrorCode, string]>> = {
  'already-settled': ['answer_already_settled', 'somebody was first, or the run has ended: look at the session'],
  late: ['answer_late', 'its time is over'],
  unknown: ['answer_unknown', 'nothing waits for that in the session'],
  unapproved: ['answer_unapproved', 'the call waits for its approval: answer that first'],
  claimed: ['answer_claimed', 'another client has taken it upon itself: wait until that time is over'],
}

/** A refusal of an answer or a claim. */
export function refusalOf(reason: Refusal, id: string): RunError {
  const [code, why] = WHY[reason] ?? ['internal_error', `the log refused it: ${reason}`]
  return new RunError(code, `${id}: ${why}`, { retryable: code === 'answer_claimed' })
}
