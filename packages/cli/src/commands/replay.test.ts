import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Clock } from '../../../../scripts/clock.ts'
import { parseArguments } from '../command/parse-arguments.ts'
import { runToEnd, workFolder } from '../millrace-command.fixture.ts'
import { pacerOf, replayCommand } from './replay.ts'
import { serveSessions } from './sessions-server.fixture.ts'

test('prints text, tool calls, approvals and discards of a session', async () => {
  const { cwd, store, server, runAgent } = await serveSessions()
  await runAgent('s', 'guide', 'What do you see?')
  await runAgent('s', 'flaky', 'What was that?')
  await runAgent('s', 'clerk', 'Tell ann')
  const { exitStatus, stdout } = await runToEnd(cwd, ['replay', 's', '--speed', 'max', '--store', store])
  expect(exitStatus).toBe(0)
  // The number of words before the discard depends on the writer.
  const printedLines = stdout
    .replace(/^flaky: It\b.*\n\d+ characters discarded/m, 'flaky: It…\nSome characters discarded')
    .split('\n')
  expect(printedLines).toEqual([
    'run of agent:guide@1',
    'user: What do you see?',
    'guide (thinks): Let me see.',
    'guide calls look {"at":"the river"}',
    'look returns a mill, at the river',
    'guide: There is a mill.',
    'completed',
    'run of agent:flaky@1',
    'user: What was that?',
    'flaky: It…',
    'Some characters discarded (provider_overloaded)',
    'flaky: It was the wind.',
    'completed',
    'run of agent:clerk@1',
    'user: Tell ann',
    'clerk calls send {"to":"ann"}',
    'send waits for approval of {"to":"ann"}',
    'waits for approval',
    '',
  ])
  const fromServer = await runToEnd(cwd, ['replay', 's', '--speed', 'max', '--server', server.url])
  expect(fromServer.stdout).toBe(stdout)
})

test('replays an export from a file and from standard input', async () => {
  const { cwd, store, runAgent } = await serveSessions()
  await runAgent('s', 'guide', 'What do you see?')
  const exported = await runToEnd(cwd, ['sessions', 'export', 's', '--store', store])
  const [header, first] = exported.stdout.split('\n')
  expect(JSON.parse(header ?? '')).toEqual({ millrace: 'session', version: 1, sessionId: 's' })
  expect(JSON.parse(first ?? '')).toMatchObject({ sequence: 1, chunk: { type: 'run-requested' } })
  writeFileSync(join(cwd, 's.jsonl'), exported.stdout)
  const replayed = await runToEnd(cwd, ['replay', 's', '--speed', 'max', '--store', store])
  const file = await runToEnd(cwd, ['replay', 's.jsonl', '--speed', 'max'])
  const input = await runToEnd(cwd, ['replay', '-', '--speed', 'max'], {}, exported.stdout)
  expect([file.stdout, input.stdout]).toEqual([replayed.stdout, replayed.stdout])
  const json = await runToEnd(cwd, ['replay', 's.jsonl', '--json', '--from', '2', '--to', '4', '--speed', 'max'])
  expect(json.stdout).toBe(exported.stdout.split('\n').slice(2, 5).join('\n').concat('\n'))
})

/** The times at which entries are shown, in ms from the start. Showing one takes `showMs`. */
async function shownAt(args: readonly string[], timestamps: readonly number[], showMs = 0): Promise<number[]> {
  const clock = new Clock()
  const start = clock.now()
  const pace = pacerOf(parseArguments(replayCommand, ['s.jsonl', ...args]), clock)
  const { signal } = new AbortController()
  const shown: number[] = []
  const replay = async () => {
    for (const timestamp of timestamps) {
      await pace?.until(timestamp, signal)
      shown.push(clock.now() - start)
      if (showMs > 0) await new Promise<void>(resolve => void clock.after(showMs, resolve))
    }
  }
  const replayed = replay()
  await clock.advance(1_000_000)
  await replayed
  expect(clock.alarms).toBe(0)
  return shown
}

test('waits between entries as recorded, scaled by --speed and capped by --idle', async () => {
  const timestamps = [5_000, 5_200, 65_000, 65_000, 64_000, 66_000]
  expect(await shownAt([], timestamps)).toEqual([0, 200, 3_200, 3_200, 3_200, 5_200])
  expect(await shownAt(['--idle', '1'], timestamps)).toEqual([0, 200, 1_200, 1_200, 1_200, 2_200])
  expect(await shownAt(['--idle', '100'], timestamps)).toEqual([0, 200, 60_000, 60_000, 60_000, 62_000])
  expect(await shownAt(['--idle', '0'], timestamps)).toEqual([0, 0, 0, 0, 0, 0])
  expect(await shownAt(['--speed', '2x'], timestamps)).toEqual([0, 100, 3_100, 3_100, 3_100, 4_100])
  expect(await shownAt(['--speed', '0.5', '--idle', '600'], [0, 200, 1_200])).toEqual([0, 400, 2_400])
  expect(await shownAt(['--speed', 'max'], timestamps)).toEqual([0, 0, 0, 0, 0, 0])
})

test('makes up for at most 250 ms of delay', async () => {
  // Showing takes 40 of 100 ms: each entry is still on time.
  expect(await shownAt([], [0, 100, 200, 300], 40)).toEqual([0, 100, 200, 300])
  // Each is 1 s late. The next wait is 250 ms shorter, not 1 s.
  expect(await shownAt([], [0, 1_000, 2_000], 2_000)).toEqual([0, 2_750, 5_500])
})

test('ends the wait on abort', async () => {
  const clock = new Clock()
  const pace = pacerOf(parseArguments(replayCommand, ['s.jsonl']), clock)
  const abort = new AbortController()
  await pace?.until(0, abort.signal)
  const waiting = pace?.until(1_000, abort.signal)
  expect(clock.alarms).toBe(1)
  abort.abort()
  await waiting
  await pace?.until(2_000, abort.signal)
  expect(clock.alarms).toBe(0)
})

test('prints every entry with a speed and a limit for waits', async () => {
  const origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'teller', step: 1 }
  const entries = [0, 200, 60_000].map((timestamp, i) =>
    JSON.stringify({ sequence: i + 1, timestamp, origin, chunk: { type: 'status', message: `${i}` } }),
  )
  const header = JSON.stringify({ millrace: 'session', version: 1, sessionId: 's' })
  const cwd = workFolder({ 's.jsonl': [header, ...entries].join('\n') })
  const { exitStatus, stdout } = await runToEnd(cwd, ['replay', 's.jsonl', '--json', '--speed', '600x', '--idle', '1'])
  expect([exitStatus, stdout]).toEqual([0, `${entries.join('\n')}\n`])
})

test('rejects a file that is no recording and names the line', async () => {
  const header = '{"millrace":"session","version":1,"sessionId":"s"}\n'
  const cwd = workFolder({ 'a.jsonl': 'hello\n', 'b.jsonl': `${header}{"sequence":1}\n`, 'c.jsonl': '' })
  const results = await Promise.all(['a', 'b', 'c', 'd'].map(name => runToEnd(cwd, ['replay', `${name}.jsonl`])))
  expect(results.map(({ exitStatus }) => exitStatus)).toEqual([1, 1, 1, 3])
  expect(results.map(({ stderr }) => stderr.split(/(?<=line \d):/)[0])).toEqual([
    'a.jsonl: line 1',
    'b.jsonl: line 2',
    'c.jsonl: line 1',
    'There is no file d.jsonl: check the path.\n',
  ])
  expect(readFileSync(join(cwd, 'a.jsonl'), 'utf8')).toBe('hello\n')
  mkdirSync(join(cwd, 'folder'))
  const folder = await runToEnd(cwd, ['replay', 'folder'])
  expect([folder.exitStatus, folder.stderr]).toEqual([
    3,
    expect.stringMatching(/^Expected a recording, found the folder folder: choose a file in it/),
  ])
  const { exitStatus, stderr } = await runToEnd(cwd, ['replay', 'a.jsonl', '--speed', '0'])
  expect([exitStatus, stderr]).toEqual([
    2,
    expect.stringContaining('--speed: expected a number above 0, or max, found 0'),
  ])
})
