import type { LanguageModelV3, LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'

/** A model of any provider of the AI SDK. */
export type Model = LanguageModelV4 | LanguageModelV3

/** How a model is to answer; what it cannot honour it says in a warning. */
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

/** The name of a model in an origin. */
export const modelName = ({ provider, modelId }: Model): string => `${provider}:${modelId}`
