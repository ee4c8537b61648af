import type { Entry } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { millraceCommand, runToEnd } from '../millrace-command.fixture.ts'
import { serveSessions } from './sessions-server.fixture.ts'

const entriesOf = (text: string): Entry[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line))

test('prints a line per entry, through a restart of the server, until Ctrl-C', async () => {
  const { cwd, server, runAgent, restart } = await serveSessions()
  await runAgent('s', 'echo', 'Hello')
  const tail = millraceCommand(cwd, ['tail', 's', '--server', server.url])
  const [output] = await tail.output(/^[\s\S]*run-finished/)
  const deltas = output.matchAll(/^ +\d+ {2}\d\d:\d\d:\d\d\.\d{3} {2}main +text-delta +(".*")$/gm)
  // A loaded machine writes the text in several entries.
  expect([...deltas].map(([, delta = '']) => JSON.parse(delta)).join('')).toBe('You said: Hello')
  await restart()
  const mark = tail.mark
  await runAgent('s', 'echo', 'And again')
  await tail.output(/run-finished/, mark)
  tail.kill('SIGINT')
  const { exitStatus, stdout } = await tail.ended
  expect(exitStatus).toBe(0)
  const sequences = [...stdout.matchAll(/^ +(\d+) /gm)].map(([, sequence]) => Number(sequence))
  expect(sequences).toEqual(sequences.map((_, at) => at + 1))
})

test('prints JSON after a sequence, from a server or a file, up to the head with --no-follow', async () => {
  const { cwd, server, store, runAgent } = await serveSessions()
  await runAgent('s', 'guide', 'What do you see?')
  const args = ['tail', 's', '--after', '3', '--no-follow', '--json']
  const fromServer = await runToEnd(cwd, args, { MILLRACE_SERVER: server.url })
  const fromFile = await runToEnd(cwd, [...args, '--store', store])
  expect([fromServer.exitStatus, fromFile.exitStatus]).toEqual([0, 0])
  const entries = entriesOf(fromServer.stdout)
  expect(entries[0]?.sequence).toBe(4)
  expect(entries.at(-1)?.chunk.type).toBe('run-finished')
  expect(entriesOf(fromFile.stdout)).toEqual(entries)
})

test('follows a file that a server writes', async () => {
  const { cwd, store, runAgent } = await serveSessions()
  await runAgent('s', 'echo', 'Hello')
  const tail = millraceCommand(cwd, ['tail', 's', '--store', store, '--json'])
  await tail.output(/"run-finished"/)
  const mark = tail.mark
  await runAgent('s', 'echo', 'And again')
  await tail.output(/"run-finished"/, mark)
  tail.kill('SIGINT')
  expect((await tail.ended).exitStatus).toBe(0)
})

test('escapes control characters of a model', async () => {
  const { cwd, store, runAgent } = await serveSessions()
  await runAgent('s', 'echo', '\u001b[2Jgone\u0007\u202e')
  for (const args of [
    ['tail', 's', '--no-follow'],
    ['replay', 's', '--speed', 'max'],
    ['sessions'],
    ['sessions', 'show', 's'],
  ]) {
    const { stdout } = await runToEnd(cwd, [...args, '--store', store])
    expect(stdout).toContain('gone')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
    expect(stdout).not.toMatch(/[\u001b\u0007\u202e]/)
  }
})

test('exits without an error when the pipe closes', async () => {
  const { cwd, store, runAgent } = await serveSessions()
  await runAgent('s', 'guide', 'What do you see?')
  const main = `node --conditions=@millrace/source ${import.meta.dirname}/../main.ts`
  const { execFile } = await import('node:child_process')
  const { promisify } = await import('node:util')
  const script = `set -o pipefail; ${main} tail s --no-follow --store ${store} | head -n 1`
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', script], { cwd })
  expect([stdout.trim().split('\n').length, stderr]).toEqual([1, ''])
})

test('prints what is wrong and exits with a specific code', async () => {
  const { cwd, server, store, runAgent } = await serveSessions()
  await runAgent('s', 'echo', 'Hello')
  const at = ['--server', server.url]
  const wrong: [code: number, why: string, args: string[]][] = [
    [3, 'there is no session nope', ['tail', 'nope', ...at]],
    [3, 'there is no session nope', ['tail', 'nope', '--store', store]],
    [3, 'There is no file nope.db', ['tail', 's', '--store', 'sqlite:nope.db']],
    [4, 'No server answers at http://127.0.0.1:1', ['tail', 's', '--server', 'http://127.0.0.1:1']],
    [2, 'expected --server or --store, found both', ['tail', 's', ...at, '--store', store]],
    [2, '--after: expected a whole number of at least 0, found x', ['tail', 's', '--after', 'x']],
    [2, '--after needs a value', ['tail', 's', '--after', '--json']],
    [2, 'unknown option --sever: did you mean --server?', ['tail', 's', '--sever', 'x']],
    [2, 'expected <session>', ['tail']],
    [2, 'expected <session>, found s more', ['tail', 's', 'more']],
    [2, 'unknown command tial: did you mean tail?', ['tial', 's']],
    [2, 'expected memory:, sqlite:path', ['tail', 's', '--store', 'mill.db']],
    [2, '--server: expected an http or https URL', ['tail', 's', '--server', 'mill']],
    [2, '--principal: expected only with --store', ['tail', 's', '--principal', 'ann']],
  ]
  const results = await Promise.all(wrong.map(([, , args]) => runToEnd(cwd, args)))
  for (const [i, { exitStatus, stdout, stderr }] of results.entries()) {
    expect([exitStatus, stderr, stdout]).toEqual([wrong[i]?.[0], expect.stringContaining(wrong[i]?.[1] ?? ''), ''])
    expect(stderr).not.toContain('    at ')
  }
  const { stderr } = await runToEnd(cwd, ['tail', 'nope', '--json', ...at])
  expect(JSON.parse(stderr)).toEqual({ error: { code: 'session_unknown', message: expect.any(String) } })
})
