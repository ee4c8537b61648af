import type { LanguageModelV3, LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { ValidationError } from '../error/error.ts'
import { fromV3 } from './from-v3.ts'

/** A language model of the AI SDK, of any provider. */
export type Model = LanguageModelV4 | LanguageModelV3

/** Call settings of the AI SDK. The model reports unsupported ones as warnings. @default the defaults of the provider */
export interface ModelSettings
  extends Pick<
    LanguageModelV4CallOptions,
    | 'maxOutputTokens'
    | 'temperature'
    | 'stopSequences'
    | 'topP'
    | 'topK'
    | 'presencePenalty'
    | 'frequencyPenalty'
    | 'seed'
    | 'reasoning'
    | 'toolChoice'
    | 'headers'
    | 'providerOptions'
  > {}

/** Adapts a model to version v4 of the interface. @throws {ValidationError} if its version is not supported. */
export function asV4(model: unknown, label = 'model'): LanguageModelV4 {
  const { specificationVersion: version, doStream } = (model ?? {}) as Partial<Model>
  if (typeof doStream === 'function' && version === 'v4') return model as LanguageModelV4
  if (typeof doStream === 'function' && version === 'v3') return fromV3(model as LanguageModelV3)
  throw new ValidationError(
    `${label}: expected a model of version v4 or v3 of the AI SDK’s interface, found ${describeModel(model)}`,
  )
}

function describeModel(model: unknown): string {
  if (typeof model === 'string') return 'a string: pass a model object of a provider’s package'
  if (typeof model !== 'object' || model === null) return model === null ? 'null' : typeof model
  const { specificationVersion: version, provider, modelId } = model as Record<string, unknown>
  if (typeof version !== 'string') return 'an object without specificationVersion'
  return `${String(provider)}:${String(modelId)} of version ${version}: install another version of the provider’s package`
}

/** The name of a model in an origin: `provider:modelId`. */
export const modelName = ({ provider, modelId }: Model): string => `${provider}:${modelId}`
