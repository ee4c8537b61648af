import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { command, root } from './command.ts'
import { FAILED_FILE, shortened } from './failed.ts'
import { folder } from './folder.fixture.ts'

/** How a run of one test file with this text ends, and what it tells the file that asks for what failed. */
async function run(text: string): Promise<{ code: number; output: string; told: string }> {
  const home = folder({ 'a.test.ts': `test('runs', () => {})\n${text}`, told: '' })
  const args = ['run', '--globals', '--root', home, '--config', join(root, 'scripts/failed.config.ts')]
  const file = join(home, 'told')
  const { code, output } = await command('vitest', args, { quiet: true, env: { [FAILED_FILE]: file } })
  return { code, output, told: readFileSync(file, 'utf8') }
}

test('a run in which nothing fails tells nothing', async () => {
  expect(await run('')).toEqual({ code: 0, output: expect.stringMatching(/1 passed/), told: '' })
})

test.each([
  ['a test', "describe('s', () => void test('b', () => expect(1).toBe(2)))", /^FAILED a\.test\.ts: s > b\n.*1 to be 2/],
  [
    'what a suite needs',
    "describe('s', () => { beforeAll(() => { throw Error('no') }); test('b', () => {}) })",
    /no\n/,
  ],
  ['a file', "throw Error('no')", /^FAILED a\.test\.ts\n {2}Error: no\n {2}at .*a\.test\.ts:2/],
  [
    'what no test waits for',
    "test('b', () => void Promise.reject(Error('no')))",
    /^FAILED outside of every test\n.* no\n/,
  ],
])('%s that fails is told with its name and why', async (_, text, told) => {
  expect(await run(text)).toMatchObject({ code: 1, told: expect.stringMatching(told) })
})

test('a test that passes when it is tried once more is told as such', async () => {
  const text = "let tries = 0; test('b', { retry: 1 }, () => expect(++tries).toBe(2))"
  const told = expect.stringMatching(/^AT THE SECOND TRY a\.test\.ts: b\n.*1 to be 2/)
  expect(await run(text)).toMatchObject({ code: 0, told })
})

test('the settings of the workspace hold: what is skipped fails the run', async () => {
  const { code, output } = await run("test.skip('b', () => {})")
  expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining('SKIPPED a.test.ts: b') })
})

test('of a failure that says much the first lines are told', async () => {
  const { told } = await run("test('b', () => { throw Error('line\\n'.repeat(1000)) })")
  expect(told.split('\n').length).toBeLessThan(25)
})

test('of many failures all are named as far as there is room', () => {
  const failures = Array.from({ length: 40 }, (_, i) => `FAILED ${i}.\n  ${'x'.repeat(400)}\n`).join('')
  const shown = shortened(failures)
  expect(shown.length).toBeLessThanOrEqual(8000)
  for (let i = 0; i < 40; i++) expect(shown).toContain(`FAILED ${i}.\n`)
  expect(shortened('FAILED a\n')).toBe('FAILED a\n')
})
