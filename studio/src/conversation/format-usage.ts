import type { Run } from '@millrace/protocol'

export type RunUsage = Run['usage']

const full = new Intl.NumberFormat('en')
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** Token counts in short and long form; undefined where no model reported usage. */
export function formatUsage({ inputTokens = 0, outputTokens = 0, reasoningTokens, cachedTokens }: RunUsage) {
  const total = inputTokens + outputTokens
  if (total === 0) return undefined
  const counts = [
    { count: inputTokens, label: 'input' },
    { count: outputTokens, label: 'output' },
    { count: reasoningTokens, label: 'reasoning' },
    { count: cachedTokens, label: 'cached' },
  ]
  // A count of 0 is left out: many models do not report it.
  const long = counts.flatMap(({ count, label }) => (count ? [`${full.format(count)} ${label}`] : [])).join(', ')
  return { short: `${short.format(total)} ${total === 1 ? 'token' : 'tokens'}`, long }
}
