import { expect, test } from 'vitest'
import { formatUsage } from './format-usage.ts'

test('formats usage in short and long form, and returns undefined without counts', () => {
  expect(formatUsage({})).toBeUndefined()
  expect(formatUsage({ inputTokens: 12_345, outputTokens: 67, reasoningTokens: 5 })).toEqual({
    short: '12.4K tokens',
    long: '12,345 input, 67 output, 5 reasoning',
  })
  expect(formatUsage({ inputTokens: 0, outputTokens: 88 })).toEqual({ short: '88 tokens', long: '88 output' })
})
