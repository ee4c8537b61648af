import { expect, test } from 'vitest'
import { place, ran } from '../command.fixture.ts'
import { nameOf } from './source.ts'

const SLOW = { timeout: 120_000 }

test.each([
  ['sqlite:.millrace/millrace.db', 'sqlite:.millrace/millrace.db'],
  ['postgres://u:pw@127.0.0.1:1/db?password=hunter2', 'postgres://127.0.0.1:1/db'],
  ['postgres://u:pa@secret@host/db', 'postgres://host/db'],
  ['postgres://u:p@ss/word@host/db', 'postgres:'],
  ['postgres://u:p#word@host/db', 'postgres:'],
  ['postgres://u:1?word@host/db', 'postgres:'],
  ['postgres://u:12/word@host/db', 'postgres:'],
  ['rediss://:pw@[::1]:6379/0#pw', 'rediss://[::1]:6379/0'],
  ['redis://host', 'redis://host'],
])('%s is called %s', (url, name) => {
  expect(nameOf(url)).toBe(name)
})

test('no command shows what is secret in a store', SLOW, async () => {
  const stores = [
    'postgres://u:hunter@127.0.0.1:1/db?password=hunter2',
    'postgres://u:p@hunter/word@127.0.0.1:1/db',
    'postgres://u:pa@hunter@127.0.0.1:1/db',
  ]
  const cwd = place({})
  const calls = stores.flatMap(store => [
    ['sessions', '--store', store],
    ['doctor', '--store', store],
  ])
  const ends = await Promise.all(calls.map(args => ran(cwd, args)))
  for (const [i, { how, stdout, stderr }] of ends.entries()) {
    expect([calls[i], how === 0, stdout + stderr]).toEqual([calls[i], false, expect.not.stringMatching(/hunter|word/)])
  }
})
