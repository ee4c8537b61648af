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
  /** For the prompt; nothing where the format is known to say it all. */
  readonly instructions?: string
}

/** What a model lacks: a schema of the answer, or JSON altogether. */
type MissingFeature = 'nothing' | 'schema' | 'json'

/** What models have said that they lack. By the model itself, so that nothing is kept of one that is gone. */
const missingFeatures = new WeakMap<object, MissingFeature>()

/** How to ask this model, as far as it is known. It is to be the one that its provider gave: an adapted one is new each time. */
export function jsonFormatOf(model: object, { schema, name }: JsonRequest): JsonFormat {
  const lack = missingFeatureOf(model)
  const responseFormat = { type: 'json', schema, name: nameOf(name) } as const
  if (lack === 'nothing') return { responseFormat }
  const instructions = schemaInstructions(schema)
  // Of whom nothing is known is asked both ways: some words more cost less than an answer that does not fit.
  if (lack === undefined) return { responseFormat, instructions }
  // Without a schema it may still be held to JSON.
  return lack === 'schema' ? { responseFormat: { type: 'json' }, instructions } : { instructions }
}

/** How a model is told a schema that the format of its answer does not say. */
export const schemaInstructions = (schema: JsonSchema): string =>
  `Answer with one JSON document and nothing else: no words around it, no code fence. It has to fit this JSON Schema:\n${JSON.stringify(schema)}`

/** What a model lacks, if that is known; of schemas it may tell beforehand. */
function missingFeatureOf(model: object): MissingFeature | undefined {
  const { supportsStructuredOutputs: has } = model as { readonly supportsStructuredOutputs?: unknown }
  return missingFeatures.get(model) ?? (has === false ? 'schema' : has === true ? 'nothing' : undefined)
}

/** Learns from the warnings of a call what its model lacks; true where that was not known. One that has answered without such a warning lacks nothing. */
export function learnFromWarnings(
  model: object,
  warnings: readonly unknown[],
  { responseFormat }: Pick<JsonFormat, 'responseFormat'>,
  isWhole = true,
): boolean {
  if (responseFormat?.type !== 'json') return false
  const known = missingFeatureOf(model)
  if (!warnings.some(isFormatIgnored)) {
    if (isWhole && responseFormat.schema && known === undefined) missingFeatures.set(model, 'nothing')
    return false
  }
  const lack = responseFormat.schema ? 'schema' : 'json'
  // A call that was asked in the old words may end after one that was asked in the new.
  if (known === lack || known === 'json') return false
  missingFeatures.set(model, lack)
  return true
}

/** Whether a warning says that the format was not looked at. A provider that tells the model the schema by itself warns of that in other words. */
function isFormatIgnored(warning: unknown): boolean {
  const { type, feature, setting } = Object(warning) as { readonly [name: string]: unknown }
  // Older packages have another shape.
  const what = type === 'unsupported' ? feature : type === 'unsupported-setting' ? setting : undefined
  return typeof what === 'string' && /^response[ _-]?format\b/i.test(what)
}

/** Some providers take letters, digits, _ and - alone. */
const nameOf = (name: string): string => name.replace(/[^\w-]/g, '_').slice(0, 64) || 'response'
