import { join } from 'node:path'
import { expect, test } from 'vitest'
import { command, root } from './command.ts'
import { folder } from './folder.fixture.ts'

/** How a run of one test file with this text ends, under the settings of the workspace. */
async function run(text: string, ...more: string[]): Promise<{ code: number; output: string }> {
  const home = folder({ 'a.test.tsx': `test('runs', () => {})\n${text}` })
  const args = ['run', '--globals', '--root', home, '--config', join(root, 'vitest.config.ts'), ...more]
  return command('vitest', args, { quiet: true })
}

test('a run in which every test ran passes', async () => {
  const { code, output } = await run('')
  expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/1 passed/) })
})

test.each([
  ['an only', "test.only('b', () => {})", '.only'],
  ['a skip', "test.skip('b', () => {})", 'SKIPPED a.test.tsx: b'],
  ['a suite that is skipped', "describe.skip('s', () => void test('b', () => {}))", 'SKIPPED a.test.tsx: s > b'],
  ['a skip on a condition', "test.skipIf(true)('b', () => {})", 'SKIPPED a.test.tsx: b'],
  ['a skip from within', "test('b', ({ skip }) => skip())", 'SKIPPED a.test.tsx: b'],
  ['a todo', "test.todo('b')", 'SKIPPED a.test.tsx: b'],
])('%s fails the run, and is named', async (_, text, named) => {
  const { code, output } = await run(text)
  expect(output).toContain(named)
  expect(code).toBe(1)
})

test('who asks for a test by name may leave out the others', async () => {
  const { code, output } = await run("test('b', () => {})", '-t', 'runs')
  expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/1 skipped/) })
})
