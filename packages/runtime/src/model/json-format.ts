// How a model is asked for JSON: by the format of its answer where it has one, in the prompt where it does not. Which it is, it says itself, in a warning.

import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { JsonSchema } from '../schema/schema.ts'

/** A document that a model is to answer with. */
export interface JsonRequest {
  readonly schema: JsonSchema
  readonly name: string
}

/** How to ask for it. */
export interface JsonFormat {
  /** For the call; nothing where the model would not look at it. */
  readonly responseFormat?: NonNullable<LanguageModelV4CallOptions['responseFormat']>
  /** For the prompt: the schema too, where the format cannot say it. */
  readonly instructions: string
}

/** What models have said that they lack: a schema of the answer, or JSON altogether. By the model itself, so that nothing is kept of one that is gone. */
const lacking = new WeakMap<object, 'schema' | 'json'>()

/** How to ask this model, as far as it is known. It is to be the one that its provider gave: an adapted one is new each time. */
export function jsonFormatOf(model: object, { schema, name }: JsonRequest): JsonFormat {
  const lack = lackOf(model)
  if (lack === undefined) {
    // Where the provider has no schemas after all, it may refuse to give JSON that the prompt does not speak of.
    return { responseFormat: { type: 'json', schema, name: nameOf(name) }, instructions: ASKED }
  }
  const instructions = toldOf(schema)
  // Without a schema it may still be held to JSON.
  return lack === 'schema' ? { responseFormat: { type: 'json' }, instructions } : { instructions }
}

/** How a model is told a schema that the format of its answer does not say. */
export const toldOf = (schema: JsonSchema): string =>
  `${ASKED} It has to fit this JSON Schema:\n${JSON.stringify(schema)}`

const ASKED = 'Answer with one JSON document and nothing else: no words around it, no code fence.'

/** What a model lacks; that it has no schemas it may say beforehand. */
function lackOf(model: object): 'schema' | 'json' | undefined {
  const { supportsStructuredOutputs } = model as { readonly supportsStructuredOutputs?: unknown }
  return lacking.get(model) ?? (supportsStructuredOutputs === false ? 'schema' : undefined)
}

/** Learns from the warnings of a call what its model lacks; true where that was not known, and the next call asks in other words. */
export function noteWarnings(
  model: object,
  warnings: readonly unknown[],
  { responseFormat }: Pick<JsonFormat, 'responseFormat'>,
): boolean {
  if (responseFormat?.type !== 'json' || !warnings.some(isRefusal)) return false
  const lack = responseFormat.schema ? 'schema' : 'json'
  const known = lackOf(model)
  // A call that was asked in the old words may end after one that was asked in the new.
  if (known === lack || known === 'json') return false
  lacking.set(model, lack)
  return true
}

/** Whether a warning says that the format was not looked at. A provider that tells the model the schema by itself warns of that in other words. */
function isRefusal(warning: unknown): boolean {
  const { type, feature, setting } = Object(warning) as { readonly [name: string]: unknown }
  // Older packages have another shape.
  const what = type === 'unsupported' ? feature : type === 'unsupported-setting' ? setting : undefined
  return typeof what === 'string' && /^response[ _-]?format\b/i.test(what)
}

/** Some providers take letters, digits, _ and - alone. */
const nameOf = (name: string): string => name.replace(/[^\w-]/g, '_').slice(0, 64) || 'response'
