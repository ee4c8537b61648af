import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { FinishReason, Usage } from '@millrace/protocol'

/** What a call used, in the protocol's words; what the provider does not tell is missing, and all of it where it tells nothing. */
export function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage | undefined {
  const all = {
    inputTokens: inputTokens.total,
    outputTokens: outputTokens.total,
    totalTokens:
      inputTokens.total === undefined || outputTokens.total === undefined
        ? undefined
        : inputTokens.total + outputTokens.total,
    reasoningTokens: outputTokens.reasoning,
    cachedTokens: inputTokens.cacheRead,
    cacheWriteTokens: inputTokens.cacheWrite,
  }
  const known = Object.entries(all).filter(([, count]) => isCount(count))
  return known.length > 0 ? (Object.fromEntries(known) as Usage) : undefined
}

const isCount = (count: number | undefined): boolean => Number.isSafeInteger(count) && (count as number) >= 0

/** Why a model stopped, in the protocol's words; a reason that a later provider names is another. */
export const finishReasonOf = (unified: LanguageModelV4FinishReason['unified']): FinishReason =>
  (REASONS as readonly string[]).includes(unified) ? (unified as FinishReason) : 'other'

const REASONS: readonly FinishReason[] = ['stop', 'length', 'content-filter', 'tool-calls', 'error', 'other']
