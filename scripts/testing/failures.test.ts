import { expect, test } from 'vitest'
import { shorten } from './failures.ts'
import { runFile } from './run-file.fixture.ts'

/** The part of the output that repeats the failures. */
const repeated = (output: string): string => output.slice(output.lastIndexOf('\nFAILED ') + 1)

test('prints nothing at the end of a run without failures', async () => {
  const { code, output } = await runFile('')
  expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/1 passed/) })
  expect(output).not.toContain('FAILED')
})

test.each([
  ['a test', "describe('s', () => void test('b', () => expect(1).toBe(2)))", /^FAILED a\.test\.ts: s > b\n.*1 to be 2/],
  ['a beforeAll hook', "describe('s', () => { beforeAll(() => { throw Error('no') }); test('b', () => {}) })", /no\n/],
  ['a file that throws', "throw Error('no')", /^FAILED a\.test\.ts\n {2}Error: no\n {2}at .*a\.test\.ts:2/],
  [
    'an unhandled rejection, with the file it came from',
    "test('b', () => void Promise.reject(Error('no')))",
    /^FAILED unhandled error during .*a\.test\.ts.*\n.* no\n/,
  ],
])('repeats at the end the failure of %s', async (_, text, expected) => {
  const { code, output } = await runFile(text)
  expect(code).toBe(1)
  expect(repeated(output)).toMatch(expected)
})

test('does not retry a failed test', async () => {
  const { code } = await runFile("let tries = 0; test('b', () => expect(++tries).toBe(2))")
  expect(code).toBe(1)
})

test('shortens a long failure to its first lines', async () => {
  const { output } = await runFile("test('b', () => { throw Error('line\\n'.repeat(1000)) })")
  expect(repeated(output).split('\n').length).toBeLessThan(25)
})

test('names every failure when there are too many to print', () => {
  const failures = Array.from({ length: 40 }, (_, i) => `FAILED ${i}.\n  ${'x'.repeat(400)}\n`).join('')
  const shown = shorten(failures)
  expect(shown.length).toBeLessThanOrEqual(8000)
  for (let i = 0; i < 40; i++) expect(shown).toContain(`FAILED ${i}.\n`)
  expect(shorten('FAILED a\n')).toBe('FAILED a\n')
})
