import { expect, test } from 'vitest'
import { chunksOf, demoRuntime, partsWithoutPosition } from './demo-runtime.fixture.ts'

const { ask, view } = demoRuntime()

test.each([1, 2])('discards the failed attempt and answers again, in turn %i', async turns => {
  for (let turn = 1; turn < turns; turn++) await (await ask('flaky', 'First.')).result()
  const run = await ask('flaky', 'Hello.')
  const chunks = await chunksOf(run)
  const discard = chunks.findIndex(({ type }) => type === 'step-discarded')
  const textBetween = (from: number, to: number) =>
    chunks.slice(from, to).flatMap(chunk => (chunk.type === 'text-delta' ? [chunk.delta] : []))
  const fullText = 'You said: Hello. It took me two attempts to answer.'
  const before = textBetween(0, discard).join('')
  expect(before).toMatch(/^You/)
  expect(fullText.startsWith(before) && before !== fullText).toBe(true)
  expect(textBetween(discard, chunks.length).join('')).toBe(fullText)
  expect(chunks.flatMap(chunk => (chunk.type === 'step-start' ? [chunk.attempt] : []))).toEqual([undefined, 2])
  // The session shows nothing of the attempt that failed.
  const { messages, runs } = await view()
  expect(runs).toHaveLength(turns)
  expect(partsWithoutPosition(messages.at(-1)?.parts)).toEqual([
    { type: 'text', id: expect.any(String), text: fullText, state: 'done' },
  ])
  expect((await run.result()).status).toBe('completed')
})
