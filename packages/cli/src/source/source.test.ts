import { RequestError } from '@millrace/client'
import { expect, onTestFinished, test } from 'vitest'
import { runToEnd, workFolder } from '../millrace-command.fixture.ts'
import { requestFailure } from './read-log.ts'
import { nameOf, openSource } from './source.ts'

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
])('names the store %s without its secrets: %s', (url, name) => {
  expect(nameOf(url)).toBe(name)
})

test('no command prints the secrets of a store URL', async () => {
  const stores = [
    'postgres://u:hunter@127.0.0.1:1/db?password=hunter2',
    'postgres://u:p@127.0.0.1:1/hunter/word@127.0.0.1:1/db',
    'postgres://u:pa@hunter@127.0.0.1:1/db',
  ]
  const cwd = workFolder({})
  const calls = [...stores.map(store => ['doctor', '--store', store]), ['sessions', '--store', stores[1] ?? '']]
  const results = await Promise.all(calls.map(args => runToEnd(cwd, args)))
  for (const [i, { exitStatus, stdout, stderr }] of results.entries()) {
    expect([calls[i], exitStatus === 0, stdout + stderr]).toEqual([
      calls[i],
      false,
      expect.not.stringMatching(/hunter|word/),
    ])
  }
})

test.each([
  { code: 'store_unavailable', status: 503 },
  { code: 'forbidden', status: 403 },
  { code: 'internal', status: 500 },
  { code: 'unreachable' },
])('a failed request with $code names the store without its secrets', async ({ code, status }) => {
  const store = 'postgres://u:hunter@127.0.0.1:1/db?password=hunter2'
  const source = await openSource({ positionals: [], values: { store } })
  onTestFinished(() => source.close())
  const failure = requestFailure(new RequestError({ code, message: 'no', retryable: false }, status), source)
  expect(String(failure)).toMatch(/postgres:\/\/127\.0\.0\.1:1\/db/)
  expect(JSON.stringify(failure) + String(failure)).not.toContain('hunter')
})
