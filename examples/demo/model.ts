// Which model the agents of the demo speak by: a script, offline, unless the environment holds the key of a provider.

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { Model, ModelSettings, Script } from 'millrace'
import { pacedModel } from './pace.ts'

/** A model as providers' packages make them today. */
export type DemoModel = Extract<Model, { specificationVersion: 'v4' }>

export interface Models {
  /** In a line, for people: which model it is, and whose. Never the key. */
  readonly modelName: string
  /** The model of an agent: the script's at so many words a second, or the provider's, which reads no script. */
  readonly modelOf: (script: Script, wordsPerSecond?: number) => DemoModel
  /** For an agent whose thoughts are to be seen. */
  readonly thinking: ModelSettings
}

interface Provider {
  readonly prefix: 'OPENAI' | 'ANTHROPIC'
  readonly url: string
  readonly modelId: string
  readonly make: (baseURL: string, apiKey: string, modelId: string) => DemoModel
  readonly thinking: ModelSettings
}

/** The first whose key is there is taken. */
const PROVIDERS: readonly Provider[] = [
  { prefix: 'OPENAI', url: 'https://api.openai.com/v1', modelId: 'gpt-5.6-luna', make: openai, thinking: {} },
  {
    prefix: 'ANTHROPIC',
    url: 'https://api.anthropic.com/v1',
    modelId: 'claude-haiku-5-5',
    make: (baseURL, apiKey, modelId) => createAnthropic({ baseURL, apiKey })(modelId),
    // It tells what it thinks only where it is told how hard to.
    thinking: { reasoning: 'low' },
  },
]

/** Chooses by an environment; throws, with what to do, where that names no address. */
export function modelsBy(env: Readonly<Record<string, string | undefined>>): Models {
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

/** The host alone: the rest of an address may hold what nobody should read. */
function hostOf(url: string, variable: string): string {
  const { protocol, host } = URL.parse(url) ?? {}
  if (host && (protocol === 'https:' || protocol === 'http:')) return host
  throw new Error(`${variable} is no address of a server: set it to one such as http://127.0.0.1:11434/v1, or unset it`)
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
      // These call no tools over this wire while they think, and think unless they are told not to.
      ...(/^gpt-5\.6\b/.test(modelId) && body['tools'] && { reasoning_effort: 'none' }),
      ...(body['response_format'] && { response_format: lenient(body['response_format']) }),
    }),
  })(modelId)
}

/** A strict schema may not say how long a text is at most. The runtime looks at what comes, and asks again where it does not fit. */
const lenient = (format: { readonly json_schema?: object }): object =>
  format.json_schema ? { ...format, json_schema: { ...format.json_schema, strict: false } } : format

export const { modelName, modelOf, thinking } = modelsBy(process.env)
