// A question to a person, which the node waits for, in whichever process it will be answered.

import type { BatchItem, Lane, TicketPending } from '@millrace/log'
import { MAX_PENDINGS, pendingKey } from '@millrace/log/internal'
import type { InterruptChunk, Json } from '@millrace/protocol'
import { describeType } from '../../error/check-object.ts'
import { MillraceError, ValidationError } from '../../error/error.ts'
import { logErrorCode } from '../../error/log-error.ts'
import { checkFormSchema } from '../../schema/form-response.ts'
import type { Jsonified } from '../../schema/json.ts'
import {
  checkSchema,
  type JsonSchema,
  jsonSchemaOf,
  type OutputOf,
  type Schema,
  validate,
} from '../../schema/schema.ts'
import { isSame } from '../../session/state-diff.ts'
import { currentExecution, type HookCall, type NodeExecution, suppressUnhandled } from '../replay/execution.ts'
import { checkpointOf, type HookRecord, hookRecordEntry } from '../replay/journal.ts'

/** One answer to choose. */
export interface InterruptOption {
  readonly id: string
  readonly label: string
  readonly description?: string
}

/** What a person is asked; a form is described by the schema of its response. */
export type InterruptRequest =
  | { readonly kind: 'text'; readonly question?: string }
  | {
      readonly kind: 'choice'
      readonly question: string
      readonly options: readonly InterruptOption[]
      readonly multiple?: false
    }
  | { readonly kind: 'multi-choice'; readonly question: string; readonly options: readonly InterruptOption[] }
  | { readonly kind: 'form'; readonly question?: string; readonly schema?: JsonSchema }

export interface InterruptOptions<R extends InterruptRequest, S extends Schema | undefined = undefined> {
  readonly request: R
  /** What the request must be; for requests that are made at run time. */
  readonly requestSchema?: Schema
  /** What the response must be; of a form it is also the description of its fields. */
  readonly responseSchema?: S
  readonly schemaId?: string
  readonly schemaVersion?: string
  /** Tells this question from others of the node; needed where several wait at the same time. */
  readonly id?: string
  /** What goes along for who shows the question. */
  readonly meta?: { readonly [name: string]: Json }
  /** For how long an answer is waited for, in milliseconds; after that the hook throws `interrupt_timeout`. For ever, if nothing is said. */
  readonly timeout?: number
}

/** What a person answers: text, an option's id, several of them, or a form's object. */
export type InterruptResponse<R extends InterruptRequest, S extends Schema | undefined> = S extends Schema
  ? Jsonified<OutputOf<S>>
  : R extends { kind: 'multi-choice' }
    ? string[]
    : R extends { kind: 'form' }
      ? Json
      : string

/** Asks a person, and gives the answer: the first that fits. */
export function useInterrupt<const R extends InterruptRequest, S extends Schema | undefined = undefined>(
  options: InterruptOptions<R, S>,
): Promise<InterruptResponse<R, S>> {
  return suppressUnhandled(interrupted(options))
}

async function interrupted<R extends InterruptRequest, S extends Schema | undefined>(
  options: InterruptOptions<R, S>,
): Promise<InterruptResponse<R, S>> {
  const execution = currentExecution('useInterrupt')
  if (typeof options !== 'object' || options === null) {
    throw new ValidationError(`useInterrupt: expected options, found ${describeType(options)}`)
  }
  let isAskedNow = false
  const live = async (call: HookCall) => {
    isAskedNow = true
    return { value: (await answered(call, options)) as unknown as Json }
  }
  try {
    const { interruptId, response } = (await execution.call(
      'useInterrupt',
      options.id,
      live,
    )) as unknown as InterruptAnswer
    if (!isAskedNow) mustBeTheSame(execution, interruptId, await questionOf(options))
    return response as InterruptResponse<R, S>
  } catch (error) {
    // Code that catches it does not go on with what was answered to something else.
    if (MillraceError.isInstance(error) && error.code === 'workflow_changed')
      execution.failOnRejection(Promise.reject(error))
    throw error
  }
}

/** The answer to a question, as the log keeps it. */
interface InterruptAnswer {
  readonly interruptId: string
  readonly response: Json
}

/** Asks until an answer fits, on the lane of a hook. */
export async function ask(
  call: HookCall,
  options: InterruptOptions<InterruptRequest, Schema | undefined>,
  said: readonly BatchItem[],
): Promise<Json> {
  return (await answered(call, options, said)).response
}

async function answered(
  call: HookCall,
  options: InterruptOptions<InterruptRequest, Schema | undefined>,
  said: readonly BatchItem[] = [],
): Promise<InterruptAnswer> {
  const { work, replay } = call.execution
  const { responseSchema } = options
  checkAbout(options)
  const question = await questionOf(options)
  const { asked: before = [], askedAfter = 0 } = call.recorded ?? {}
  await work.session.refresh()
  let asked = before
  // What nobody answered in time while the node was tried before is asked again.
  const isOfTryBefore = askedAfter < replay.failures
  let isOpen = asked.length > 0 && !(isOfTryBefore && isDropped(call.execution, asked.at(-1) as string))
  if (isOpen) isOpen = await isStillAsked(call, asked.at(-1) as string, question, isOfTryBefore)
  let problem: string | undefined
  for (let beside = said; ; beside = []) {
    if (!isOpen) {
      const chunk = interruptOf(nextId(call), question, options, problem, work.clock())
      asked = [...asked, chunk.interruptId]
      await put(call, chunk, asked, beside)
    }
    const interruptId = asked.at(-1) as string
    const response = await answerTo(call, interruptId)
    isOpen = false
    if (responseSchema === undefined) return { interruptId, response }
    const checked = await validate(responseSchema, response)
    if (!('problem' in checked)) {
      return { interruptId, response: JSON.parse(JSON.stringify(checked.value ?? null)) as Json }
    }
    problem = checked.problem
  }
}

/** Commits a question; throws where the log has no room for it. */
async function put(
  call: HookCall,
  chunk: InterruptChunk,
  asked: readonly string[],
  beside: readonly BatchItem[],
): Promise<void> {
  const { lane, execution } = call
  const question = [
    { chunk, lane },
    { chunk: checkpointOf(lane), lane },
  ]
  try {
    await call.commit([...beside, ...question], { asked, askedAfter: execution.replay.failures })
  } catch (cause) {
    const refusal = logErrorCode(cause)
    if (refusal === 'refused' && execution.work.writer.ticket.pendings.length >= MAX_PENDINGS) {
      const what = `useInterrupt: a run may wait for ${MAX_PENDINGS} answers at most: ask fewer at a time`
      throw new MillraceError('interrupt_too_many', what, { cause })
    }
    if (refusal === 'too-large' && !lane.fits(question)) {
      const what = 'useInterrupt: the question exceeds the size limit of the log: ask less, or show a link'
      throw new MillraceError('hook_result_too_large', what, { cause })
    }
    throw cause
  }
}

/** Whether a question that was asked is the one that the code asks; that of a try before this one may be another, and is dropped then. */
async function isStillAsked(
  { execution, lane }: HookCall,
  interruptId: string,
  question: object,
  isOfTryBefore: boolean,
): Promise<boolean> {
  if (!isOfTryBefore) mustBeTheSame(execution, interruptId, question)
  if (!isOther(execution, interruptId, question)) return true
  await settle(execution, lane, [interruptId], () => true)
  return false
}

/** Throws where the code asks something else than what a person was shown. */
function mustBeTheSame(execution: NodeExecution, interruptId: string, question: object): void {
  if (!isOther(execution, interruptId, question)) return
  const what = 'useInterrupt asks another question than the one that a person was shown'
  throw new MillraceError(
    'workflow_changed',
    `the code of node ${execution.at.node} is not what it was when the run came there: ${what}. Give the workflow another version, and say in migrate how such runs go on`,
  )
}

function isOther({ work }: NodeExecution, interruptId: string, question: object): boolean {
  const known = work.session.interrupt(interruptId)
  return known !== undefined && !isSame(known.input as unknown as Json, JSON.parse(JSON.stringify(question)) as Json)
}

/** Throws where what goes along with a question is not what may. */
function checkAbout(options: InterruptOptions<InterruptRequest, Schema | undefined>): void {
  const { responseSchema, requestSchema, schemaId, schemaVersion, meta, timeout } = options
  const wrong = (what: string, expected: string, found: unknown) =>
    new ValidationError(`useInterrupt: ${what}: expected ${expected}, found ${describeType(found)}`)
  for (const [name, schema] of Object.entries({ responseSchema, requestSchema })) {
    if (schema !== undefined) checkSchema(schema, `useInterrupt: ${name}`)
  }
  for (const [name, text] of Object.entries({ schemaId, schemaVersion })) {
    if (text !== undefined && typeof text !== 'string') throw wrong(name, 'text', text)
  }
  if (meta !== undefined && !isJsonObject(meta)) throw wrong('meta', 'an object of JSON', meta)
  if (timeout === undefined || timeout === Number.POSITIVE_INFINITY) return
  if (!(typeof timeout === 'number' && timeout > 0)) throw wrong('timeout', 'milliseconds from 1 on', timeout)
}

/** Whether something is an object that is the same once it was in the log. */
function isJsonObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  try {
    return isSame(JSON.parse(JSON.stringify(value)) as Json, value as Json)
  } catch {
    return false
  }
}

/** What a person is shown; throws where it is nothing that can be asked. */
export async function questionOf({
  request,
  requestSchema,
  responseSchema,
}: InterruptOptions<InterruptRequest, Schema | undefined>) {
  const checked = requestSchema ? await validate(requestSchema, request) : { value: request }
  if ('problem' in checked) throw new ValidationError(`useInterrupt: request does not fit: ${checked.problem}`)
  const { kind, question, options, schema } = Object(checked.value) as {
    readonly kind?: unknown
    readonly question?: unknown
    readonly options?: unknown
    readonly schema?: JsonSchema
  }
  if (question !== undefined && typeof question !== 'string') {
    throw new ValidationError(`useInterrupt: request.question: expected text, found ${describeType(question)}`)
  }
  const text = question === undefined ? {} : { question }
  switch (kind) {
    case 'text':
      return { kind, ...text }
    case 'choice':
    case 'multi-choice':
      return { kind, question: question ?? 'Please choose an option.', options: optionsOf(options) }
    case 'form': {
      if (responseSchema === undefined && schema === undefined) {
        throw new ValidationError('useInterrupt: a form needs a responseSchema, or a schema in its request')
      }
      const form = schema ?? jsonSchemaOf(responseSchema as Schema, 'useInterrupt: responseSchema')
      checkFormSchema(form, 'useInterrupt: the schema of the form')
      return { kind, ...text, schema: form }
    }
    default:
      throw new ValidationError('useInterrupt: request.kind: expected text, choice, multi-choice or form')
  }
}

/** The options as people see them: what else they hold stays here. */
function optionsOf(options: unknown): Json {
  if (!Array.isArray(options) || options.length === 0) {
    throw new ValidationError('useInterrupt: request.options: expected at least one')
  }
  const ids = new Set<unknown>()
  return options.map((option: unknown, index) => {
    const { id, label, description } = Object(option) as { id?: unknown; label?: unknown; description?: unknown }
    if (typeof id !== 'string' || typeof label !== 'string' || ids.has(id)) {
      throw new ValidationError(`useInterrupt: request.options.${index}: expected an id of its own and a label`)
    }
    ids.add(id)
    return { id, label, ...(typeof description === 'string' && { description }) }
  })
}

/** What goes along with a question. */
type About = Pick<InterruptOptions<InterruptRequest>, 'schemaId' | 'schemaVersion' | 'meta' | 'timeout'>

/** Whether the log takes a question, by its size. */
export function isAskable(call: HookCall, question: object, about: About): boolean {
  const { lane, execution } = call
  return lane.fits([interruptOf(nextId(call), question, about, undefined, execution.work.clock()), checkpointOf(lane)])
}

function interruptOf(
  interruptId: string,
  question: object,
  { schemaId, schemaVersion, meta, timeout }: About,
  problem: string | undefined,
  now: number,
): InterruptChunk {
  const about = { ...meta, ...(problem !== undefined && { problem }) }
  return {
    type: 'interrupt',
    interruptId,
    input: question,
    ...(schemaId !== undefined && { schemaId }),
    ...(schemaVersion !== undefined && { schemaVersion }),
    ...(Object.keys(about).length > 0 && { meta: about }),
    ...(timeout !== undefined && Number.isFinite(timeout) && { deadline: Math.ceil(now + timeout) }),
  } as InterruptChunk
}

/** The id of the next question of a hook: one that the run has not asked under yet. */
function nextId({ hookId, execution }: HookCall): string {
  const { session, runId } = execution.work
  for (let n = 1; ; n++) {
    const interruptId = `${runId}::${hookId}${n === 1 ? '' : `.${n}`}`
    if (session.interrupt(interruptId) === undefined) return interruptId
  }
}

/** Whether a question was settled because nobody answered it: a person's answer may be null too. */
const isDropped = ({ replay }: NodeExecution, interruptId: string): boolean =>
  replay.resultOf(markOf(interruptId))?.value === interruptId

/** The record of a question that nobody answered: one of its execution, by the name that the question has in its run; one that goes on from it may have the name again. */
const markOf = (interruptId: string): string =>
  `${interruptId.slice(interruptId.lastIndexOf('::') + '::'.length)}/unanswered`

/** The answer to a question, once there is one. */
async function answerTo(call: HookCall, interruptId: string): Promise<Json> {
  const { work } = call.execution
  const { session } = work
  await session.refresh()
  for (;;) {
    const known = session.interrupt(interruptId)
    if (known === undefined) throw new MillraceError('internal_error', `the log holds no question ${interruptId}`)
    if (known.status === 'answered' && !isDropped(call.execution, interruptId)) return known.response ?? null
    const { deadline = Number.POSITIVE_INFINITY } = known
    if (known.status === 'answered' || (deadline <= work.clock() && (await lapse(call, interruptId)))) {
      throw new MillraceError('interrupt_timeout', `nobody answered ${interruptId} in time`)
    }
    await call.park([`interrupt:${interruptId}`], deadline)
  }
}

/** Settles a question that nobody answered in time; false where somebody was faster, or by the store's clock there is time left. */
async function lapse({ execution, lane, signal }: HookCall, interruptId: string): Promise<boolean> {
  const clock = await execution.work.session.clock()
  return settle(execution, lane, [interruptId], ({ deadline = clock }) => deadline <= clock && !signal.aborted)
}

/** Settles the questions of a node that has ended without their answers: nobody is asked what nobody wants to know. */
export async function dropQuestions(execution: NodeExecution): Promise<void> {
  const { openQuestions: asked } = execution.replay
  if (asked.length > 0) await settle(execution, execution.lane, asked, () => true)
}

async function settle(
  { work, replay }: NodeExecution,
  lane: Lane,
  asked: readonly string[],
  isMeant: (pending: TicketPending) => boolean,
): Promise<boolean> {
  const keys = new Set(asked.map(id => `interrupt:${id}`))
  let marks: readonly HookRecord[] = []
  const done = await work.writer.decide(({ pendings }) => {
    const open = pendings.filter(pending => keys.has(pendingKey(pending)) && isMeant(pending))
    if (open.length === 0 || work.signal.aborted) return undefined
    const responses = open.map(({ id }): BatchItem => {
      return { chunk: { type: 'interrupt-response', interruptId: id, response: null }, lane }
    })
    marks = open.map(({ id }) => ({ hookId: markOf(id), hook: 'unanswered', result: { value: id } }))
    return [...responses, ...marks.map(mark => hookRecordEntry(mark, lane)), { chunk: checkpointOf(lane), lane }]
  })
  if (done) for (const mark of marks) replay.add(mark)
  await work.session.catchUp()
  return done !== undefined
}
