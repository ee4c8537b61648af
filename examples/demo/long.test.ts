import './offline.fixture.ts'
import { expect, test, vi } from 'vitest'
import { WORDS_PER_SECOND } from './agents/long.ts'
import { demoRuntime } from './demo-runtime.fixture.ts'

const { ask } = demoRuntime()

const counted = (count: number) => Array.from({ length: count }, (_, at) => at + 1).join(' ')

test.each([
  ['Say 7 words.', 7],
  ['1,500 words, please', 1500],
  ['0', 0],
])('writes as many words as %j asks for: %i', async (input, count) => {
  const { status, text } = await (await ask('long', input)).result()
  expect([status, text]).toEqual(['completed', counted(count)])
})

test('writes Markdown for at least 20 s without a number', async () => {
  const { status, text } = await (await ask('long', 'Tell me something.')).result()
  expect(status).toBe('completed')
  expect((text.match(/\S+/g) ?? []).length / WORDS_PER_SECOND).toBeGreaterThanOrEqual(20)
  expect(text).toMatch(/^# The diary of a mill\n\n## Day 1\n/)
  for (const block of [/^- .+\n- /m, /^\|.+\|\n\|[-:|]+\|\n\|/m, /\*\*.+\*\*/]) expect(text).toMatch(block)
})

test('writes at most 100,000 words, and answers another turn after them', async () => {
  const { text } = await (await ask('long', '999999999999')).result()
  expect(text).toBe(counted(100_000))
  expect((await (await ask('long', '3')).result()).text).toBe('1 2 3')
})

test('keeps its text when stopped', async () => {
  vi.stubEnv('DEMO_PACE', '1')
  const run = await ask('long', '100000')
  for await (const { chunk } of run.stream()) if (chunk.type === 'text-delta') break
  await run.stop()
  const { status, text } = await run.result()
  expect(status).toBe('interrupted')
  expect(text).not.toBe('')
  expect(counted(100_000).startsWith(text)).toBe(true)
})
