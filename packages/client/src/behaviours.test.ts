import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const packages = join(import.meta.dirname, '../..')
const page = readFileSync(join(packages, '../docs/reference/behaviours.md'), 'utf8')
const rows = page
  .split('\n')
  .filter(line => line.startsWith('| ') && !line.startsWith('| what |'))
  .map(line => line.split('|').map(cell => cell.trim()))

/** Test files that a text names. */
const testsIn = (text: string): string[] =>
  [...text.matchAll(/`((?:client|react|server|protocol|runtime|log)\/[\w./-]+)`/g)].map(([, name]) => name as string)

test('the page of behaviours has a status and a reason for each', () => {
  expect(rows.length).toBeGreaterThan(120)
  for (const [, behaviour, here, how = '', ...rest] of rows) {
    expect([behaviour, rest]).toEqual([behaviour, ['']])
    expect(['held', 'differs', 'not ours'], behaviour).toContain(here)
    expect(how, behaviour).not.toBe('')
  }
})

test('the page of behaviours names existing test files', () => {
  const missing = testsIn(page).filter(name => {
    const [, folder = '', path = ''] = /^(\w+)\/(.+)$/.exec(name) ?? []
    return !['ts', 'tsx'].some(end => existsSync(join(packages, folder, 'src', `${path}.test.${end}`)))
  })
  expect(missing).toEqual([])
})
