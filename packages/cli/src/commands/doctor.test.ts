import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Finding } from '../doctor/finding.ts'
import { runToEnd, workFolder } from '../millrace-command.fixture.ts'
import { serveSessions } from './sessions-server.fixture.ts'

const NO_KEYS = { OPENAI_API_KEY: '', ANTHROPIC_API_KEY: '' }

interface Report {
  readonly ok: boolean
  readonly findings: readonly Finding[]
}

async function report(cwd: string, args: readonly string[], env: Record<string, string> = NO_KEYS) {
  const { exitStatus, stdout } = await runToEnd(cwd, ['doctor', '--json', ...args], env)
  const { ok, findings }: Report = JSON.parse(stdout)
  return {
    exitStatus,
    ok,
    stdout,
    findings,
    findingsOf: (check: string) => findings.filter(finding => finding.check === check),
  }
}

/** A server with the same response to every request. */
async function answering(status: number, body: unknown): Promise<{ url: string; port: number; requests: string[] }> {
  const requests: string[] = []
  const server = createServer((message, response) => {
    requests.push(`${message.url} ${message.headers.authorization ?? message.headers['x-api-key'] ?? ''}`)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, requests }
}

test('passes for a working store and server, and leaves the store as it was', async () => {
  const { cwd, store, server, runAgent } = await serveSessions()
  await runAgent('s', 'echo', 'Hello')
  const found = await report(cwd, ['--store', store, '--server', server.url])
  expect([found.exitStatus, found.ok]).toEqual([0, true])
  expect(found.findings.map(({ check }) => check)).toEqual([
    'node',
    'permissions',
    'disk',
    'store',
    'clock',
    'server',
    'models',
  ])
  expect(found.findingsOf('store')[0]?.message).toMatch(
    /^sqlite:mill\.db can be opened, written, read and leased \(\d+ ms\)$/,
  )
  const listed = await runToEnd(cwd, ['sessions', '--store', store, '--json'])
  expect(listed.stdout.trim().split('\n')).toHaveLength(1)
})

test('passes in an empty folder and creates nothing', async () => {
  const cwd = workFolder({})
  const { exitStatus, stdout } = await runToEnd(cwd, ['doctor', '--port', '1024'], NO_KEYS)
  expect(exitStatus).toBe(0)
  expect(stdout).toContain('does not exist yet: the first start creates it')
  expect(stdout).toMatch(/^✓ node {10}node \d/m)
  expect(existsSync(join(cwd, '.millrace'))).toBe(false)
})

test('fails for a broken store or server and says what to do next', async () => {
  const cwd = workFolder({
    'not.db': 'this is no database, and longer than a header of one would have to be.'.repeat(20),
  })
  const broken = await report(cwd, ['--store', 'sqlite:not.db'])
  expect([broken.exitStatus, broken.ok]).toEqual([1, false])
  expect(broken.findingsOf('store')[0]).toMatchObject({ status: 'fail', next: expect.any(String) })
  expect(readFileSync(join(cwd, 'not.db'), 'utf8')).toContain('no database')
  const away = await report(cwd, ['--server', 'http://127.0.0.1:1'])
  expect(away.findingsOf('server')[0]).toMatchObject({ status: 'fail', next: expect.stringContaining('start it') })
  const other = await answering(200, { hello: 'world' })
  expect((await report(cwd, ['--server', other.url])).findingsOf('server')[0]).toMatchObject({ status: 'fail' })
  expect((await report(cwd, ['--port', String(other.port)])).findingsOf('port')[0]).toMatchObject({
    status: 'warn',
    message: `port ${other.port} is taken by another program`,
  })
  for (const finding of [...broken.findings, ...away.findings]) {
    if (finding.status === 'fail' || finding.status === 'warn') expect(finding.next).toBeTruthy()
  }
})

test('fails for a database file that all users may write', async () => {
  const { cwd, store, runAgent } = await serveSessions()
  await runAgent('s', 'echo', 'Hello')
  chmodSync(join(cwd, 'mill.db'), 0o666)
  const { exitStatus, findingsOf } = await report(cwd, ['--store', store])
  expect(exitStatus).toBe(1)
  expect(findingsOf('permissions')[0]).toMatchObject({ status: 'fail', next: expect.stringContaining('chmod 600') })
})

test('checks a file, its app and its store', async () => {
  const cwd = workFolder({
    'app.ts': `import { agent, millrace, openStore, scriptedModel } from 'millrace'
export default millrace({ agents: [agent({ name: 'a', model: scriptedModel([]) })], store: openStore('sqlite:own.db') })`,
    'bad.ts': "throw new Error('the mill is closed')",
    'ends.ts': 'process.exit(5)',
    // The file prints and keeps its process alive.
    'busy.ts': `import { agent, millrace, scriptedModel } from 'millrace'
console.log('the file says so')
setInterval(() => {}, 1_000)
export const app = millrace({ agents: [agent({ name: 'a', model: scriptedModel([]) })], store: 'memory:' })`,
  })
  const fine = await report(cwd, ['app.ts'])
  expect(fine.findingsOf('file')[0]?.message).toBe('app.ts has 1 agents and 0 workflows')
  expect(fine.findingsOf('store')[0]).toMatchObject({ status: 'ok' })
  const bad = await report(cwd, ['bad.ts'])
  expect([bad.exitStatus, bad.findingsOf('file')[0]?.message]).toEqual([
    1,
    expect.stringContaining('the mill is closed'),
  ])
  const busy = await report(cwd, ['busy.ts'])
  expect([busy.exitStatus, busy.findingsOf('file')[0]?.status, busy.findingsOf('store')[0]?.status]).toEqual([
    0,
    'ok',
    'note',
  ])
  const ends = await report(cwd, ['ends.ts'])
  expect([ends.exitStatus, ends.findingsOf('file')[0]?.message]).toEqual([
    1,
    'ends.ts ended its process (5) while it was loaded',
  ])
  const other = await report(cwd, ['busy.ts', '--store', 'sqlite:nope/none.db'])
  expect(other.findings.slice(1, 5).map(({ check }) => check)).toEqual(['file', 'permissions', 'disk', 'store'])
})

test('names API keys, tries them only with --online, and never prints them', async () => {
  const cwd = workFolder({})
  const key = 'sk-a-secret-of-ann'
  const [takes, refuses] = [await answering(200, { data: [] }), await answering(401, { error: {} })]
  const env = {
    OPENAI_API_KEY: key,
    OPENAI_BASE_URL: takes.url,
    ANTHROPIC_API_KEY: key,
    ANTHROPIC_BASE_URL: refuses.url,
  }
  const quiet = await report(cwd, [], env)
  expect(quiet.findingsOf('models').map(({ status }) => status)).toEqual(['ok', 'ok'])
  expect([takes.requests, refuses.requests]).toEqual([[], []])
  const online = await report(cwd, ['--online'], env)
  expect(online.exitStatus).toBe(1)
  expect(online.findingsOf('models').map(({ status }) => status)).toEqual(['ok', 'fail'])
  expect([takes.requests, refuses.requests]).toEqual([[`/models Bearer ${key}`], [`/models ${key}`]])
  expect(quiet.stdout + online.stdout).not.toContain(key)
})
