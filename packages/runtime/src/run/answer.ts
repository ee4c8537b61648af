// What people and clients answer, checked before it is in the log: the session, who it is of, the kind, the id, what was offered, and the input that was shown.

import type { Refusal, StreamManager, Ticket, TicketPending } from '@millrace/log'
import type { Chunk, Interrupt, Json, Message, Pending, View } from '@millrace/protocol'
import type { ErrorCode } from '../error/code.ts'
import { RunError, ValidationError } from '../error/error.ts'
import { excerpt } from '../model/room.ts'
import { checkGiven, foundOf } from '../options.ts'
import { type Schema, validate } from '../schema/schema.ts'
import { isSame } from '../state/diff.ts'
import { largeValue } from './large.ts'

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

/** The entry that gives an answer; throws where it can never be one. */
export function chunkOf(answer: Answer): Chunk {
  checkGiven('answer', answer)
  const { kind, id } = answer
  if (typeof kind !== 'string' || !Object.hasOwn(KINDS, kind)) {
    const found = typeof kind === 'string' ? excerpt(kind, LONGEST_KIND) : foundOf(kind)
    throw new ValidationError(`answer.kind: expected approval, tool-result or interrupt, found ${found}`)
  }
  if (typeof id !== 'string' || id === '') throw new ValidationError(`answer.id: expected text, found ${foundOf(id)}`)
  switch (answer.kind) {
    case 'approval': {
      const { approved, reason } = answer
      if (typeof approved !== 'boolean') {
        throw new ValidationError(`answer.approved: expected true or false, found ${foundOf(approved)}`)
      }
      const at = id.lastIndexOf('::')
      const toolCallId = at < 0 ? id : id.slice(at + 2)
      return {
        type: 'tool-approval-response',
        toolCallId,
        approvalId: id,
        approved,
        ...(reason !== undefined && { reason: textOf('reason', reason) }),
      }
    }
    case 'tool-result': {
      const result = { toolCallId: id, executor: 'client' } as const
      if ('error' in answer) {
        const { code = 'client_tool_failed' } = answer
        const errorText = textOf('error', answer.error)
        if (typeof code !== 'string' || !CODE.test(code)) {
          throw new ValidationError(
            'answer.code: expected 1 to 64 small letters, digits and _, as in client_tool_failed',
          )
        }
        return { type: 'tool-output-error', ...result, errorText, code }
      }
      return { type: 'tool-output-available', ...result, output: jsonIn('output', answer.output) }
    }
    case 'interrupt':
      return { type: 'interrupt-response', interruptId: id, response: jsonIn('response', answer.response) }
  }
}

function textOf(what: string, text: unknown): string {
  if (typeof text !== 'string') throw new ValidationError(`answer.${what}: expected text, found ${foundOf(text)}`)
  if (text.length <= LONGEST_ERROR) return text
  throw new ValidationError(`answer.${what}: expected at most ${LONGEST_ERROR} characters, found ${text.length}`)
}

/** A value that is kept as it is; throws where it is no JSON, and would be kept as something else or not at all. */
function jsonIn(what: string, value: Json): Json {
  let isKept = false
  try {
    isKept = isJson(value)
  } catch (cause) {
    throw new ValidationError(`answer.${what}: expected JSON, found what is too deep or holds itself`, { cause })
  }
  if (isKept) return value
  throw new ValidationError(
    `answer.${what}: expected JSON, found ${foundOf(value)} that is none, or holds what is none`,
  )
}

function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return ['string', 'boolean'].includes(typeof value) || value === null
  if (Array.isArray(value)) return value.every(isJson)
  const prototype: unknown = Object.getPrototypeOf(value)
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null
  return isPlain && Object.values(value).every(own => own === undefined || isJson(own))
}

/** Throws where what waits under that id wants another kind of answer: a result never stands in for an approval, nor the other way round. */
export function mustBeOfKind({ pendings }: Ticket, { kind, id }: Pick<Answer, 'kind' | 'id'>): void {
  const isMeant = (pending: TicketPending) => pending.id === id || pending.toolCallId === id
  const wanted = pendings.filter(isMeant)
  if (wanted.length === 0 || wanted.some(pending => pending.kind === KINDS[kind] && pending.id === id)) return
  const [other] = wanted as [TicketPending]
  throw new RunError('answer_wrong_kind', `${id} waits for ${WANTED[other.kind]} under ${other.id}, not for ${kind}`)
}

const WANTED = { approval: 'an approval', 'client-tool': 'a tool-result', interrupt: 'an answer to its question' }

/** How the outputs of a client's tool are checked, where that is known here. */
export type OutputSchemaOf = (toolName: string, message: Message | undefined) => Schema | undefined

/** Throws where an answer is not to what waits: not to what was shown, none that was offered, no output that fits. */
export async function mustFit(
  view: View,
  answer: Answer,
  schemaOf: OutputSchemaOf,
  manager: StreamManager,
  sessionId: string,
): Promise<void> {
  const pending = view.pendings.find(({ kind, id }) => kind === KINDS[answer.kind] && id === answer.id)
  if (pending === undefined) return
  const message = pending.kind === 'interrupt' ? undefined : view.messages.find(({ id }) => id === pending.messageId)
  const known = (toolName: string) => schemaOf(toolName, message)
  const problem = await problemOf(pending, answer, known, hash => largeValue(manager, sessionId, hash))
  if (problem !== undefined) throw new RunError('answer_invalid', `${answer.id}: ${problem}`)
}

async function problemOf(
  pending: Pending,
  answer: Answer,
  schemaOf: (toolName: string) => Schema | undefined,
  large: (hash: string) => Promise<Json>,
): Promise<string | undefined> {
  if (answer.kind === 'approval' && pending.kind === 'approval') {
    if (answer.input === undefined) return undefined
    const { input = null, blobs } = pending.part
    const hash = blobs?.['/input']?.hash
    const shown = hash === undefined ? input : await large(hash)
    return isSame(shown, answer.input) ? undefined : 'the answer is to another input than the one that would run'
  }
  if (answer.kind === 'tool-result' && pending.kind === 'client-tool' && 'output' in answer) {
    const schema = schemaOf(pending.part.toolName)
    const checked = schema && (await validate(schema, answer.output))
    return checked && 'problem' in checked ? `the output does not fit: ${checked.problem}` : undefined
  }
  if (answer.kind === 'interrupt' && pending.kind === 'interrupt') return misfit(pending.interrupt, answer.response)
  return undefined
}

/** Why a response is none to a question; undefined where it is one. */
function misfit({ input }: Interrupt, response: Json): string | undefined {
  switch (input.kind) {
    case 'text':
      return typeof response === 'string' ? undefined : `expected text, found ${foundOf(response)}`
    case 'choice':
    case 'multi-choice': {
      const isMany = input.kind === 'multi-choice' || input.multiple === true
      const offered = input.options.map(({ id }) => id)
      const chosen = isMany ? response : [response]
      if (!Array.isArray(chosen)) return `expected a list of options, found ${foundOf(response)}`
      const other = chosen.find(id => typeof id !== 'string' || !offered.includes(id))
      if (other === undefined && new Set(chosen).size === chosen.length) return undefined
      return `expected ${isMany ? 'some' : 'one'} of ${offered.join(', ')}`
    }
    default:
      return undefined
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
