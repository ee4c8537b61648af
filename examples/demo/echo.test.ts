import { expect, test, vi } from 'vitest'
import { demoRuntime, partsWithoutPosition } from './demo-runtime.fixture.ts'

const { ask, view } = demoRuntime()

test('repeats the message in each turn', async () => {
  await (await ask('echo', 'Once more,  with\nfeeling.')).result()
  await (await ask('echo', 'And again.')).result()
  const { messages } = await view()
  const texts = messages.map(({ role, parts }) => [
    role,
    partsWithoutPosition(parts).map(part => 'text' in part && part.text),
  ])
  expect(texts).toEqual([
    ['user', ['Once more,  with\nfeeling.']],
    ['assistant', ['Once more,  with\nfeeling.']],
    ['user', ['And again.']],
    ['assistant', ['And again.']],
  ])
})

test('streams its first words before its last', async () => {
  vi.stubEnv('DEMO_PACE', '1')
  const input = Array.from({ length: 5000 }, (_, at) => `word${at}`).join(' ')
  const run = await ask('echo', input)
  for await (const { chunk } of run.stream()) if (chunk.type === 'text-delta') break
  await run.stop()
  const { status, text } = await run.result()
  expect(status).toBe('interrupted')
  expect(text).toMatch(/^word0( word\d+)*$/)
  expect(input.startsWith(text)).toBe(true)
})
