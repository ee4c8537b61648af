import { describe, expect, test } from 'vitest'
import { dialectNames } from '../convert/dialects.ts'
import { millraceCommand, runToEnd, workFolder } from '../millrace-command.fixture.ts'
import { serveSessions } from './sessions-server.fixture.ts'

const chunksOf = (recording: string): unknown[] =>
  recording
    .split('\n')
    .filter(Boolean)
    .slice(1)
    .map(line => JSON.parse(line).chunk)

/** An exported session with one run. */
async function exported(): Promise<{ cwd: string; recording: string; url: string }> {
  const { cwd, store, server, runAgent } = await serveSessions()
  await runAgent('s', 'guide', 'What do you see?')
  const { stdout } = await runToEnd(cwd, ['sessions', 'export', 's', '--store', store])
  return { cwd, recording: stdout, url: server.url }
}

test('converts a run into every dialect and back', async () => {
  const { cwd, recording } = await exported()
  // The request is not part of the run.
  const run = chunksOf(recording).slice(1)
  const words = (chunks: readonly unknown[]) =>
    chunks.filter(chunk => /"type":"(text|tool)-/.test(JSON.stringify(chunk)))
  expect(words(run).length).toBeGreaterThan(5)
  const foreign = dialectNames.filter(name => name !== 'millrace')
  await Promise.all(
    foreign.map(async (name, i) => {
      // Both formats are accepted.
      const format = i % 2 === 0 ? ['--sse'] : []
      const there = await runToEnd(cwd, ['convert', '--from', 'millrace', '--to', name, ...format], {}, recording)
      expect([name, there.exitStatus, there.stderr]).toEqual([name, 0, ''])
      const back = await runToEnd(cwd, ['convert', '--from', name, '--to', 'millrace'], {}, there.stdout)
      expect([name, back.exitStatus, back.stderr]).toEqual([name, 0, ''])
      expect([name, words(chunksOf(back.stdout))]).toEqual([name, words(run)])
    }),
  )
})

test('reads server-sent events and converts them as they arrive', async () => {
  const { cwd, url } = await exported()
  const stream = await fetch(`${url}/api/sessions/s/stream?live=false`)
  const { exitStatus, stdout } = await runToEnd(
    cwd,
    ['convert', '--from', 'millrace', '--to', 'ai-sdk', '--sse'],
    {},
    await stream.text(),
  )
  expect(exitStatus).toBe(0)
  expect(stdout).toContain('"delta":"There is a mill."')
  expect(stdout.endsWith('data: [DONE]\n\n')).toBe(true)

  const live = millraceCommand(cwd, ['convert', '--from', 'ai-sdk', '--to', 'ag-ui'])
  live.write('data: {"type":"start","messageId":"m"}\n\ndata: {"type":"text-start","id":"t"}\n\n')
  live.write('data: {"type":"text-delta","id":"t","delta":"Hello"}\n\n')
  await live.output(/"delta":"Hello"/)
  live.write('data: {"type":"text-end","id":"t"}\n\ndata: {"type":"finish"}\n\ndata: [DONE]\n\n')
  live.closeInput()
  expect((await live.ended).exitStatus).toBe(0)
})

test('converts one run of a log with several', async () => {
  const { cwd, store, runAgent } = await serveSessions()
  await runAgent('s', 'echo', 'One')
  await runAgent('s', 'echo', 'Two')
  const { stdout: recording } = await runToEnd(cwd, ['sessions', 'export', 's', '--store', store])
  const first = await runToEnd(cwd, ['convert', '--from', 'millrace', '--to', 'mui'], {}, recording)
  expect(first.stdout).toContain('You said: One')
  expect(first.stdout).not.toContain('Two')
  expect(first.stderr).toMatch(/^Converted the run \S+\. The log has 1 more: choose one with --run\.$/m)
  const runs = recording.split('\n').flatMap(line => /"runId":"([^"]+)"/.exec(line)?.[1] ?? [])
  const second = await runToEnd(
    cwd,
    ['convert', '--from', 'millrace', '--to', 'mui', '--run', runs.at(-1) ?? ''],
    {},
    recording,
  )
  expect(second.stdout).toContain('You said: Two')
  const none = await runToEnd(cwd, ['convert', '--from', 'millrace', '--to', 'mui', '--run', 'nope'], {}, recording)
  expect([none.exitStatus, none.stderr]).toEqual([3, 'There is no run nope in this log: choose another with --run.\n'])
})

describe('invalid input', () => {
  const start = '{"type":"start","messageId":"m"}\n'
  test.each([
    ['text that is not JSON', `${start}{"type":`, 'line 2: expected JSON'],
    ['a value that is not an object', `${start}\n5\n`, 'line 3: expected an object'],
    [
      'a stream without an end',
      `${start}{"type":"text-start","id":"t"}\n`,
      'line 2: stream: expected the end of the run, but the stream stopped before it',
    ],
    ['an empty input', '', 'line 0: stream: expected the end of the run, but the stream stopped before it'],
    ['an event that is not of the dialect', `${start}{"type":"text-delta","id":5}\n`, 'line 2: '],
  ])('is rejected with its line: %s', async (_, input, why) => {
    const { exitStatus, stderr } = await runToEnd(
      workFolder({}),
      ['convert', '--from', 'ai-sdk', '--to', 'millrace'],
      {},
      input,
    )
    expect([exitStatus, stderr]).toEqual([1, expect.stringContaining(why)])
    expect(stderr).not.toContain('    at ')
  })

  test('is rejected if a dialect is unknown or missing', async () => {
    const calls = [
      ['convert', '--from', 'aisdk', '--to', 'mui'],
      ['convert', '--to', 'mui'],
    ]
    const results = await Promise.all(calls.map(args => runToEnd(workFolder({}), args)))
    expect(results.map(({ exitStatus }) => exitStatus)).toEqual([2, 2])
    expect(results[0]?.stderr).toContain('--from: unknown dialect aisdk: did you mean ai-sdk?')
    expect(results[1]?.stderr).toContain('expected --from DIALECT: millrace, ')
  })
})
