// How much a model is to think, and whether it shows what it thought: the effort is an option of every call, the rest each provider calls by its own name.

import type { JSONObject, SharedV4ProviderOptions, SharedV4Warning } from '@ai-sdk/provider'
import { describeType } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import type { Model, ModelSettings } from './model.ts'

/** How a model is to think before it answers. */
export interface Reasoning {
  /** How hard: one of `EFFORTS`. */
  readonly effort?: NonNullable<ModelSettings['reasoning']> | (string & {})
  /** How many tokens it may think, where the provider counts them apart. */
  readonly maxTokens?: number
  /** Whether the answer shows what was thought. */
  readonly includeThoughts?: boolean
}

type Effort = NonNullable<ModelSettings['reasoning']>

/** The efforts that can be asked of any model. */
export const EFFORTS: readonly Effort[] = [
  'provider-default',
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
]

/** In which words a provider's package is told. */
interface ProviderReasoning {
  readonly provider: RegExp
  /** Where its options stand: under the first that is in use, else under the last, which every version of it reads. */
  readonly keys: readonly [string, ...string[]]
  /** A bound on the thinking. */
  readonly budget?: (tokens: number) => JSONObject
  /** Whether it takes an effort beside a bound; one that does not keeps to the bound. */
  readonly takesBoth?: true
  /** Whether thoughts are shown; nothing where that cannot be said. Or they are whenever it is told to think. */
  readonly thoughts?: ((isShown: boolean) => JSONObject | undefined) | 'always'
}

const GOOGLE: Pick<ProviderReasoning, 'budget' | 'thoughts'> = {
  budget: tokens => ({ thinkingConfig: { thinkingBudget: tokens } }),
  thoughts: isShown => ({ thinkingConfig: { includeThoughts: isShown } }),
}

const OPENAI: Pick<ProviderReasoning, 'thoughts'> = {
  // With an effort it would be shown unasked: only null says no.
  thoughts: isShown => ({ reasoningSummary: isShown ? 'auto' : null }),
}

const PROVIDERS: readonly ProviderReasoning[] = [
  {
    provider: /(^|\.)anthropic(-aws)?\.messages$/,
    keys: ['anthropic'],
    budget: tokens => ({ thinking: { type: 'enabled', budgetTokens: tokens } }),
    takesBoth: true,
    thoughts: 'always',
  },
  { provider: /^google\.generative-ai$/, keys: ['google'], ...GOOGLE },
  { provider: /^google\.vertex\.chat$/, keys: ['googleVertex', 'vertex', 'google'], ...GOOGLE },
  { provider: /^openai\.responses$/, keys: ['openai'], ...OPENAI },
  { provider: /^azure\.responses$/, keys: ['azure', 'openai'], ...OPENAI },
  {
    provider: /^xai\.responses$/,
    keys: ['xai'],
    thoughts: isShown => (isShown ? { reasoningSummary: 'auto' } : undefined),
  },
  {
    provider: /^amazon-bedrock$/,
    keys: ['amazonBedrock', 'bedrock'],
    budget: tokens => ({ reasoningConfig: { type: 'enabled', budgetTokens: tokens } }),
    takesBoth: true,
  },
  {
    provider: /^cohere\.chat$/,
    keys: ['cohere'],
    budget: tokens => ({ thinking: { type: 'enabled', tokenBudget: tokens } }),
  },
  {
    provider: /^alibaba\.chat$/,
    keys: ['alibaba'],
    budget: tokens => ({ enableThinking: true, thinkingBudget: tokens }),
    thoughts: 'always',
  },
  {
    provider: /^groq\.chat$/,
    keys: ['groq'],
    thoughts: isShown => ({ reasoningFormat: isShown ? 'parsed' : 'hidden' }),
  },
]

/** The providers behind a gateway, by what its ids of models begin with. */
const GATEWAY_PROVIDERS: ReadonlyMap<string | undefined, string> = new Map([
  ['anthropic', 'anthropic.messages'],
  ['google', 'google.generative-ai'],
  ['openai', 'openai.responses'],
  ['xai', 'xai.responses'],
])

/** The settings that ask a model to think so; what it cannot be asked is a warning. What `providerOptions` say already, they say. */
export function reasoningOf(
  model: Pick<Model, 'provider' | 'modelId'>,
  asked: Reasoning,
  providerOptions: SharedV4ProviderOptions = {},
): { settings: Pick<ModelSettings, 'reasoning' | 'providerOptions'>; warnings: SharedV4Warning[] } {
  const { effort, maxTokens, includeThoughts } = checkReasoning(asked)
  const warnings: SharedV4Warning[] = []
  const warn = (option: keyof Reasoning, details: string) =>
    warnings.push({ type: 'unsupported', feature: `reasoning.${option}`, details })
  const wording = providerReasoningOf(model)
  const options: JSONObject[] = []

  const budget = maxTokens === undefined ? undefined : wording?.budget?.(maxTokens)
  if (budget) options.push(budget)
  else if (maxTokens !== undefined) warn('maxTokens', `${model.provider} cannot be told how many tokens to think`)

  let reasoning: Effort | undefined
  if (effort !== undefined && !isEffort(effort)) {
    warn('effort', `${JSON.stringify(effort.slice(0, 40))} is none of ${EFFORTS.join(', ')}`)
  } else if (effort !== undefined && budget && !wording?.takesBoth) {
    warn('effort', `${model.provider} takes an effort or a bound, and maxTokens is one`)
  } else reasoning = effort

  if (includeThoughts !== undefined) {
    const isThinking = budget !== undefined || (reasoning !== undefined && !/^(none|provider-default)$/.test(reasoning))
    const shown = thoughtsOf(wording, includeThoughts, isThinking)
    if (typeof shown === 'object') options.push(shown)
    else if (shown) warn('includeThoughts', `${model.provider} ${shown}`)
  }

  const told = wording && options.length > 0 ? withOptions(wording, providerOptions, options) : providerOptions
  return {
    settings: {
      ...(reasoning !== undefined && { reasoning }),
      ...(Object.keys(told).length > 0 && { providerOptions: told }),
    },
    warnings,
  }
}

function checkReasoning(asked: Reasoning): Reasoning {
  const { effort, maxTokens, includeThoughts } = asked
  const refuse = (option: keyof Reasoning, expected: string, found: string): never => {
    throw new ValidationError(`reasoning.${option}: expected ${expected}, found ${found}`)
  }
  if (effort !== undefined && typeof effort !== 'string') refuse('effort', 'text', describeType(effort))
  if (maxTokens !== undefined && !(Number.isSafeInteger(maxTokens) && maxTokens > 0)) {
    refuse(
      'maxTokens',
      'a whole number from 1 on',
      typeof maxTokens === 'number' ? `${maxTokens}` : describeType(maxTokens),
    )
  }
  if (includeThoughts !== undefined && typeof includeThoughts !== 'boolean') {
    refuse('includeThoughts', 'true or false', describeType(includeThoughts))
  }
  return { effort, maxTokens, includeThoughts } as Reasoning
}

const isEffort = (effort: string): effort is Effort => (EFFORTS as readonly string[]).includes(effort)

function providerReasoningOf({
  provider,
  modelId,
}: Pick<Model, 'provider' | 'modelId'>): ProviderReasoning | undefined {
  const name = provider === 'gateway' ? GATEWAY_PROVIDERS.get(modelId.split('/')[0]) : provider
  return PROVIDERS.find(wording => name !== undefined && wording.provider.test(name))
}

/** The options that show or hide thoughts, or why there are none; nothing where it is so anyway. */
function thoughtsOf(
  wording: ProviderReasoning | undefined,
  isShown: boolean,
  isThinking: boolean,
): JSONObject | string | undefined {
  const thoughts = wording?.thoughts
  if (thoughts === 'always') {
    if (isShown === isThinking) return undefined
    return isShown ? 'shows thoughts only with an effort or maxTokens: give one' : 'shows thoughts whenever it thinks'
  }
  return thoughts?.(isShown) ?? `cannot be told to ${isShown ? 'show' : 'hide'} thoughts`
}

/** The options of all providers, those of this one with more; what was there stays. */
function withOptions(
  { keys }: ProviderReasoning,
  given: SharedV4ProviderOptions,
  options: readonly JSONObject[],
): SharedV4ProviderOptions {
  const key = keys.find(name => given[name] !== undefined) ?? (keys.at(-1) as string)
  return { ...given, [key]: [...options, given[key] ?? {}].reduce(mergeOptions, {}) }
}

/** The later over the earlier, and so within each option that has fields. */
function mergeOptions(before: JSONObject, after: JSONObject): JSONObject {
  const all = { ...before, ...after }
  for (const [name, value] of Object.entries(after)) {
    const old = before[name]
    if (isObject(old) && isObject(value)) all[name] = { ...old, ...value }
  }
  return all
}

const isObject = (value: unknown): value is JSONObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
