import { expect, test } from 'vitest'
import { usageWords } from './tokens.ts'

test('what was used is told shortly and in full, and nothing where nothing is known', () => {
  expect(usageWords({})).toBeUndefined()
  expect(usageWords({ inputTokens: 12_345, outputTokens: 67, reasoningTokens: 5 })).toEqual({
    short: '12.3K in · 67 out',
    long: '12,345 in, 67 out, 5 of them thought',
  })
  expect(usageWords({ inputTokens: 0, outputTokens: 88 })).toEqual({ short: '88 out', long: '88 out' })
})
