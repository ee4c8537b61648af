// A model that may ask a person: in its first pass it answers with what it would ask, and with what it would say if nobody answered.

import type { Json, JsonObject, Message, Part } from '@millrace/protocol'
import { ValidationError } from '../../error/error.ts'
import { embedSchema } from '../../schema/embed-schema.ts'
import { type JsonSchema, jsonSchemaOf, type Schema, validate } from '../../schema/schema.ts'
import { messagesOf } from './input.ts'
import type { Reasoned } from './reason.ts'
import { questionOf } from './use-interrupt.ts'

export interface ReasonInterrupt<R extends Schema | undefined = undefined> {
  /** Whether the model has to ask, or may go on without; it has to, if nothing is said. */
  readonly mode?: 'required' | 'optional'
  /** What a request of the model must be: one that `useInterrupt` takes. */
  readonly requestSchema: Schema
  /** What the person's answer must be. */
  readonly responseSchema?: R
  readonly schemaId?: string
  readonly schemaVersion?: string
}

/** What the first pass gave, as the log keeps it. */
export interface FirstPass extends Omit<Reasoned, 'said' | 'output'> {
  readonly document: JsonObject
}

/** Whether a first answer asks a person. */
export const isAsking = (document: Json): boolean => {
  const { decision = 'interrupt' } = document as { readonly decision?: unknown }
  return decision === 'interrupt'
}

/** The document of a first pass: what is asked, if the log takes that, and what would be said. */
export function envelopeOf(
  output: { readonly schema: Schema; readonly jsonSchema: JsonSchema } | undefined,
  interrupt: ReasonInterrupt<Schema | undefined>,
  fits: (question: object) => boolean,
): { readonly schema: Schema; readonly jsonSchema: JsonSchema } {
  const { mode = 'required', requestSchema } = interrupt
  const isOptional = mode === 'optional'
  const decision = { type: 'string', enum: ['continue', 'interrupt'] }
  const draft = output ? embedSchema(output.jsonSchema, 'output') : { schema: { type: 'string' }, definitions: {} }
  const draftName = output ? 'output' : 'draftText'
  const asked = embedSchema(jsonSchemaOf(requestSchema, 'useReason: interrupt.requestSchema'), 'interruptRequest')
  const definitions = { ...draft.definitions, ...asked.definitions }
  const properties = {
    ...(isOptional && { decision }),
    [draftName]: draft.schema,
    // Providers that hold a model to a schema want every field to be there.
    interruptRequest: isOptional ? { anyOf: [asked.schema, { type: 'null' }] } : asked.schema,
  }
  return {
    jsonSchema: {
      type: 'object',
      // Said here, because the schemas have words of their own.
      description: [
        ...(isOptional ? ['decision: whether a person has to be asked first.'] : []),
        `${draftName}: the answer as it would be if nobody could be asked.`,
        `interruptRequest: what the person is asked${isOptional ? ', null if nothing' : ''}.`,
      ].join(' '),
      properties,
      required: Object.keys(properties),
      additionalProperties: false,
      ...(Object.keys(definitions).length > 0 && { $defs: definitions }),
    },
    schema: schemaOf(value => check(value, isOptional, output?.schema, interrupt, fits)),
  }
}

type Checked = { readonly value: JsonObject } | { readonly problem: string }

async function check(
  given: unknown,
  isOptional: boolean,
  output: Schema | undefined,
  interrupt: ReasonInterrupt<Schema | undefined>,
  fits: (question: object) => boolean,
): Promise<Checked> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return { problem: 'expected an object' }
  const { decision, interruptRequest, draftText, output: draft } = given as { readonly [name: string]: Json }
  if (isOptional && decision !== 'continue' && decision !== 'interrupt') {
    return { problem: 'decision: expected continue or interrupt' }
  }
  const isAsked = !isOptional || decision === 'interrupt'
  if (!isAsked && interruptRequest !== undefined && interruptRequest !== null) {
    return { problem: 'interruptRequest: expected none, as decision is continue' }
  }
  const asked = isAsked ? await requestOf(interruptRequest, interrupt, fits) : { value: undefined }
  if ('problem' in asked) return { problem: `interruptRequest: ${asked.problem}` }
  const drafted = output ? await validate(output, draft) : textOf(draftText)
  // A draft that is none matters only where it is the answer.
  if ('problem' in drafted && !isAsked) return { problem: drafted.problem }
  const known = 'problem' in drafted ? {} : { [output ? 'output' : 'draftText']: drafted.value as Json }
  return {
    value: {
      ...(isOptional && { decision: decision as string }),
      ...known,
      ...(isAsked && { interruptRequest: asked.value as Json }),
    },
  }
}

/** A request as its schema has it, if a person can be asked that. */
async function requestOf(
  given: Json | undefined,
  { requestSchema, responseSchema }: ReasonInterrupt<Schema | undefined>,
  fits: (question: object) => boolean,
): Promise<{ readonly value: Json } | { readonly problem: string }> {
  const checked = await validate(requestSchema, given)
  if ('problem' in checked) return checked
  const value = checked.value as Json
  try {
    const question = await questionOf({ request: value as never, responseSchema })
    return fits(question) ? { value } : { problem: 'it is larger than what a person can be asked: ask less' }
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

/** What the model is told before its second pass: what it called and said, what was asked, and what the person answered. */
export function continued(
  { document, text, steps, calls }: FirstPass,
  said: readonly (readonly Part[])[],
  response: Json,
): readonly Message[] {
  const asked = JSON.stringify(document['interruptRequest'] ?? null)
  const answered = typeof response === 'string' ? response : JSON.stringify(response)
  const [draft, told] = messagesOf([
    { role: 'assistant', content: text },
    {
      role: 'user',
      content: `The person was asked: ${asked}\nThe person answered: ${answered}\nNow give the final answer, which takes this into account.`,
    },
  ]) as readonly [Message, Message]
  const before = steps.flatMap(({ toolCallIds }): readonly Part[] => {
    const own = calls.filter(({ toolCallId }) => toolCallIds.includes(toolCallId))
    if (own.length === 0) return []
    // Some providers take a call only with the thoughts that led to it.
    return (
      said.find(step => step.some(part => 'toolCallId' in part && toolCallIds.includes(part.toolCallId))) ?? [
        STEP,
        ...own,
      ]
    )
  })
  // Thoughts without the words that came of them are refused too; those are the document, which nobody is shown.
  const made = said.at(-1)?.some(part => 'toolCallId' in part)
    ? []
    : (said.at(-1)?.filter(({ type }) => type === 'file') ?? [])
  return [{ ...draft, parts: [...before, STEP, ...made, ...draft.parts] }, told]
}

/** The begin of what the model said at once. */
const STEP: Part = { type: 'step-start', key: 'step', at: 0 }
