// The two passes of a model that may ask a person. The answer of the first pass is a document: the request to the person,
// and the draft, which is the answer without asking.

import type { Json, JsonObject, Message, Part } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { ValidationError } from '../../error/error.ts'
import { embedSchema } from '../../schema/embed-schema.ts'
import type { FormChecks } from '../../schema/form-response.ts'
import { type JsonSchema, jsonSchemaOf, type Schema, validate } from '../../schema/schema.ts'
import type { ReasonOutcome } from './reason.ts'
import { messagesOf } from './reason-input.ts'
import { questionOf } from './use-interrupt.ts'

/** The option `interrupt` of `useReason`. */
export interface ReasonInterrupt<R extends Schema | undefined = undefined> {
  /** Whether the model must ask, or may continue without. @default 'required' */
  readonly mode?: 'required' | 'optional'
  /** Schema of the model's request, which must be valid for `useInterrupt`. */
  readonly requestSchema: Schema
  /** Schema of the person's response. @default none */
  readonly responseSchema?: R
  /** Id of the response schema, passed to clients. @default none */
  readonly schemaId?: string
  /** Version of the response schema, passed to clients. @default none */
  readonly schemaVersion?: string
}

/** The result of the first pass, as stored in the log. */
export interface FirstPass extends Omit<ReasonOutcome, 'entries' | 'output'> {
  readonly document: JsonObject
}

/** Whether the first answer asks a person. */
export const asksPerson = (document: Json): boolean => {
  const { decision = 'interrupt' } = document as { readonly decision?: unknown }
  return decision === 'interrupt'
}

/** The schema of the first answer: the request, if it fits the log, and the draft. */
export function firstPassSchema(
  output: { readonly schema: Schema; readonly jsonSchema: JsonSchema } | undefined,
  interrupt: ReasonInterrupt<Schema | undefined>,
  fits: (question: object) => boolean,
  checks: FormChecks,
): { readonly schema: Schema; readonly jsonSchema: JsonSchema } {
  const { mode = 'required', requestSchema } = interrupt
  const isOptional = mode === 'optional'
  const decision = { type: 'string', enum: ['continue', 'interrupt'] }
  const draft = output ? embedSchema(output.jsonSchema, 'output') : { schema: { type: 'string' }, definitions: {} }
  const draftName = output ? 'output' : 'draftText'
  const requestFormat = embedSchema(
    jsonSchemaOf(requestSchema, 'useReason: interrupt.requestSchema'),
    'interruptRequest',
  )
  const definitions = { ...draft.definitions, ...requestFormat.definitions }
  const properties = {
    ...(isOptional && { decision }),
    [draftName]: draft.schema,
    // Providers with strict schemas require every field.
    interruptRequest: isOptional ? { anyOf: [requestFormat.schema, { type: 'null' }] } : requestFormat.schema,
  }
  return {
    jsonSchema: {
      type: 'object',
      // In the outer description, because the inner schemas have their own.
      description: [
        ...(isOptional ? ['decision: whether a person has to be asked first.'] : []),
        `${draftName}: the answer as it would be without asking a person.`,
        `interruptRequest: what the person is asked${isOptional ? ', null if nothing' : ''}.`,
      ].join(' '),
      properties,
      required: Object.keys(properties),
      additionalProperties: false,
      ...(Object.keys(definitions).length > 0 && { $defs: definitions }),
    },
    schema: schemaOf(value => check(value, isOptional, output?.schema, interrupt, fits, checks)),
  }
}

type Checked = { readonly value: JsonObject } | { readonly problem: string }

async function check(
  value: unknown,
  isOptional: boolean,
  output: Schema | undefined,
  interrupt: ReasonInterrupt<Schema | undefined>,
  fits: (question: object) => boolean,
  checks: FormChecks,
): Promise<Checked> {
  if (!isObject(value)) return { problem: 'expected an object' }
  const { decision, interruptRequest, draftText, output: draft } = value as { readonly [name: string]: Json }
  if (isOptional && decision !== 'continue' && decision !== 'interrupt') {
    return { problem: 'decision: expected continue or interrupt' }
  }
  const isAsked = !isOptional || decision === 'interrupt'
  if (!isAsked && interruptRequest !== undefined && interruptRequest !== null) {
    return { problem: 'interruptRequest: expected none, as decision is continue' }
  }
  const request = isAsked ? await requestOf(interruptRequest, interrupt, fits, checks) : { value: undefined }
  if ('problem' in request) return { problem: `interruptRequest: ${request.problem}` }
  const drafted = output ? await validate(output, draft) : textOf(draftText)
  // An invalid draft matters only if it is the answer.
  if ('problem' in drafted && !isAsked) return { problem: drafted.problem }
  const validDraft = 'problem' in drafted ? {} : { [output ? 'output' : 'draftText']: drafted.value as Json }
  return {
    value: {
      ...(isOptional && { decision: decision as string }),
      ...validDraft,
      ...(isAsked && { interruptRequest: request.value as Json }),
    },
  }
}

/** Validates a request, and checks that a person can be asked it. */
async function requestOf(
  request: Json | undefined,
  { requestSchema, responseSchema }: ReasonInterrupt<Schema | undefined>,
  fits: (question: object) => boolean,
  checks: FormChecks,
): Promise<{ readonly value: Json } | { readonly problem: string }> {
  const checked = await validate(requestSchema, request)
  if ('problem' in checked) return checked
  const value = checked.value as Json
  try {
    const question = await questionOf({ request: value as never, responseSchema }, checks)
    return fits(question) ? { value } : { problem: 'it exceeds the size limit of an interrupt: shorten it' }
  } catch (error) {
    if (error instanceof ValidationError) return { problem: error.message }
    throw error
  }
}

const textOf = (text: unknown): { readonly value: string } | { readonly problem: string } =>
  typeof text === 'string' ? { value: text } : { problem: 'draftText: expected text' }

const schemaOf = (checked: (value: unknown) => Promise<Checked>): Schema => ({
  '~standard': {
    version: 1,
    vendor: 'millrace',
    validate: async value => {
      const result = await checked(value)
      return 'problem' in result ? { issues: [{ message: result.problem }] } : { value: result.value }
    },
  },
})

/** The messages before the second pass: the calls and text of the first pass, the request, and the response. */
export function secondPassMessages(
  { document, text, steps, calls }: FirstPass,
  partsOfSteps: readonly (readonly Part[])[],
  response: Json,
): readonly Message[] {
  const requestJson = JSON.stringify(document['interruptRequest'] ?? null)
  const answered = typeof response === 'string' ? response : JSON.stringify(response)
  const [draft, instruction] = messagesOf([
    { role: 'assistant', content: text },
    {
      role: 'user',
      content: `The person was asked: ${requestJson}\nThe person answered: ${answered}\nNow give the final answer, which takes this into account.`,
    },
  ]) as readonly [Message, Message]
  const callParts = steps.flatMap(({ toolCallIds }): readonly Part[] => {
    const passCalls = calls.filter(({ toolCallId }) => toolCallIds.includes(toolCallId))
    if (passCalls.length === 0) return []
    // Some providers require the reasoning before a call.
    return (
      partsOfSteps.find(step => step.some(part => 'toolCallId' in part && toolCallIds.includes(part.toolCallId))) ?? [
        STEP,
        ...passCalls,
      ]
    )
  })
  // Some providers also reject reasoning without the text after it. That text is the internal document.
  const lastStepParts = partsOfSteps.at(-1)?.some(part => 'toolCallId' in part)
    ? []
    : (partsOfSteps.at(-1)?.filter(({ type }) => type === 'file') ?? [])
  return [{ ...draft, parts: [...callParts, STEP, ...lastStepParts, ...draft.parts] }, instruction]
}

/** The start of a step. */
const STEP: Part = { type: 'step-start', key: 'step', at: 0 }
