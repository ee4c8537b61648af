import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { place, ran } from '../millrace-command.fixture.ts'
import { serveSessions } from './sessions-server.fixture.ts'

test('prints text, tool calls, approvals and retractions of a session', async () => {
  const { cwd, store, server, say } = await serveSessions()
  await say('s', 'guide', 'What do you see?')
  await say('s', 'flaky', 'What was that?')
  await say('s', 'clerk', 'Tell ann')
  const { how, stdout } = await ran(cwd, ['replay', 's', '--speed', 'max', '--store', store])
  expect(how).toBe(0)
  // How many words were written before they were taken back is the writer's to decide.
  const told = stdout.replace(/^flaky: It\b.*\n\d+ characters taken/m, 'flaky: It…\nSome characters taken').split('\n')
  expect(told).toEqual([
    'run of agent:guide@1',
    'user: What do you see?',
    'guide (thinks): Let me see.',
    'guide calls look {"at":"the river"}',
    'look gives a mill, at the river',
    'guide: There is a mill.',
    'completed',
    'run of agent:flaky@1',
    'user: What was that?',
    'flaky: It…',
    'Some characters taken back (provider_overloaded)',
    'flaky: It was the wind.',
    'completed',
    'run of agent:clerk@1',
    'user: Tell ann',
    'clerk calls send {"to":"ann"}',
    'send waits for approval of {"to":"ann"}',
    'waits for approval',
    '',
  ])
  const asked = await ran(cwd, ['replay', 's', '--speed', 'max', '--server', server.url])
  expect(asked.stdout).toBe(stdout)
})

test('replays an export from a file and from standard input', async () => {
  const { cwd, store, say } = await serveSessions()
  await say('s', 'guide', 'What do you see?')
  const exported = await ran(cwd, ['sessions', 'export', 's', '--store', store])
  const [header, first] = exported.stdout.split('\n')
  expect(JSON.parse(header ?? '')).toEqual({ millrace: 'session', version: 1, sessionId: 's' })
  expect(JSON.parse(first ?? '')).toMatchObject({ sequence: 1, chunk: { type: 'run-requested' } })
  writeFileSync(join(cwd, 's.jsonl'), exported.stdout)
  const told = await ran(cwd, ['replay', 's', '--speed', 'max', '--store', store])
  const file = await ran(cwd, ['replay', 's.jsonl', '--speed', 'max'])
  const input = await ran(cwd, ['replay', '-', '--speed', 'max'], {}, exported.stdout)
  expect([file.stdout, input.stdout]).toEqual([told.stdout, told.stdout])
  const json = await ran(cwd, ['replay', 's.jsonl', '--json', '--from', '2', '--to', '4', '--speed', 'max'])
  expect(json.stdout).toBe(exported.stdout.split('\n').slice(2, 5).join('\n').concat('\n'))
})

test('waits between entries as recorded, scaled by --speed and capped by --idle', async () => {
  const origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'teller', step: 1 }
  const at = [0, 200, 60_000].map((timestamp, i) => ({
    sequence: i + 1,
    timestamp,
    origin,
    chunk: { type: 'status', message: `${i}` },
  }))
  const lines = [{ millrace: 'session', version: 1, sessionId: 's' }, ...at].map(line => JSON.stringify(line))
  const cwd = place({ 's.jsonl': lines.join('\n') })
  const took = async (...args: string[]) => {
    const from = performance.now()
    expect((await ran(cwd, ['replay', 's.jsonl', '--json', ...args])).stdout.split('\n')).toHaveLength(4)
    return performance.now() - from
  }
  // A minute is cut to a second, and what is as fast as can be waits for nothing.
  expect(await took('--idle', '1')).toBeGreaterThan(1_200)
  await took('--speed', 'max')
  await took('--speed', '600x')
})

test('rejects a file that is no recording and names the line', async () => {
  const header = '{"millrace":"session","version":1,"sessionId":"s"}\n'
  const cwd = place({ 'a.jsonl': 'hello\n', 'b.jsonl': `${header}{"sequence":1}\n`, 'c.jsonl': '' })
  const ends = await Promise.all(['a', 'b', 'c', 'd'].map(name => ran(cwd, ['replay', `${name}.jsonl`])))
  expect(ends.map(({ how }) => how)).toEqual([1, 1, 1, 3])
  expect(ends.map(({ stderr }) => stderr.split(/(?<=line \d):/)[0])).toEqual([
    'a.jsonl: line 1',
    'b.jsonl: line 2',
    'c.jsonl: line 1',
    'There is no file d.jsonl.\n',
  ])
  expect(readFileSync(join(cwd, 'a.jsonl'), 'utf8')).toBe('hello\n')
  mkdirSync(join(cwd, 'folder'))
  const folder = await ran(cwd, ['replay', 'folder'])
  expect([folder.how, folder.stderr]).toEqual([3, expect.stringMatching(/^folder is a folder: name a recording in it/)])
  const { how, stderr } = await ran(cwd, ['replay', 'a.jsonl', '--speed', '0'])
  expect([how, stderr]).toEqual([2, expect.stringContaining('--speed: expected a number above 0, or max, found 0')])
})
