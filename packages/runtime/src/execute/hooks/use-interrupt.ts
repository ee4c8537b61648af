// The hook `useInterrupt`: asks a person and waits for the response, in any process.

import type { BatchItem, Lane, TicketPending } from '@millrace/log'
import { MAX_PENDINGS, pendingKey } from '@millrace/log/internal'
import type { InterruptChunk, Json } from '@millrace/protocol'
import { describeType } from '../../error/check-object.ts'
import { MillraceError, ValidationError } from '../../error/error.ts'
import { logErrorCode } from '../../error/log-error-code.ts'
import { checkFormSchema, type FormChecks } from '../../schema/form-response.ts'
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

/** An option of a choice. */
export interface InterruptOption {
  /** Id of the option. The response contains it. */
  readonly id: string
  /** Text of the option for people. */
  readonly label: string
  /** Explains the option to people. */
  readonly description?: string
}

/** The request to a person. A form is described by the schema of its response. */
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

/** Options of `useInterrupt`. */
export interface InterruptOptions<R extends InterruptRequest, S extends Schema | undefined = undefined> {
  /** The question to the person. */
  readonly request: R
  /** Schema of the request, for requests that are built at run time. @default none */
  readonly requestSchema?: Schema
  /** Schema of the response. For a form it also describes the fields. @default none */
  readonly responseSchema?: S
  /** Id of the response schema, passed to clients. @default none */
  readonly schemaId?: string
  /** Version of the response schema, passed to clients. @default none */
  readonly schemaVersion?: string
  /** Identifies this request in the node. Required if several wait at the same time. @default the position in the node */
  readonly id?: string
  /** Additional data for the user interface. @default none */
  readonly meta?: { readonly [name: string]: Json }
  /** Time to wait for a response, in ms. After it the hook throws `interrupt_timeout`. @default no limit */
  readonly timeoutMs?: number
}

/** The response: text, the id of an option, several ids, or the object of a form. */
export type InterruptResponse<R extends InterruptRequest, S extends Schema | undefined> = S extends Schema
  ? Jsonified<OutputOf<S>>
  : R extends { kind: 'multi-choice' }
    ? string[]
    : R extends { kind: 'form' }
      ? Json
      : string

/**
 * Asks a person and returns the first valid response.
 * @throws {ValidationError} if an option is invalid.
 * @throws {MillraceError} `interrupt_timeout`, `interrupt_too_many`, `hook_result_too_large` or `workflow_changed`.
 */
export function useInterrupt<const R extends InterruptRequest, S extends Schema | undefined = undefined>(
  options: InterruptOptions<R, S>,
): Promise<InterruptResponse<R, S>> {
  return suppressUnhandled(interruptHook(options))
}

async function interruptHook<R extends InterruptRequest, S extends Schema | undefined>(
  options: InterruptOptions<R, S>,
): Promise<InterruptResponse<R, S>> {
  const execution = currentExecution('useInterrupt')
  if (typeof options !== 'object' || options === null) {
    throw new ValidationError(`useInterrupt: expected options, found ${describeType(options)}`)
  }
  let isLive = false
  const live = async (call: HookCall) => {
    isLive = true
    return { value: (await askUntilValid(call, options)) as unknown as Json }
  }
  try {
    const { interruptId, response } = (await execution.call(
      'useInterrupt',
      options.id,
      live,
    )) as unknown as InterruptAnswer
    // The logged form was checked when the person was asked, and another form is an error.
    if (!isLive) checkUnchanged(execution, interruptId, await questionOf(options, undefined))
    return response as InterruptResponse<R, S>
  } catch (error) {
    // Code that catches the error must not continue with the response to another request.
    if (MillraceError.isInstance(error) && error.code === 'workflow_changed')
      execution.failOnRejection(Promise.reject(error))
    throw error
  }
}

/** A response as stored in the log. */
interface InterruptAnswer {
  readonly interruptId: string
  readonly response: Json
}

/** Asks on the lane of a hook until a response is valid. */
export async function ask(
  call: HookCall,
  options: InterruptOptions<InterruptRequest, Schema | undefined>,
  entries: readonly BatchItem[],
): Promise<Json> {
  return (await askUntilValid(call, options, entries)).response
}

async function askUntilValid(
  call: HookCall,
  options: InterruptOptions<InterruptRequest, Schema | undefined>,
  entries: readonly BatchItem[] = [],
): Promise<InterruptAnswer> {
  const { work, replay } = call.execution
  const { responseSchema } = options
  checkFields(options)
  const question = await questionOf(options, work.formChecks)
  const { asked: before = [], askedAfter = 0 } = call.recorded ?? {}
  await work.session.current()
  let questionIds = before
  // A request that timed out in an earlier attempt of the node is repeated.
  const isFromEarlierAttempt = askedAfter < replay.failures
  let isOpen =
    questionIds.length > 0 && !(isFromEarlierAttempt && isDropped(call.execution, questionIds.at(-1) as string))
  if (isOpen) isOpen = await isStillAsked(call, questionIds.at(-1) as string, question, isFromEarlierAttempt)
  let problem: string | undefined
  for (let extraEntries = entries; ; extraEntries = []) {
    if (!isOpen) {
      const chunk = interruptOf(nextId(call), question, options, problem, work.clock())
      questionIds = [...questionIds, chunk.interruptId]
      await commitRequest(call, chunk, questionIds, extraEntries)
    }
    const interruptId = questionIds.at(-1) as string
    const response = await waitForAnswer(call, interruptId)
    isOpen = false
    if (responseSchema === undefined) return { interruptId, response }
    const checked = await validate(responseSchema, response)
    if (!('problem' in checked)) {
      return { interruptId, response: JSON.parse(JSON.stringify(checked.value ?? null)) as Json }
    }
    problem = checked.problem
  }
}

/** Commits a request. @throws {MillraceError} if it exceeds a limit of the log. */
async function commitRequest(
  call: HookCall,
  chunk: InterruptChunk,
  questionIds: readonly string[],
  extraEntries: readonly BatchItem[],
): Promise<void> {
  const { lane, execution } = call
  const question = [
    { chunk, lane },
    { chunk: checkpointOf(lane), lane },
  ]
  try {
    await call.commit([...extraEntries, ...question], { asked: questionIds, askedAfter: execution.replay.failures })
  } catch (cause) {
    const refusal = logErrorCode(cause)
    if (refusal === 'refused' && execution.work.writer.ticket.pendings.length >= MAX_PENDINGS) {
      const problem = `useInterrupt: a run may wait for ${MAX_PENDINGS} answers at most: ask fewer at a time`
      throw new MillraceError('interrupt_too_many', problem, { cause })
    }
    if (refusal === 'too-large' && !lane.fits(question)) {
      const problem = 'useInterrupt: the question exceeds the size limit of the log: ask less, or show a link'
      throw new MillraceError('hook_result_too_large', problem, { cause })
    }
    throw cause
  }
}

/** Whether the open request is the one that the code asks. A different request of an earlier attempt is dropped. */
async function isStillAsked(
  { execution, lane }: HookCall,
  interruptId: string,
  question: object,
  isFromEarlierAttempt: boolean,
): Promise<boolean> {
  if (!isFromEarlierAttempt) checkUnchanged(execution, interruptId, question)
  if (!isDifferent(execution, interruptId, question)) return true
  await settle(execution, lane, [interruptId], () => true)
  return false
}

/** @throws {MillraceError} if the request differs from the one that was shown. */
function checkUnchanged(execution: NodeExecution, interruptId: string, question: object): void {
  if (!isDifferent(execution, interruptId, question)) return
  throw execution.replay.changedError('the request of useInterrupt differs from the one that was shown')
}

function isDifferent({ work }: NodeExecution, interruptId: string, question: object): boolean {
  const interrupt = work.session.interrupt(interruptId)
  if (interrupt === undefined) return false
  return !isSame(interrupt.input as unknown as Json, JSON.parse(JSON.stringify(question)) as Json)
}

/** @throws {ValidationError} if an optional field is invalid. */
function checkFields(options: InterruptOptions<InterruptRequest, Schema | undefined>): void {
  const { responseSchema, requestSchema, schemaId, schemaVersion, meta, timeoutMs } = options
  const wrong = (field: string, expected: string, found: unknown) =>
    new ValidationError(`useInterrupt: ${field}: expected ${expected}, found ${describeType(found)}`)
  for (const [name, schema] of Object.entries({ responseSchema, requestSchema })) {
    if (schema !== undefined) checkSchema(schema, `useInterrupt: ${name}`)
  }
  for (const [name, text] of Object.entries({ schemaId, schemaVersion })) {
    if (text !== undefined && typeof text !== 'string') throw wrong(name, 'text', text)
  }
  if (meta !== undefined && !isJsonObject(meta)) throw wrong('meta', 'an object of JSON', meta)
  if (timeoutMs === undefined || timeoutMs === Number.POSITIVE_INFINITY) return
  if (!(typeof timeoutMs === 'number' && timeoutMs > 0)) throw wrong('timeoutMs', 'milliseconds above 0', timeoutMs)
}

/** Whether a value is an object that JSON does not change. */
function isJsonObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  try {
    return isSame(JSON.parse(JSON.stringify(value)) as Json, value as Json)
  } catch {
    return false
  }
}

/** The request as a person sees it. Without `checks`, the schema of a form is not checked. @throws {ValidationError} if it is not valid. */
export async function questionOf(
  { request, requestSchema, responseSchema }: InterruptOptions<InterruptRequest, Schema | undefined>,
  checks: FormChecks | undefined,
) {
  const checked = requestSchema ? await validate(requestSchema, request) : { value: request }
  if ('problem' in checked)
    throw new ValidationError(
      `useInterrupt: request: expected a value that requestSchema accepts, found a problem: ${checked.problem}`,
    )
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
        throw new ValidationError(
          'useInterrupt: request.schema: expected the JSON Schema of the form, found none: set schema or responseSchema',
        )
      }
      const form = schema ?? jsonSchemaOf(responseSchema as Schema, 'useInterrupt: responseSchema')
      if (checks) await checkFormSchema(form, 'useInterrupt: the schema of the form', checks)
      return { kind, ...text, schema: form }
    }
    default:
      throw new ValidationError('useInterrupt: request.kind: expected text, choice, multi-choice or form')
  }
}

/** The public fields of the options. */
function optionsOf(options: unknown): Json {
  if (!Array.isArray(options) || options.length === 0) {
    throw new ValidationError('useInterrupt: request.options: expected at least one option')
  }
  const ids = new Set<unknown>()
  return options.map((option: unknown, index) => {
    const { id, label, description } = Object(option) as { id?: unknown; label?: unknown; description?: unknown }
    if (typeof id !== 'string' || typeof label !== 'string' || ids.has(id)) {
      throw new ValidationError(`useInterrupt: request.options.${index}: expected a unique id and a label`)
    }
    ids.add(id)
    return { id, label, ...(typeof description === 'string' && { description }) }
  })
}

/** Optional fields of a request. */
type InterruptFields = Pick<InterruptOptions<InterruptRequest>, 'schemaId' | 'schemaVersion' | 'meta' | 'timeoutMs'>

/** Whether a request fits the size limit of the log. */
export function isAskable(call: HookCall, question: object, fields: InterruptFields): boolean {
  const { lane, execution } = call
  return lane.fits([interruptOf(nextId(call), question, fields, undefined, execution.work.clock()), checkpointOf(lane)])
}

function interruptOf(
  interruptId: string,
  question: object,
  { schemaId, schemaVersion, meta, timeoutMs }: InterruptFields,
  problem: string | undefined,
  now: number,
): InterruptChunk {
  const allMeta = { ...meta, ...(problem !== undefined && { problem }) }
  return {
    type: 'interrupt',
    interruptId,
    input: question,
    ...(schemaId !== undefined && { schemaId }),
    ...(schemaVersion !== undefined && { schemaVersion }),
    ...(Object.keys(allMeta).length > 0 && { meta: allMeta }),
    ...(timeoutMs !== undefined && Number.isFinite(timeoutMs) && { deadline: Math.ceil(now + timeoutMs) }),
  } as InterruptChunk
}

/** The id of the next request of a hook: one that the run has not used. */
function nextId({ hookId, execution }: HookCall): string {
  const { session, runId } = execution.work
  for (let n = 1; ; n++) {
    const interruptId = `${runId}::${hookId}${n === 1 ? '' : `.${n}`}`
    if (session.interrupt(interruptId) === undefined) return interruptId
  }
}

/** Whether a request was settled without a response. A person's response may be null, too. */
const isDropped = ({ replay }: NodeExecution, interruptId: string): boolean =>
  replay.resultOf(unansweredRecordId(interruptId))?.value === interruptId

/**
 * Name of the record of an unanswered request, by the request's name in its run. A run that continues from this one may
 * use the name again.
 */
const unansweredRecordId = (interruptId: string): string =>
  `${interruptId.slice(interruptId.lastIndexOf('::') + '::'.length)}/unanswered`

/** Waits for the response to a request. */
async function waitForAnswer(call: HookCall, interruptId: string): Promise<Json> {
  const { work } = call.execution
  const session = await work.session.current()
  for (;;) {
    const interrupt = session.interrupt(interruptId)
    if (interrupt === undefined) throw new MillraceError('internal_error', `the log has no interrupt ${interruptId}`)
    if (interrupt.status === 'answered' && !isDropped(call.execution, interruptId)) return interrupt.response ?? null
    const { deadline = Number.POSITIVE_INFINITY } = interrupt
    if (interrupt.status === 'answered' || (deadline <= work.clock() && (await expire(call, interruptId)))) {
      throw new MillraceError('interrupt_timeout', `${interruptId} was not answered in time`)
    }
    await call.park([`interrupt:${interruptId}`], deadline)
  }
}

/** Settles a request after its deadline. Returns false if it was answered, or if the store's clock is behind. */
async function expire({ execution, lane, signal }: HookCall, interruptId: string): Promise<boolean> {
  const clock = await execution.work.session.clock()
  return settle(execution, lane, [interruptId], ({ deadline = clock }) => deadline <= clock && !signal.aborted)
}

/** Settles the open requests of an ended node. */
export async function settleOpenInterrupts(execution: NodeExecution): Promise<void> {
  const { openQuestions: questionIds } = execution.replay
  if (questionIds.length > 0) await settle(execution, execution.lane, questionIds, () => true)
}

async function settle(
  { work, replay }: NodeExecution,
  lane: Lane,
  questionIds: readonly string[],
  matches: (pending: TicketPending) => boolean,
): Promise<boolean> {
  const keys = new Set(questionIds.map(id => `interrupt:${id}`))
  let records: readonly HookRecord[] = []
  const done = await work.writer.decide(({ pendings }) => {
    const open = pendings.filter(pending => keys.has(pendingKey(pending)) && matches(pending))
    if (open.length === 0 || work.signal.aborted) return undefined
    const responses = open.map(({ id }): BatchItem => {
      return { chunk: { type: 'interrupt-response', interruptId: id, response: null }, lane }
    })
    records = open.map(({ id }) => ({ hookId: unansweredRecordId(id), hook: 'unanswered', result: { value: id } }))
    return [...responses, ...records.map(record => hookRecordEntry(record, lane)), { chunk: checkpointOf(lane), lane }]
  })
  if (done) for (const record of records) replay.add(record)
  await work.session.catchUp()
  return done !== undefined
}
