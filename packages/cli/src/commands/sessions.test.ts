import { RecordingDecoder, SessionLog } from '@millrace/client/log'
import { openStore, StreamManager } from '@millrace/log'
import { expect, test } from 'vitest'
import { runToEnd, workFolder } from '../millrace-command.fixture.ts'
import { serveSessions } from './sessions-server.fixture.ts'

test('lists the latest sessions first, from a server or a file, up to a limit', async () => {
  const { cwd, server, store, runAgent } = await serveSessions()
  for (const name of ['one', 'two', 'three']) await runAgent(name, 'echo', `I am ${name}`)
  const listed = await runToEnd(cwd, ['sessions', '--server', server.url])
  expect(listed.stdout.split('\n').map(line => line.split(' ')[0])).toEqual(['three', 'two', 'one', ''])
  expect(listed.stdout).toMatch(/^one +ended +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +\d+ {2}You said: I am one$/m)
  const some = await runToEnd(cwd, ['sessions', 'list', '--limit', '2', '--json', '--store', store])
  const lines = some.stdout.split('\n').filter(Boolean)
  expect(lines.map(line => JSON.parse(line).sessionId)).toEqual(['three', 'two'])
  const ofAnn = await runToEnd(cwd, ['sessions', '--store', store, '--principal', 'ann'])
  expect([ofAnn.exitStatus, ofAnn.stdout, ofAnn.stderr]).toEqual([0, '', 'No sessions at sqlite:mill.db.\n'])
})

test('shows the messages and the pending request of a session', async () => {
  const { cwd, store, runAgent } = await serveSessions()
  await runAgent('s', 'clerk', 'Tell ann')
  const { stdout } = await runToEnd(cwd, ['sessions', 'show', 's', '--store', store])
  expect(stdout).toContain('user  Tell ann')
  expect(stdout).toMatch(/^run \S+ agent:clerk@1 paused$/m)
  expect(stdout).toContain('waits for approval')
  const json = await runToEnd(cwd, ['sessions', 'show', 's', '--store', store, '--json'])
  expect(JSON.parse(json.stdout).view.pendings).toHaveLength(1)
})

test('exports trimmed entries as a snapshot', async () => {
  const { cwd, store, server, runAgent } = await serveSessions()
  await runAgent('s', 'echo', 'One')
  await runAgent('s', 'guide', 'What do you see?')
  const shown = async () =>
    JSON.parse((await runToEnd(cwd, ['sessions', 'show', 's', '--store', store, '--json'])).stdout)
  const { view, sequence } = await shown()
  const opened = await openStore(`sqlite:${cwd}/mill.db`)
  const floor = await new StreamManager({ store: opened }).trimStream('s', { maxEntries: sequence - 12 })
  await opened.close()
  expect(floor).toBe(12)

  const recorded = async (at: readonly string[]) => {
    const { stdout, stderr } = await runToEnd(cwd, ['sessions', 'export', 's', ...at])
    const decoder = new RecordingDecoder()
    decoder.push(stdout)
    const recording = decoder.end()
    return { ...recording, stderr, view: new SessionLog(recording).viewAt(sequence) }
  }
  const fromFile = await recorded(['--store', store])
  expect([fromFile.base?.head, fromFile.entries[0]?.sequence, fromFile.entries.at(-1)?.sequence]).toEqual([
    12,
    13,
    sequence,
  ])
  expect(fromFile.stderr).toContain('Entries up to 12 were trimmed: exported as a snapshot instead.')
  // A server returns the current view and the entries after it.
  const fromServer = await recorded(['--server', server.url])
  expect([fromServer.base?.head, fromServer.entries]).toEqual([sequence, []])
  for (const recording of [fromFile, fromServer]) expect(recording.view.messages).toEqual(view.messages)
})

test('removes a session after a confirmation', async () => {
  const { cwd, server, runAgent } = await serveSessions()
  await runAgent('s', 'echo', 'Hello')
  const at = ['--server', server.url]
  const unsure = await runToEnd(cwd, ['sessions', 'rm', 's', ...at])
  expect([unsure.exitStatus, unsure.stderr]).toEqual([
    2,
    'Cannot ask for confirmation without a terminal. Use --yes to remove the session.\n',
  ])
  expect((await runToEnd(cwd, ['sessions', 'show', 's', ...at])).exitStatus).toBe(0)
  const sure = await runToEnd(cwd, ['sessions', 'rm', 's', '--yes', '--json', ...at])
  expect([sure.exitStatus, JSON.parse(sure.stdout)]).toEqual([0, { removed: 's' }])
  for (const verb of ['show', 'rm', 'export']) {
    const { exitStatus, stdout } = await runToEnd(cwd, ['sessions', verb, 's', ...at])
    expect([verb, exitStatus, stdout]).toEqual([verb, 3, ''])
  }
})

test('rejects wrong arguments and says why', async () => {
  const cwd = workFolder({})
  const calls = [
    ['sessions', 'shw', 's'],
    ['sessions', 'show'],
    ['sessions', 'list', 's'],
    ['sessions', '--limit', '0'],
  ]
  const results = await Promise.all(calls.map(args => runToEnd(cwd, args)))
  expect(results.map(({ exitStatus }) => exitStatus)).toEqual([2, 2, 2, 2])
  expect(results.map(({ stderr }) => stderr.split('\n')[0])).toEqual([
    'millrace sessions: unknown subcommand shw: did you mean show?',
    'millrace sessions: show needs a session: show <id>',
    'millrace sessions: list takes no session, found s',
    'millrace sessions: --limit: expected a whole number of at least 1, found 0',
  ])
})
