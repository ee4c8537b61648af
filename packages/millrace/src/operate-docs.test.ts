// Runs the code of the pages that an operator reads: deploy, stores, scaling, retention and upgrades.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { compileCache } from '../../../scripts/compile-cache.ts'
import { postgres } from '../../../scripts/services/postgres.ts'
import { redis } from '../../../scripts/services/redis.ts'
import { blocksAt, folderInPackage } from '../../../scripts/site-code.fixture.ts'

const root = join(import.meta.dirname, '../../..')
const run = promisify(execFile)

const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** The blocks of a page in a language. */
const codeIn = (page: string, language: string): readonly string[] =>
  blocksAt(page).flatMap(block => (block.language === language ? block.code : []))

/** A folder with the TypeScript files that a page names, its other TypeScript as `example.ts`, and `npx` with the command of this tree. */
function folderOf(page: string, more = ''): string {
  const folder = folderInPackage('packages/millrace')
  const blocks = blocksAt(page).filter(({ language }) => language === 'ts')
  for (const { name, code } of blocks) if (name !== '') writeFileSync(join(folder, name), code)
  const program = blocks.flatMap(({ name, code }) => (name === '' ? code : []))
  writeFileSync(join(folder, 'example.ts'), [...program, more].join('\n'))
  mkdirSync(join(folder, 'bin'))
  const main = join(root, 'packages/cli/src/main.ts')
  const commands = {
    node: `exec "${process.execPath}" --conditions=@millrace/source "$@"`,
    npx: `shift\nexec "${process.execPath}" --conditions=@millrace/source "${main}" "$@"`,
  }
  for (const [name, command] of Object.entries(commands)) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${command}\n`)
    chmodSync(join(folder, 'bin', name), 0o755)
  }
  return folder
}

/** The environment of a program in a folder. */
function envOf(folder: string, own: Record<string, string> = {}): NodeJS.ProcessEnv {
  const { MILLRACE_STORE, ...env } = process.env
  const PATH = `${join(folder, 'bin')}${delimiter}${env['PATH']}`
  return { ...env, ...compileCache, NO_COLOR: '1', PATH, ...own }
}

/** Runs a command of a shell in a folder. Returns its output. */
async function shell(folder: string, command: string, own: Record<string, string> = {}): Promise<string> {
  const { stdout } = await run('bash', ['-c', `set -eo pipefail\n${command}`], {
    cwd: folder,
    env: envOf(folder, own),
    timeout: 150_000,
  })
  return stdout
}

/** Starts a program of a folder. Resolves with its first line. */
async function start(folder: string, file: string, own: Record<string, string>) {
  const child = spawn(process.execPath, ['--conditions=@millrace/source', file], {
    cwd: folder,
    env: envOf(folder, { PORT: '0', ...own }),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const exit = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exit
  })
  const [line] = await once(createInterface(child.stdout), 'line')
  return { child, exit, line: String(line), url: String(line).replace('Listening on ', '') }
}

async function stopped({ child, exit }: { child: ChildProcess; exit: Promise<unknown[]> }): Promise<unknown[]> {
  child.kill('SIGTERM')
  return exit
}

const asking = (input: string, headers: Record<string, string> = {}) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify({ agent: 'echo', input }),
})

test('the server of the guide to deploying authorizes, reports its health, and exits on SIGTERM', async () => {
  const folder = folderOf('guide/deploy')
  await expect(shell(folder, 'node server.ts')).rejects.toThrow('TOKEN: expected')
  const server = await start(folder, 'server.ts', { TOKEN: 'secret' })
  const { port } = new URL(server.url)
  const [first = ''] = codeIn('guide/deploy', 'sh')
  const [, health = ''] = first.trim().split('\n')
  expect(JSON.parse(await shell(folder, health.replace('curl', 'curl -s').replace('4400', port)))).toEqual({
    status: 'ok',
    protocol: 1,
  })
  const status = async (headers?: Record<string, string>) =>
    (await fetch(`${server.url}/api/sessions`, headers && { headers })).status
  expect([await status(), await status({ authorization: 'Bearer secret' })]).toEqual([401, 200])
  const reply = await fetch(`${server.url}/api/sessions/s/runs`, asking('Hello', { authorization: 'Bearer secret' }))
  expect(await reply.text()).toContain('"type":"end","status":"completed"')
  expect(reply.headers.get('x-accel-buffering')).toBe('no')
  expect(reply.headers.get('cache-control')).toContain('no-transform')
  // The page names the files of the store.
  for (const name of ['millrace.db', 'millrace.db-wal', 'millrace.db-shm']) {
    expect(existsSync(join(folder, '.millrace', name)), name).toBe(true)
  }
  const [doctor = ''] = codeIn('guide/upgrades', 'sh')
  expect(await shell(folder, doctor.replace('4400', port))).toContain('is up')
  const [image = ''] = codeIn('guide/deploy', 'dockerfile')
  const [, check = ''] = /^HEALTHCHECK CMD (.+)$/m.exec(image) ?? []
  const [, ...args] = JSON.parse(check.replace('4400', port)) as string[]
  await run(process.execPath, args)
  expect(await stopped(server)).toEqual([0, null])
  await expect(run(process.execPath, args)).rejects.toThrow()
})

test('a proxy that sends the address of the server as Host passes the check of a server without authorize', async () => {
  const { agent, millrace, scriptedModel } = await import('./index.ts')
  const app = millrace({ store: 'memory:', agents: [agent({ name: 'echo', model: scriptedModel([]) })], logger: QUIET })
  onTestFinished(() => app.close())
  const status = async (host: string) =>
    (await app.fetch(new Request('http://127.0.0.1:4400/api/agents', { headers: { host } }))).status
  expect([await status('127.0.0.1:4400'), await status('chat.example.com')]).toEqual([200, 403])
})

const QUIET = { warn() {}, error() {} }

test('the settings of proxies and platforms in the guide to deploying fit the defaults of the server', () => {
  const defaults = read('docs/reference/defaults.md')
  const numberOf = (name: string, text = defaults): number => {
    const [, digits = ''] = new RegExp(`\`${name.replace('.', '\\.')}\` \\| ([\\d,]+)`).exec(text) ?? []
    expect(digits, name).not.toBe('')
    return Number(digits.replaceAll(',', ''))
  }
  const [nginx = ''] = codeIn('guide/deploy', 'nginx')
  const setting = (pattern: RegExp, text = nginx): number => Number(pattern.exec(text)?.[1])
  expect(setting(/client_max_body_size (\d+)m;/)).toBeGreaterThan(numberOf('limits.uploadBytes'))
  expect(setting(/proxy_read_timeout (\d+)s;/) * 1000).toBeGreaterThan(2 * numberOf('stream.heartbeatMs'))
  const [, idle = ''] = /keepAliveTimeout: ([\d_]+)/.exec(read('packages/server/src/http/listen.ts')) ?? []
  const [caddy = ''] = codeIn('guide/deploy', 'text')
  expect(setting(/keepalive (\d+)s/, caddy) * 1000).toBeLessThan(Number(idle.replaceAll('_', '')))
  const [unit = ''] = codeIn('guide/deploy', 'ini')
  const needed = numberOf('graceMs') + 4_000 + 1_000
  expect(needed).toBeLessThanOrEqual(25_000)
  expect(setting(/TimeoutStopSec=(\d+)/, unit) * 1000).toBeGreaterThan(needed)
  expect(setting(/--stop-timeout (\d+)/, codeIn('guide/deploy', 'sh').join('')) * 1000).toBeGreaterThan(needed)
  expect(unit).toContain('ExecStart=/usr/bin/node server.ts\n')
  expect(codeIn('guide/deploy', 'dockerfile').join('')).toContain('CMD ["node", "server.ts"]\n')
})

test('the stores of the guide open, and a backup of SQLite is restored', async () => {
  const services = await Promise.all([redis(), postgres()])
  onTestFinished(async () => void (await Promise.all(services.map(service => service.stop()))))
  const [redisUrl, postgresUrl] = services.map(({ url }) => url) as [string, string]
  const more = `
    import { createRuntime } from 'millrace'
    const run = await (await app.runtime()).start({ session: 's', agent: echo, input: 'default' })
    console.log((await run.result()).text)
    const { sqlite, redis, postgres } = await import('./stores.ts')
    for (const store of [sqlite(), redis(${JSON.stringify(redisUrl)}), postgres(${JSON.stringify(postgresUrl)})]) {
      const runtime = createRuntime({ store, agents: [echo] })
      console.log((await (await runtime.start({ agent: echo, input: 'own' })).result()).text)
      await runtime.close()
      await store.close()
    }
    const { execFileSync } = await import('node:child_process')
    execFileSync('node', ['backup.ts'], { stdio: 'inherit' }) // while the app has the store open
    await app.close()`
  const folder = folderOf('guide/stores', more)
  expect(await shell(folder, 'node example.ts 2>/dev/null')).toBe(
    ['You said: default', ...Array(3).fill('You said: own'), ''].join('\n'),
  )
  expect(await shell(folder, 'node restore.ts sqlite:copy.db')).toBe('Sessions restored: 1\n')
  const [doctor = ''] = codeIn('guide/stores', 'sh')
  expect(await shell(folder, doctor)).toContain('can be opened, written, read and leased')
})

test('the program of the guide to scaling serves without driving, and its workers drive', async () => {
  const folder = folderOf('guide/scaling')
  const [commands = ''] = codeIn('guide/scaling', 'sh')
  expect(commands.match(/main\.ts/g)).toHaveLength(3)
  const server = await start(folder, 'main.ts', {})
  const reply = fetch(`${server.url}/api/sessions/s/runs`, asking('Hello'))
  const workers = await Promise.all([1, 2].map(() => start(folder, 'main.ts', { ROLE: 'worker' })))
  expect(workers.map(({ line }) => line)).toEqual(['Driving runs', 'Driving runs'])
  expect(await (await reply).text()).toContain('"type":"end","status":"completed"')
  expect(await Promise.all([server, ...workers].map(stopped))).toEqual(Array(3).fill([0, null]))
})

test('the bounds in the guide to scaling hold in the measurements', () => {
  const { standings } = JSON.parse(read('bench/results/standings.json')) as {
    standings: readonly { job: string; unit: string; ours: number; tail?: true }[]
  }
  // Bytes, nanoseconds of CPU time and milliseconds of latency, as the results have them.
  const bounds: readonly (readonly [row: string, job: string, atMost: number])[] = [
    ['| memory of an idle session in the process that drove it | 1 kB |', 'an idle session, SQLite', 1_000],
    ['| memory of a session that waits for an approval | 1 kB |', 'a session that waits for approval, SQLite', 1_000],
    [
      '| memory of a session with a streaming answer and its reader | 100 kB |',
      'a session with a streaming answer and its reader',
      100_000,
    ],
    ['| CPU of a token of a run | 20 µs |', 'a token of a run, on SQLite', 20_000],
    ['| CPU of a delivery, if 1,000 readers follow one session | 2 µs |', 'a delivery, 1,000 readers', 2_000],
    [
      '| time from an append to its reader, if 1,000 readers follow a session each | 2 ms (median) |',
      'an append to one of 1,000 readers, a session each',
      2,
    ],
    [
      '| time until a new process has the view of a session of 1,000 turns | 0.5 s |',
      'cold start of a session of 1,000 turns: its view',
      500,
    ],
  ]
  const page = read('docs/guide/scaling.md')
  for (const [row, job, atMost] of bounds) {
    expect(page).toContain(`${row}\n`)
    expect(standings.find(each => each.job === job && !each.tail)?.ours, job).toBeLessThan(atMost)
  }
})

test('the programs of the guide to retention trim, expire, erase and remove deleted text', async () => {
  const folder = folderOf('guide/retention')
  mkdirSync(join(folder, '.millrace'))
  const secret = 'a secret of ann '.repeat(300)
  const fill = `
    import { agent, createRuntime, openStore, scriptedModel } from 'millrace'
    const echo = agent({ name: 'echo', model: scriptedModel(({ lastText }) => ({ text: lastText })) })
    const store = await openStore('sqlite:.millrace/millrace.db')
    const runtime = createRuntime({ store, agents: [echo] })
    const say = async (principal: string, session: string) =>
      (await runtime.start({ principal, session, agent: echo, input: ${JSON.stringify(secret)} })).result()
    for (let turn = 0; turn < 3; turn++) await say('ann', 'trip-1')
    await say('ann', 'trip-2')
    await say('ben', 'work')
    await runtime.close()
    await store.close()`
  writeFileSync(join(folder, 'fill.ts'), fill)
  const show = `
    import { createRuntime, openStore } from 'millrace'
    const store = await openStore('sqlite:.millrace/millrace.db')
    const { manager } = createRuntime({ store, engine: false })
    const info = await manager.getInfo('trip-1')
    console.log(info?.floor, (await manager.view('trip-1')).view.messages.length)
    await store.close()`
  writeFileSync(join(folder, 'show.ts'), show)
  await shell(folder, 'node fill.ts')

  const [trim = '', commands = ''] = codeIn('guide/retention', 'sh')
  const trimmed = await shell(folder, trim, { KEEP_ENTRIES: '10' })
  const [, floor = ''] = /^trip-1: trimmed up to (\d+)$/m.exec(trimmed) ?? []
  expect(Number(floor)).toBeGreaterThan(0)
  expect(trimmed).toMatch(/^work: trimmed up to \d+$/m)
  // All messages are still there.
  expect(await shell(folder, 'node show.ts')).toBe(`${floor} 6\n`)

  const listed = await shell(folder, commands)
  expect(listed).toContain('"sessionId":"trip-2"')
  expect(await shell(folder, 'node erase.ts ann')).toBe('ann: 1 sessions deleted\n')
  expect(await shell(folder, 'node retention.ts')).toMatch(/^work: trimmed up to \d+\n$/)
  expect(await shell(folder, 'node retention.ts', { IDLE_DAYS: '0' })).toBe('work: deleted\n')

  const file = () => readFileSync(join(folder, '.millrace/millrace.db'))
  expect(file().includes('a secret of ann')).toBe(false)
  const size = file().length
  await shell(folder, 'node vacuum.ts')
  expect(file().length).toBeLessThan(size)
})

test('the guide to retention says what clients get after a trim', async () => {
  const { agent, millrace, scriptedModel } = await import('./index.ts')
  const echo = agent({ name: 'echo', model: scriptedModel(({ lastText }) => ({ text: lastText })) })
  const app = millrace({ store: 'memory:', agents: [echo], logger: QUIET })
  onTestFinished(() => app.close())
  const runtime = await app.runtime()
  const runs: string[] = []
  for (const turn of [1, 2, 3]) {
    const run = await runtime.start({ session: 's', agent: echo, input: `m${turn}`, messageId: `msg-${turn}` })
    await run.result()
    runs.push(run.runId)
  }
  await runtime.manager.trimStream('s', { maxEntries: 10 })
  const [runId = ''] = runs
  const send = async (path: string, body?: object) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    const init = body && { method: 'POST', headers, body: JSON.stringify(body) }
    const reply = await app.fetch(new Request(`http://localhost/api${path}`, init))
    return { status: reply.status, text: await reply.text() }
  }
  const refusal = async (path: string, body: object) => {
    const { status, text } = await send(path, body)
    return `${status} \`${JSON.parse(text).error.code}\``
  }
  for (const path of ['/sessions/s/stream?live=false', `/sessions/s/stream?run=${runId}`]) {
    expect((await send(path)).text).toMatch(/"type":"truncated".*"reason":"below-floor"/)
  }
  expect(JSON.parse((await send('/sessions/s')).text).view.messages).toHaveLength(6)
  const page = read('docs/guide/retention.md')
  const messages = [{ id: 'msg-1', role: 'user', parts: [{ type: 'text', text: 'm1' }] }]
  const rows = [
    ['| fork at a position that was dropped | ', await refusal('/sessions/s/fork', { at: 3 })],
    ['| retry or edit a turn whose start was dropped | ', await refusal('/sessions/s/retry', { of: runId })],
    [
      '| retry or edit a turn whose start was dropped | ',
      await refusal('/sessions/s/edit', { messageId: 'msg-1', input: 'x' }),
    ],
    [
      "| a repeated request of another system's client for such a turn | ",
      await refusal('/ai-sdk/echo', { id: 's', trigger: 'submit-message', messages }),
    ],
  ] as const
  for (const [row, answer] of rows) expect(page).toContain(row + answer)
  const run = runtime.run('s', runId)
  const streamed = async () => {
    for await (const _ of run.stream());
  }
  await expect(streamed()).rejects.toMatchObject({ name: 'RunError', code: 'session_trimmed' })
  expect((await run.result()).text).toBe('m1')
})

test('the guide to upgrades runs as written', async () => {
  const folder = folderOf('guide/upgrades')
  const printed = await shell(folder, 'node example.ts')
  expect(printed).toContain("status: 'blocked',\n  program: 'agent:clerk@1'")
  expect(printed).toMatch(/\nYou have it back\.\n$/)
})

test('a changed agent continues its open runs as the guide to upgrades says', async () => {
  const { agent, createRuntime, memoryStore, scriptedModel, tool } = await import('./index.ts')
  const store = memoryStore()
  const model = () => scriptedModel([{ calls: [{ name: 'refund', input: { euros: 5 } }] }, { text: 'done' }])
  const refund = (inputSchema: z.ZodType) =>
    tool({ name: 'refund', inputSchema, approval: true, execute: () => 'paid' })
  const clerk = agent({ name: 'clerk', model: model(), tools: [refund(z.object({ euros: z.number() }))] })
  const page = read('docs/guide/upgrades.md')
  const changes = [
    [[], 'the tool refund does not exist any more'],
    [[refund(z.object({ cents: z.number() }))], 'the input does not match its schema'],
  ] as const
  for (const [tools, why] of changes) {
    const before = createRuntime({ store, agents: [clerk] })
    const run = await before.start({ agent: clerk, input: 'go' })
    const [approval] = (await run.result()).pendings
    await before.close()
    const after = createRuntime({ store, agents: [agent({ name: 'clerk', model: model(), tools })], logger: QUIET })
    await after.answer(run.sessionId, { kind: 'approval', id: approval?.id ?? '', approved: true })
    const { status, message } = await after.run(run.sessionId, run.runId).result()
    await after.close()
    expect([status, JSON.stringify(message)]).toEqual(['completed', expect.stringContaining(why)])
    expect(page).toContain(`*${why}*`)
  }
  const twice = [clerk, agent({ name: 'clerk', version: '2', model: model() })]
  expect(() => createRuntime({ store, agents: twice })).toThrow('expected different names, found clerk twice')
})
