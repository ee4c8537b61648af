// A question to a person, which the node waits for, in whichever process it will be answered.

import { pendingKey, type Said } from '@millrace/log'
import type { Chunk, Json } from '@millrace/protocol'
import { MillraceError, ValidationError } from '../error/error.ts'
import { foundOf } from '../options.ts'
import type { Jsonified } from '../schema/json.ts'
import { type JsonSchema, jsonSchemaOf, type OutputOf, type Schema, validate } from '../schema/schema.ts'
import { type Call, executionOf, sealOf } from '../workflow/execution.ts'

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
export async function useInterrupt<const R extends InterruptRequest, S extends Schema | undefined = undefined>(
  options: InterruptOptions<R, S>,
): Promise<InterruptResponse<R, S>> {
  const execution = executionOf('useInterrupt')
  if (typeof options !== 'object' || options === null) {
    throw new ValidationError(`useInterrupt: expected options, found ${foundOf(options)}`)
  }
  const value = await execution.call('useInterrupt', options.id, async call => ({ value: await ask(call, options) }))
  return value as InterruptResponse<R, S>
}

/** Asks until an answer fits, on the lane of a hook. */
export async function ask(
  call: Call,
  options: InterruptOptions<InterruptRequest, Schema | undefined>,
  said: readonly Said[] = [],
): Promise<Json> {
  const { work } = call.execution
  const { responseSchema } = options
  const question = await questionOf(options)
  let asked = call.begun?.asked ?? []
  let problem: string | undefined
  for (let beside = said; ; beside = []) {
    let interruptId = asked.at(-1)
    if (interruptId === undefined || problem !== undefined) {
      interruptId = `${work.runId}::${call.hookId}${asked.length === 0 ? '' : `.${asked.length + 1}`}`
      asked = [...asked, interruptId]
      const chunk = interruptOf(interruptId, question, options, problem, work.clock())
      await call.commit([...beside, { chunk, lane: call.lane }, { chunk: sealOf(call.lane), lane: call.lane }], {
        asked,
      })
    }
    const response = await answerTo(call, interruptId)
    if (responseSchema === undefined) return response
    const checked = await validate(responseSchema, response)
    if (!('problem' in checked)) return JSON.parse(JSON.stringify(checked.value)) as Json
    problem = checked.problem
  }
}

async function questionOf({
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
      return { kind, ...text, schema: schema ?? jsonSchemaOf(responseSchema as Schema, 'useInterrupt: responseSchema') }
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

function interruptOf(
  interruptId: string,
  question: object,
  { schemaId, schemaVersion, meta, timeout }: InterruptOptions<InterruptRequest, Schema | undefined>,
  problem: string | undefined,
  now: number,
): Chunk {
  const about = { ...meta, ...(problem !== undefined && { problem }) }
  return {
    type: 'interrupt',
    interruptId,
    input: question,
    ...(schemaId !== undefined && { schemaId }),
    ...(schemaVersion !== undefined && { schemaVersion }),
    ...(Object.keys(about).length > 0 && { meta: about }),
    ...(timeout !== undefined && { deadline: Math.ceil(now + timeout) }),
  } as Chunk
}

/** The answer to a question, once there is one. */
async function answerTo(call: Call, interruptId: string): Promise<Json> {
  const { work } = call.execution
  const { session, writer } = work
  await session.sync(writer.cursor.sequence)
  for (;;) {
    const known = session.interrupt(interruptId)
    if (known === undefined) throw new MillraceError('internal_error', `the log holds no question ${interruptId}`)
    if (known.status === 'answered') return known.response ?? null
    const { deadline = Number.POSITIVE_INFINITY } = known
    if (deadline <= work.clock() && (await lapse(call, interruptId))) {
      throw new MillraceError('interrupt_timeout', `nobody answered ${interruptId} in time`)
    }
    await call.park([`interrupt:${interruptId}`], deadline)
  }
}

/** Settles a question that nobody answered in time; false where somebody was faster, or by the store's clock there is time left. */
async function lapse(call: Call, interruptId: string): Promise<boolean> {
  const { work } = call.execution
  const clock = await work.session.clock()
  const done = await work.writer.decide(({ pendings }) => {
    const open = pendings.find(pending => pendingKey(pending) === `interrupt:${interruptId}`)
    if (open === undefined || (open.deadline ?? clock) > clock || call.signal.aborted) return undefined
    const { lane } = call
    return [
      { chunk: { type: 'interrupt-response', interruptId, response: null }, lane },
      { chunk: sealOf(lane), lane },
    ]
  })
  await work.session.catchUp()
  return done !== undefined
}
