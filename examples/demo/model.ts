// The model of the demo's agents: a script, offline, unless the environment has the API key of a provider.

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { Model, ModelSettings, Script } from 'millrace'
import { pacedModel } from './pace.ts'

/** A model of an AI SDK provider package. */
export type DemoModel = Extract<Model, { specificationVersion: 'v4' }>

export interface Models {
  /** Description of the model and provider in one line, without the key. */
  readonly modelName: string
  /** The model of an agent: the script at a number of words per second, or the provider's model, which ignores the script. */
  readonly modelOf: (script: Script, wordsPerSecond?: number) => DemoModel
  /** Settings of an agent that shows its reasoning. */
  readonly thinking: ModelSettings
}

interface Provider {
  readonly prefix: 'OPENAI' | 'ANTHROPIC'
  readonly url: string
  readonly modelId: string
  readonly make: (baseURL: string, apiKey: string, modelId: string) => DemoModel
  readonly thinking: ModelSettings
}

/** The first provider with a key is used. */
const PROVIDERS: readonly Provider[] = [
  { prefix: 'OPENAI', url: 'https://api.openai.com/v1', modelId: 'gpt-5.6-luna', make: openai, thinking: {} },
  {
    prefix: 'ANTHROPIC',
    url: 'https://api.anthropic.com/v1',
    modelId: 'claude-haiku-5-5',
    make: (baseURL, apiKey, modelId) => createAnthropic({ baseURL, apiKey })(modelId),
    // Anthropic returns reasoning only if an effort is set.
    thinking: { reasoning: 'low' },
  },
]

/** Chooses a model by the environment. @throws if a base URL is invalid */
export function modelsOf(env: Readonly<Record<string, string | undefined>>): Models {
  const [provider, ...others] = PROVIDERS.filter(({ prefix }) => env[`${prefix}_API_KEY`])
  if (provider === undefined) return { modelName: 'a script, offline', modelOf: pacedModel, thinking: {} }
  const { prefix, make, thinking } = provider
  const url = env[`${prefix}_BASE_URL`] || provider.url
  const modelId = env[`${prefix}_MODEL`] || provider.modelId
  const model = make(url, env[`${prefix}_API_KEY`] ?? '', modelId)
  const unused = others.map(other => `, and not by ${other.prefix}_API_KEY`).join('')
  const modelName = `${modelId} at ${hostOf(url, `${prefix}_BASE_URL`)}, by ${prefix}_API_KEY${unused}`
  return { modelName, modelOf: () => model, thinking }
}

/** Only the host: the rest of a URL may hold secrets. */
function hostOf(url: string, variable: string): string {
  const { protocol, host } = URL.parse(url) ?? {}
  if (host && (protocol === 'https:' || protocol === 'http:')) return host
  throw new Error(
    `Expected ${variable} to be an http or https URL. Set it to one such as http://127.0.0.1:11434/v1, or unset it.`,
  )
}

function openai(baseURL: string, apiKey: string, modelId: string): DemoModel {
  return createOpenAICompatible({
    name: 'openai',
    baseURL,
    apiKey,
    includeUsage: true,
    supportsStructuredOutputs: true,
    transformRequestBody: body => ({
      ...body,
      // These models cannot call tools while reasoning over this API, and reason by default.
      ...(/^gpt-5\.6\b/.test(modelId) && body['tools'] && { reasoning_effort: 'none' }),
      ...(body['response_format'] && { response_format: lenient(body['response_format']) }),
    }),
  })(modelId)
}

/** Strict schemas do not support a maximum length. The runtime validates the output and retries. */
const lenient = (format: { readonly json_schema?: object }): object =>
  format.json_schema ? { ...format, json_schema: { ...format.json_schema, strict: false } } : format

export const { modelName, modelOf, thinking } = modelsOf(process.env)
