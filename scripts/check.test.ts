import { expect, test } from 'vitest'
import { command } from './command.ts'

const check = (...names: string[]) => command('node', ['scripts/check.ts', ...names], { quiet: true })

test('check runs each named check once and no other', async () => {
  const { code, output } = await check('imports', 'lay', 'layers')

  expect(
    output
      .trimEnd()
      .split('\n')
      .map(line => line.split(/ +/)[1]),
  ).toEqual(['imports', 'layers'])
  expect(code).toBe(0)
})

test('check runs nothing and lists the checks if one name is unknown', async () => {
  const { code, output } = await check('imports', 'nothing')

  expect(output).toMatch(/found 'nothing'\. Checks: types, .*, imports, /)
  expect(output).not.toContain('ok ')
  expect(code).toBe(1)
})
