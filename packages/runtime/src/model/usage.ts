import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { FinishReason, Usage } from '@millrace/protocol'

/** What a call used, in the protocol's words; what the provider does not tell is missing. */
export function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage {
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
  return Object.fromEntries(Object.entries(all).filter(([, count]) => isCount(count))) as Usage
}

const isCount = (count: number | undefined): boolean => Number.isSafeInteger(count) && (count as number) >= 0

/** Why a model stopped, in the protocol's words. */
export function finishReasonOf({ unified }: LanguageModelV4FinishReason): FinishReason {
  return unified === 'interrupted' ? 'other' : unified
}
