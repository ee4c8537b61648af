import type { LanguageModelV4CustomContent, LanguageModelV4FinishReason, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { FinishReason, Usage } from '@millrace/protocol'

/** Converts usage to the protocol's fields. Omits counts that the provider does not report. Returns undefined if it reports none. */
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
  const reported = Object.entries(all).filter(([, count]) => isCount(count))
  return reported.length > 0 ? (Object.fromEntries(reported) as Usage) : undefined
}

/** The usage in Anthropic's `message_start`, the only usage of an interrupted answer. Returns undefined for other content. */
export function anthropicStartUsage({ kind, providerMetadata }: LanguageModelV4CustomContent): Usage | undefined {
  if (kind !== 'anthropic.message_start') return undefined
  const usage = Object(providerMetadata?.['anthropic']?.['usage']) as { readonly [name: string]: number | undefined }
  const { input_tokens: noCache, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = usage
  if (noCache === undefined) return undefined
  const [cacheRead, cacheWrite] = [cache_read_input_tokens ?? 0, cache_creation_input_tokens ?? 0]
  const total = noCache + cacheRead + cacheWrite
  return usageOf({
    inputTokens: { total, noCache, cacheRead, cacheWrite },
    outputTokens: { total: output_tokens, text: undefined, reasoning: undefined },
  })
}

const isCount = (count: number | undefined): boolean => Number.isSafeInteger(count) && (count as number) >= 0

/** Converts a finish reason to the protocol's. Unknown ones become `other`. */
export const finishReasonOf = (unified: LanguageModelV4FinishReason['unified']): FinishReason =>
  (REASONS as readonly string[]).includes(unified) ? (unified as FinishReason) : 'other'

const REASONS: readonly FinishReason[] = ['stop', 'length', 'content-filter', 'tool-calls', 'error', 'other']
