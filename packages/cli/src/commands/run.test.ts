import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { MAIN, runToEnd, workFolder } from '../millrace-command.fixture.ts'

const HOSTILE = '\u001b[2J\u009b31m\u0007\u202e'
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
const CONTROL_CHARACTERS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/

/** A server with the same response to every request. */
async function serverWithReply(status: number, body: unknown): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('escapes control characters of servers, files, recordings and arguments', async () => {
  const origin = { runId: `r${HOSTILE}`, lane: 'main', agentId: 'r', agentType: `a${HOSTILE}`, step: 1 }
  const chunks = [
    { type: 'run-started', program: 'agent:a@1' },
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: `words ${HOSTILE}` },
    { type: 'text-end', id: 't' },
    { type: 'run-finished', status: 'completed' },
  ]
  const entries = [origin, { ...origin, runId: 'other' }].flatMap((origin, run) =>
    chunks.map((chunk, i) => ({ sequence: run * chunks.length + i + 1, timestamp: 1, origin, chunk })),
  )
  const lines = [{ millrace: 'session', version: 1, sessionId: 's' }, ...entries].map(line => JSON.stringify(line))
  const recording = `${lines.join('\n')}\n`
  const cwd = workFolder({
    's.jsonl': recording,
    'bad.ts': `throw new Error(${JSON.stringify(HOSTILE)})`,
    'page/index.html': '',
  })
  const line = { sessionId: 's', status: HOSTILE, created: 1, updated: 1, sequence: 1 }
  const [failingServer, listingServer] = [
    await serverWithReply(500, { error: { code: HOSTILE, message: `no ${HOSTILE}`, retryable: false } }),
    await serverWithReply(200, { sessions: [line], next: null }),
  ]
  const results = await Promise.all([
    runToEnd(cwd, [`tail${HOSTILE}`]),
    runToEnd(cwd, ['sessions', '--server', failingServer]),
    runToEnd(cwd, ['sessions', '--server', listingServer]),
    runToEnd(cwd, ['doctor', 'bad.ts', '--server', failingServer]),
    runToEnd(cwd, ['dev', 'bad.ts', '--no-reload', '--port', '0', '--page', 'page']),
    runToEnd(cwd, ['replay', 's.jsonl', '--speed', 'max']),
    runToEnd(cwd, ['replay', 's.jsonl', '--speed', 'max', '--json']),
    runToEnd(cwd, ['convert', '--from', 'millrace', '--to', 'ai-sdk'], {}, recording),
  ])
  for (const [i, { stdout, stderr }] of results.entries()) {
    // The escaped text proves that the characters were in the output.
    expect([i, stdout + stderr]).toEqual([i, expect.stringContaining('\\u009b')])
    expect([i, stdout + stderr]).toEqual([i, expect.not.stringMatching(CONTROL_CHARACTERS)])
  }
})

test('prints help and version as JSON with --json', async () => {
  const cwd = workFolder({})
  const calls = [['--version'], ['--help'], ['help', 'tail'], ['tail', '--help']]
  const results = await Promise.all(calls.map(args => runToEnd(cwd, [...args, '--json'])))
  const [version, help, about, tail] = results.map(({ stdout }) => JSON.parse(stdout))
  expect(version).toEqual({ version: expect.stringMatching(/^\d+\.\d+\.\d+/) })
  expect(help).toMatchObject({ exitCodes: { done: 0, 'not-found': 3 } })
  expect(help.commands.map(({ name }: { name: string }) => name)).toContain('doctor')
  expect(about).toMatchObject({ name: 'tail', options: { after: { value: 'N' }, json: {} } })
  expect(tail).toEqual(about)
})

test('exits with its exit code when the reader of standard error is gone', async () => {
  const entry = { sequence: 1, timestamp: 1, origin: { guest: 'ann' }, chunk: { type: 'status', message: 'm' } }
  const cwd = workFolder({
    's.jsonl': `{"millrace":"session","version":1,"sessionId":"s"}\n${JSON.stringify(entry)}\n`,
  })
  const main = `"${process.execPath}" --conditions=@millrace/source "${MAIN}"`
  // The reader of standard error is closed before any output.
  const script = `exec 3> >(exec true); wait $!; ${main} replay nope.jsonl 2>&3; echo "code $?"`
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd })
  expect(stdout).toBe('code 3\n')
})
