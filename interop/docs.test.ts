import { expect, test } from 'vitest'
import { runGuide } from './guide-example.fixture.ts'

test('the guide to dialects runs as written', () => {
  const lines = runGuide('dialects.md', 'process.exit()').trim().split('\n')
  expect(lines.slice(0, 2)).toEqual(['2 2', 'true'])
  expect(lines.slice(2, -1)).toContain('TEXT_MESSAGE_CONTENT')
  expect(lines.at(-1)).toBe('user assistant true')
})
