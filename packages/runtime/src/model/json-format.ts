// Requests JSON from a model: by `responseFormat` if the model supports it, else by the prompt. Models report in a warning
// that they ignore the format, and that is remembered.

import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { JsonSchema } from '../schema/schema.ts'

/** The JSON document that a model has to answer with. */
export interface JsonRequest {
  readonly schema: JsonSchema
  readonly name: string
}

/** How to request it. */
export interface JsonFormat {
  /** Option of the call. Absent if the model ignores it. */
  readonly responseFormat?: NonNullable<LanguageModelV4CallOptions['responseFormat']>
  /** Text for the prompt. Absent if the format is known to suffice. */
  readonly instructions?: string
}

/** The output feature that a model lacks: a schema for its answer, or JSON at all. */
type MissingFeature = 'nothing' | 'schema' | 'json'

/** What models reported as unsupported. Weak, so that unused models can be collected. */
const missingFeatures = new WeakMap<object, MissingFeature>()

/**
 * How to request JSON from a model, by what is known about it.
 * @param model as the provider created it: an adapted one is a new object each time
 */
export function jsonFormatOf(model: object, { schema, name }: JsonRequest): JsonFormat {
  const missing = missingFeatureOf(model)
  const responseFormat = { type: 'json', schema, name: nameOf(name) } as const
  if (missing === 'nothing') return { responseFormat }
  const instructions = schemaInstructions(schema)
  // For an unknown model use both: a longer prompt costs less than an invalid answer.
  if (missing === undefined) return { responseFormat, instructions }
  // Without a schema the format still enforces JSON.
  return missing === 'schema' ? { responseFormat: { type: 'json' }, instructions } : { instructions }
}

/** The instruction for a schema that `responseFormat` cannot express. */
export const schemaInstructions = (schema: JsonSchema): string =>
  `Answer with one JSON document and nothing else: no words around it, no code fence. It has to fit this JSON Schema:\n${JSON.stringify(schema)}`

/** The output feature that a model lacks; undefined if unknown. `supportsStructuredOutputs` may declare it. */
function missingFeatureOf(model: object): MissingFeature | undefined {
  const { supportsStructuredOutputs: declared } = model as { readonly supportsStructuredOutputs?: unknown }
  return missingFeatures.get(model) ?? (declared === false ? 'schema' : declared === true ? 'nothing' : undefined)
}

/**
 * Remembers from the warnings of a call what its model does not support. Returns true if that is new. Only a complete
 * answer without such a warning proves support.
 */
export function learnFromWarnings(
  model: object,
  warnings: readonly unknown[],
  { responseFormat }: Pick<JsonFormat, 'responseFormat'>,
  isComplete = true,
): boolean {
  if (responseFormat?.type !== 'json') return false
  const known = missingFeatureOf(model)
  if (!warnings.some(isFormatIgnored)) {
    if (isComplete && responseFormat.schema && known === undefined) missingFeatures.set(model, 'nothing')
    return false
  }
  const missing = responseFormat.schema ? 'schema' : 'json'
  // A concurrent call may have started before the last update and end after it.
  if (known === missing || known === 'json') return false
  missingFeatures.set(model, missing)
  return true
}

/** Whether a warning says that the format was ignored. A provider that adds the schema to the prompt uses another warning. */
function isFormatIgnored(warning: unknown): boolean {
  const { type, feature, setting } = Object(warning) as { readonly [name: string]: unknown }
  // Older packages use `unsupported-setting`.
  const unsupported = type === 'unsupported' ? feature : type === 'unsupported-setting' ? setting : undefined
  return typeof unsupported === 'string' && /^response[ _-]?format\b/i.test(unsupported)
}

/** Some providers accept only letters, digits, _ and -. */
const nameOf = (name: string): string => name.replace(/[^\w-]/g, '_').slice(0, 64) || 'response'
