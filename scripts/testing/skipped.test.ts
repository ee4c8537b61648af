import { expect, test } from 'vitest'
import { runFile } from './run-file.fixture.ts'

test.each([
  ['only', "test.only('b', () => {})", '.only'],
  ['skip', "test.skip('b', () => {})", 'SKIPPED a.test.ts: b'],
  ['skip of a suite', "describe.skip('s', () => void test('b', () => {}))", 'SKIPPED a.test.ts: s > b'],
  ['skipIf', "test.skipIf(true)('b', () => {})", 'SKIPPED a.test.ts: b'],
  ['skip inside the test', "test('b', ({ skip }) => skip())", 'SKIPPED a.test.ts: b'],
  ['todo', "test.todo('b')", 'SKIPPED a.test.ts: b'],
])('fails the run and names the test: %s', async (_, text, named) => {
  const { code, output } = await runFile(text)
  expect(output).toContain(named)
  expect(code).toBe(1)
})

test('passes when -t selects some tests and skips the others', async () => {
  const { code, output } = await runFile("test('b', () => {})", '-t', 'runs')
  expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/1 skipped/) })
})
