import type { Run } from '@millrace/protocol'

export type Used = Run['usage']

const whole = new Intl.NumberFormat('en')
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** What was used, in a few characters and in words; nothing where no model has told. */
export function usageWords({ inputTokens, outputTokens, reasoningTokens, cachedTokens }: Used) {
  if (!inputTokens && !outputTokens) return undefined
  const pieces = [
    `${whole.format(inputTokens ?? 0)} in`,
    `${whole.format(outputTokens ?? 0)} out`,
    ...(reasoningTokens ? [`${whole.format(reasoningTokens)} of them thought`] : []),
    ...(cachedTokens ? [`${whole.format(cachedTokens)} read from a cache`] : []),
  ]
  return {
    short: `${short.format(inputTokens ?? 0)} in · ${short.format(outputTokens ?? 0)} out`,
    long: pieces.join(', '),
  }
}
