// Validates answers of people and clients before they are logged: kind, id, the offered options, and the input that was
// shown.

import type { StreamManager, Ticket, TicketPending } from '@millrace/log'
import type { GuestRefusalReason } from '@millrace/log/internal'
import type { Chunk, Interrupt, Json, Part, ToolPart, View } from '@millrace/protocol'
import { excerpt } from '@millrace/protocol/internal'
import { checkObject, describeType } from '../error/check-object.ts'
import { RunError, ValidationError } from '../error/error.ts'
import type { ErrorCode } from '../error/error-codes.ts'
import { type FormChecks, formResponseProblem } from '../schema/form-response.ts'
import { type Schema, validate } from '../schema/schema.ts'
import { largeValue } from '../session/large-value.ts'
import { isSame } from '../session/state-diff.ts'

/** An answer to a pending of a run. */
export type Answer =
  | {
      readonly kind: 'approval'
      /** Id of the approval: `runId::toolCallId`. */
      readonly id: string
      readonly approved: boolean
      /** Why it was approved or denied, up to 8192 characters. The model gets the reason of a denial. @default none */
      readonly reason?: string
      /** The input that was shown. If it differs from the input of the call, the answer is rejected. @default not compared */
      readonly input?: Json
    }
  | {
      readonly kind: 'tool-result'
      /** Id of the tool call. */
      readonly id: string
      readonly output: Json
    }
  | {
      readonly kind: 'tool-result'
      /** Id of the tool call. */
      readonly id: string
      /** Why the client could not execute the call, up to 8192 characters. The model gets this text. */
      readonly error: string
      /** One of `CLIENT_TOOL_ERROR_CODES` or a custom code. @default 'client_tool_failed' */
      readonly code?: string
    }
  | {
      readonly kind: 'interrupt'
      /** Id of the interrupt. */
      readonly id: string
      readonly response: Json
    }

/** Options of an answer. */
export interface AnswerOptions {
  /** Label of the answering user, for the log. @default 'runtime' */
  readonly guest?: string
  /** Expected owner of the session. @default not checked */
  readonly principal?: string
  /** User whose time for checks of answers is used: see `answerCheckMs`. @default `principal` */
  readonly caller?: string
}

/** Maximum length of an error or a reason, in characters. */
export const MAX_ANSWER_TEXT_LENGTH = 8192
/** Maximum length of an unknown kind in an error message. */
const MAX_KIND_LENGTH = 64

/** Pattern of a client's error code. */
const CODE_PATTERN = /^[a-z0-9_]{1,64}$/

/** Kinds of pendings by kinds of answers. */
const PENDING_KINDS = { approval: 'approval', 'tool-result': 'client-tool', interrupt: 'interrupt' } as const

/**
 * Validates an answer and returns a copy. Each field is read once, so that the checked value is the logged one.
 * @throws {ValidationError} if it is malformed.
 */
export function validatedAnswer(answer: Answer): Answer {
  checkObject('answer', answer)
  const { kind, id } = answer
  if (typeof kind !== 'string' || !Object.hasOwn(PENDING_KINDS, kind)) {
    const found = typeof kind === 'string' ? excerpt(kind, MAX_KIND_LENGTH) : describeType(kind)
    throw new ValidationError(`answer.kind: expected approval, tool-result or interrupt, found ${found}`)
  }
  if (typeof id !== 'string' || id === '')
    throw new ValidationError(`answer.id: expected text, found ${describeType(id)}`)
  switch (answer.kind) {
    case 'approval': {
      const { approved, reason, input } = answer
      if (typeof approved !== 'boolean') {
        throw new ValidationError(`answer.approved: expected true or false, found ${describeType(approved)}`)
      }
      return {
        kind: 'approval',
        id,
        approved,
        ...(reason !== undefined && { reason: textOf('reason', reason) }),
        ...(input !== undefined && { input: jsonField('input', input) }),
      }
    }
    case 'tool-result': {
      if (!('error' in answer)) return { kind: 'tool-result', id, output: jsonField('output', answer.output) }
      const { error, code = 'client_tool_failed' } = answer
      const text = textOf('error', error)
      if (typeof code === 'string' && CODE_PATTERN.test(code)) return { kind: 'tool-result', id, error: text, code }
      throw new ValidationError(
        'answer.code: expected 1 to 64 lower-case letters, digits and _, such as client_tool_failed',
      )
    }
    case 'interrupt':
      return { kind: 'interrupt', id, response: jsonField('response', answer.response) }
  }
}

/** The mode of a resume that answers approvals. */
export type AnswerMode = Extract<Chunk, { type: 'tool-approval-response' }>['mode']

/** The chunk of an answer. `toolCallId` is the call of an approval, if known; `mode` is that of a resume. */
export function answerChunk(answer: Answer, toolCallId?: string, mode?: AnswerMode): Chunk {
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
        ...(mode && { mode }),
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

function textOf(field: string, text: unknown): string {
  if (typeof text !== 'string') throw new ValidationError(`answer.${field}: expected text, found ${describeType(text)}`)
  if (text.length <= MAX_ANSWER_TEXT_LENGTH) return text
  throw new ValidationError(
    `answer.${field}: expected at most ${MAX_ANSWER_TEXT_LENGTH} characters, found ${text.length}`,
  )
}

/** A JSON copy of a value. @throws {ValidationError} if it is not JSON. */
function jsonField(field: string, value: unknown): Json {
  let copy: Json | undefined
  try {
    copy = copyJson(value)
  } catch (cause) {
    const found = 'a value that is circular, nested too deep or unreadable'
    throw new ValidationError(`answer.${field}: expected JSON, found ${found}`, { cause })
  }
  if (copy !== undefined) return copy
  throw new ValidationError(`answer.${field}: expected JSON, found ${describeType(value)} that is not JSON`)
}

/**
 * A deep copy that reads each value once, because getters may return other values later. Undefined if it is not JSON.
 */
function copyJson(value: unknown): Json | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value !== 'object') return undefined
  if (Array.isArray(value)) {
    const items: (Json | undefined)[] = Array.from(value, copyJson)
    return items.includes(undefined) ? undefined : (items as Json[])
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return undefined
  const definedEntries = Object.entries(value).filter(([, field]) => field !== undefined)
  const copies = definedEntries.map(([name, field]) => [name, copyJson(field)] as const)
  return copies.some(([, field]) => field === undefined) ? undefined : (Object.fromEntries(copies) as Json)
}

/** @throws {RunError} if the pending with this id expects another kind of answer. */
export function checkKind({ pendings }: Ticket, { kind, id }: Pick<Answer, 'kind' | 'id'>): void {
  const matches = (pending: TicketPending) => pending.id === id || pending.toolCallId === id
  const candidates = pendings.filter(matches)
  if (candidates.length === 0 || candidates.some(pending => pending.kind === PENDING_KINDS[kind] && pending.id === id))
    return
  const [other] = candidates as [TicketPending]
  const instead = other.kind === PENDING_KINDS[kind] ? '' : `, not for ${KIND_NAMES[PENDING_KINDS[kind]]}`
  throw new RunError('answer_wrong_kind', `${id} waits for ${KIND_NAMES[other.kind]} under ${other.id}${instead}`)
}

/** The pending that an answer belongs to, by the ticket. */
export const pendingFor = ({ pendings }: Ticket, { kind, id }: Answer): TicketPending | undefined =>
  pendings.find(pending => pending.kind === PENDING_KINDS[kind] && pending.id === id)

const KIND_NAMES = { approval: 'an approval', 'client-tool': 'a tool-result', interrupt: 'an interrupt response' }

/**
 * Checks an answer against the pending: the shown input, the offered options, the schema of the output.
 * @throws {RunError} `answer_invalid` if it does not match.
 * @throws {CheckLimitError} if the principal has used up its time for checks.
 */
export async function checkMatchesPending(
  view: View,
  answer: Answer,
  schema: Schema | undefined,
  manager: StreamManager,
  sessionId: string,
  checks: FormChecks,
): Promise<void> {
  const readLargeValue = (hash: string) => largeValue(manager, sessionId, hash)
  const problem = await answerProblem(view, answer, schema, readLargeValue, checks)
  if (problem !== undefined) throw new RunError('answer_invalid', `${answer.id}: ${problem}`)
}

async function answerProblem(
  view: View,
  answer: Answer,
  schema: Schema | undefined,
  readLargeValue: (hash: string) => Promise<Json>,
  checks: FormChecks,
): Promise<string | undefined> {
  if (answer.kind === 'approval') {
    // Also for settled pendings: a repeated answer must be to the same input.
    const part = partOfApproval(view, answer.id)
    if (part === undefined || answer.input === undefined) return undefined
    const { input = null, blobs } = part
    const hash = blobs?.['/input']?.hash
    const callInput = hash === undefined ? input : await readLargeValue(hash)
    return isSame(callInput, answer.input) ? undefined : 'the input of the answer differs from the input of the call'
  }
  const pending = view.pendings.find(({ kind, id }) => kind === PENDING_KINDS[answer.kind] && id === answer.id)
  if (answer.kind === 'tool-result' && pending?.kind === 'client-tool' && 'output' in answer) {
    const checked = schema && (await validate(schema, answer.output))
    return checked && 'problem' in checked
      ? `the output does not match the schema of the tool: ${checked.problem}`
      : undefined
  }
  if (answer.kind === 'interrupt' && pending?.kind === 'interrupt')
    return responseProblem(pending.interrupt, answer.response, checks)
  return undefined
}

/** The call with this approval id. Ids may contain the separator, so several may match: the latest wins. */
export function partOfApproval({ messages }: View, approvalId: string): ToolPart | undefined {
  const matches = (part: Part): part is ToolPart => 'toolCallId' in part && part.approval?.id === approvalId
  return messages.flatMap(({ parts }) => parts.filter(matches)).at(-1)
}

/** Why a response does not match an interrupt. Undefined if it matches. */
export async function responseProblem(
  { input }: Interrupt,
  response: Json,
  checks: FormChecks,
): Promise<string | undefined> {
  switch (input.kind) {
    case 'text':
      return typeof response === 'string' ? undefined : `expected text, found ${describeType(response)}`
    case 'choice':
    case 'multi-choice': {
      const isMultiple = input.kind === 'multi-choice' || input.multiple === true
      const offered = new Set<unknown>(input.options.map(({ id }) => id))
      const chosen = isMultiple ? response : [response]
      if (!Array.isArray(chosen)) return `expected a list of options, found ${describeType(response)}`
      const invalid = chosen.find(id => !offered.has(id))
      if (invalid === undefined && new Set(chosen).size === chosen.length) return undefined
      return `expected ${isMultiple ? 'some' : 'one'} of ${[...offered].join(', ')}`
    }
    case 'form':
      return formResponseProblem(input.schema, response, checks)
    default:
      return response === null ? 'expected a response, found null' : undefined
  }
}

const REFUSALS: Partial<Record<GuestRefusalReason, readonly [ErrorCode, string]>> = {
  'already-settled': ['answer_already_settled', 'it was already answered, or the run has ended: read the session'],
  late: ['answer_late', 'its deadline has passed: read the session'],
  unknown: ['answer_unknown', 'no pending request has this id: read the session'],
  unapproved: ['answer_unapproved', 'the call waits for approval: answer that first'],
  claimed: ['answer_claimed', 'another client has claimed it: wait until the claim expires'],
}

/** The error of a refused answer or claim. */
export function answerRefusal(reason: GuestRefusalReason, id: string): RunError {
  const [code, why] = REFUSALS[reason] ?? ['internal_error', `the log rejected it: ${reason}`]
  return new RunError(code, `${id}: ${why}`, { retryable: code === 'answer_claimed' })
}
