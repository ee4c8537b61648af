import type { Run } from '@millrace/protocol'

export type Used = Run['usage']

const whole = new Intl.NumberFormat('en')
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** What was used, in a few characters and in words; nothing where no model has told. */
export function usageWords({ inputTokens, outputTokens, reasoningTokens, cachedTokens }: Used) {
  // A model that tells nothing of what it read has not read nothing.
  const told = [
    { count: inputTokens, word: 'in' },
    { count: outputTokens, word: 'out' },
  ].flatMap(({ count, word }) => (count ? [{ count, word }] : []))
  if (told.length === 0) return undefined
  const pieces = [
    ...told.map(({ count, word }) => `${whole.format(count)} ${word}`),
    ...(reasoningTokens ? [`${whole.format(reasoningTokens)} of them thought`] : []),
    ...(cachedTokens ? [`${whole.format(cachedTokens)} read from a cache`] : []),
  ]
  return { short: told.map(({ count, word }) => `${short.format(count)} ${word}`).join(' · '), long: pieces.join(', ') }
}
