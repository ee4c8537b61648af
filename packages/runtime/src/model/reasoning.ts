// Reasoning settings. The effort is a standard call option; token budget and visible thoughts are options of each provider.

import type { JSONObject, SharedV4ProviderOptions, SharedV4Warning } from '@ai-sdk/provider'
import { isObject } from '@millrace/protocol/internal'
import { describeType } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import type { Model, ModelSettings } from './model.ts'

/** Reasoning settings of a model call. */
export interface Reasoning {
  /** One of `EFFORTS`. Others are dropped with a warning. @default the default of the provider */
  readonly effort?: NonNullable<ModelSettings['reasoning']> | (string & {})
  /** Maximum number of reasoning tokens, if the provider supports a budget. @default the default of the provider */
  readonly maxTokens?: number
  /** Whether the answer contains the reasoning. @default the default of the provider */
  readonly includeThoughts?: boolean
}

type Effort = NonNullable<ModelSettings['reasoning']>

/** The efforts of the AI SDK's interface. */
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

/** The options of a provider's package for reasoning. */
interface ProviderReasoning {
  readonly provider: RegExp
  /** Keys of `providerOptions`: the first one in use, else the last, which every version reads. */
  readonly keys: readonly [string, ...string[]]
  /** Options for a token budget. */
  readonly budget?: (tokens: number) => JSONObject
  /** Whether it supports an effort together with a budget. Otherwise the budget wins. */
  readonly supportsBoth?: true
  /** Options that show or hide thoughts; undefined if not supported; `always` if thoughts are shown whenever it reasons. */
  readonly thoughts?: ((isShown: boolean) => JSONObject | undefined) | 'always'
}

const GOOGLE: Pick<ProviderReasoning, 'budget' | 'thoughts'> = {
  budget: tokens => ({ thinkingConfig: { thinkingBudget: tokens } }),
  thoughts: isShown => ({ thinkingConfig: { includeThoughts: isShown } }),
}

const OPENAI: Pick<ProviderReasoning, 'thoughts'> = {
  // With an effort the summary is shown by default; only null hides it.
  thoughts: isShown => ({ reasoningSummary: isShown ? 'auto' : null }),
}

const PROVIDERS: readonly ProviderReasoning[] = [
  {
    provider: /(^|\.)anthropic(-aws)?\.messages$/,
    keys: ['anthropic'],
    budget: tokens => ({ thinking: { type: 'enabled', budgetTokens: tokens } }),
    supportsBoth: true,
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
    supportsBoth: true,
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

/** The providers of a gateway's models, by the prefix of the model id. */
const GATEWAY_PROVIDERS: ReadonlyMap<string | undefined, string> = new Map([
  ['anthropic', 'anthropic.messages'],
  ['google', 'google.generative-ai'],
  ['openai', 'openai.responses'],
  ['xai', 'xai.responses'],
])

/**
 * Converts reasoning settings to call settings. Unsupported ones become warnings. Existing `providerOptions` win.
 * @throws {ValidationError} if a setting has the wrong type.
 */
export function reasoningOf(
  model: Pick<Model, 'provider' | 'modelId'>,
  reasoningOptions: Reasoning,
  providerOptions: SharedV4ProviderOptions = {},
): { settings: Pick<ModelSettings, 'reasoning' | 'providerOptions'>; warnings: SharedV4Warning[] } {
  const { effort, maxTokens, includeThoughts } = checkReasoning(reasoningOptions)
  const warnings: SharedV4Warning[] = []
  const warn = (option: keyof Reasoning, details: string) =>
    warnings.push({ type: 'unsupported', feature: `reasoning.${option}`, details })
  const provider = providerReasoningOf(model)
  const options: JSONObject[] = []

  const budget = maxTokens === undefined ? undefined : provider?.budget?.(maxTokens)
  if (budget) options.push(budget)
  else if (maxTokens !== undefined) warn('maxTokens', `${model.provider} does not support a token budget`)

  let reasoning: Effort | undefined
  if (effort !== undefined && !isEffort(effort)) {
    warn('effort', `${JSON.stringify(effort.slice(0, 40))}: expected one of ${EFFORTS.join(', ')}`)
  } else if (effort !== undefined && budget && !provider?.supportsBoth) {
    warn('effort', `${model.provider} does not support effort together with maxTokens`)
  } else reasoning = effort

  if (includeThoughts !== undefined) {
    const isThinking = budget !== undefined || (reasoning !== undefined && !/^(none|provider-default)$/.test(reasoning))
    const optionsOrWarning = thoughtsOf(provider, includeThoughts, isThinking)
    if (typeof optionsOrWarning === 'object') options.push(optionsOrWarning)
    else if (optionsOrWarning) warn('includeThoughts', `${model.provider} ${optionsOrWarning}`)
  }

  const merged = provider && options.length > 0 ? withOptions(provider, providerOptions, options) : providerOptions
  return {
    settings: {
      ...(reasoning !== undefined && { reasoning }),
      ...(Object.keys(merged).length > 0 && { providerOptions: merged }),
    },
    warnings,
  }
}

function checkReasoning(reasoning: Reasoning): Reasoning {
  const { effort, maxTokens, includeThoughts } = reasoning
  const reject = (option: keyof Reasoning, expected: string, found: string): never => {
    throw new ValidationError(`reasoning.${option}: expected ${expected}, found ${found}`)
  }
  if (effort !== undefined && typeof effort !== 'string') reject('effort', 'a string', describeType(effort))
  if (maxTokens !== undefined && !(Number.isSafeInteger(maxTokens) && maxTokens > 0)) {
    reject(
      'maxTokens',
      'an integer of at least 1',
      typeof maxTokens === 'number' ? `${maxTokens}` : describeType(maxTokens),
    )
  }
  if (includeThoughts !== undefined && typeof includeThoughts !== 'boolean') {
    reject('includeThoughts', 'true or false', describeType(includeThoughts))
  }
  return { effort, maxTokens, includeThoughts } as Reasoning
}

const isEffort = (effort: string): effort is Effort => (EFFORTS as readonly string[]).includes(effort)

function providerReasoningOf({
  provider,
  modelId,
}: Pick<Model, 'provider' | 'modelId'>): ProviderReasoning | undefined {
  const name = provider === 'gateway' ? GATEWAY_PROVIDERS.get(modelId.split('/')[0]) : provider
  return PROVIDERS.find(({ provider: pattern }) => name !== undefined && pattern.test(name))
}

/** The options that show or hide thoughts, or the text of a warning; undefined if the default is right. */
function thoughtsOf(
  provider: ProviderReasoning | undefined,
  isShown: boolean,
  isThinking: boolean,
): JSONObject | string | undefined {
  const thoughts = provider?.thoughts
  if (thoughts === 'always') {
    if (isShown === isThinking) return undefined
    return isShown ? 'shows thoughts only with effort or maxTokens: set one' : 'shows thoughts whenever it reasons'
  }
  return thoughts?.(isShown) ?? `does not support ${isShown ? 'showing' : 'hiding'} thoughts`
}

/** Adds options of a provider. Existing ones win. */
function withOptions(
  { keys }: ProviderReasoning,
  existing: SharedV4ProviderOptions,
  options: readonly JSONObject[],
): SharedV4ProviderOptions {
  const key = keys.find(name => existing[name] !== undefined) ?? (keys.at(-1) as string)
  return { ...existing, [key]: [...options, existing[key] ?? {}].reduce(mergeOptions, {}) }
}

/** Merges options two levels deep. Later values win. */
function mergeOptions(before: JSONObject, after: JSONObject): JSONObject {
  const all = { ...before, ...after }
  for (const [name, value] of Object.entries(after)) {
    const old = before[name]
    if (isObject(old) && isObject(value)) all[name] = { ...old, ...value }
  }
  return all
}
