import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { folder } from '../folder.fixture.ts'
import { chromium } from './chromium.ts'
import { postgres } from './postgres.ts'
import { findProgram } from './program.ts'
import { redis, sendCommand } from './redis.ts'
import { startServer } from './server.ts'
import { emptyFolder, isListening, isRunning, runScript } from './services.fixture.ts'

const run = promisify(execFile)

/** Starts a loopback server until the test ends. Returns its port. */
async function loopback(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/** A command that runs a script. `WAIT` is a script that idles. */
const node = (text: string) => ({ program: process.execPath, args: ['-e', text] })
const WAIT = 'setTimeout(() => {}, 60_000)'

test('redis() starts a server per call, and stop() leaves nothing behind', async () => {
  const { path, leftFiles } = emptyFolder()
  vi.stubEnv('TMPDIR', path)
  onTestFinished(() => void vi.unstubAllEnvs())
  const [one, two] = await Promise.all([redis(), redis()])
  const port = (url: string) => Number(new URL(url).port)
  expect(leftFiles()).toHaveLength(2)
  expect(await sendCommand(port(one.url), 'PING')).toBe('+PONG\r\n')
  expect(await sendCommand(port(one.url), 'SET word flume')).toBe('+OK\r\n')
  expect(await sendCommand(port(one.url), 'GET word')).toBe('$5\r\nflume\r\n')
  expect(await sendCommand(port(two.url), 'GET word')).toBe('$-1\r\n')
  await one.stop()
  expect(await isListening(one.url)).toBe(false)
  expect(await isListening(two.url)).toBe(true)
  await two.stop()
  expect(await isListening(two.url)).toBe(false)
  expect(leftFiles()).toEqual([])
})

test('a process ends with code 0 after it stopped its server', async () => {
  const { path, leftFiles } = emptyFolder()
  const holder = runScript('const { stop } = await redis(); await stop(); console.log("stopped")', path)
  const [[code], [output]] = await Promise.all([once(holder, 'close'), once(holder.stdout.setEncoding('utf8'), 'data')])
  expect({ code, said: output }).toEqual({ code: 0, said: 'stopped\n' })
  expect(leftFiles()).toEqual([])
})

test('tries another port when the port was taken meanwhile', async () => {
  const other = await loopback(createTcpServer())
  let tries = 0
  const { url, stop } = await startServer({
    name: 'gate',
    url: port => `tcp://127.0.0.1:${port}`,
    spec: (_, port) => ({
      server: node(`require('node:net').createServer().listen(${tries++ === 0 ? other : port}, '127.0.0.1')`),
    }),
    isReady: async (_, port) => isListening(`tcp://127.0.0.1:${port}`),
  })
  expect(tries).toBe(2)
  expect(await isListening(url)).toBe(true)
  await stop()
  expect(await isListening(url)).toBe(false)
})

test.each([
  ['hangs up', (socket: Socket) => socket.end()],
  ['says nothing', () => {}],
])('ask() returns an empty answer if the other side %s', async (_, meet) => {
  expect(await sendCommand(await loopback(createTcpServer(meet)), 'PING', 50)).toBe('')
})

test('postgres() answers, and stop() ends it while a client is connected', async () => {
  const { url, stop } = await postgres()
  expect((await run('psql', [url, '-Atc', 'select 1'])).stdout).toBe('1\n')
  const client = run('psql', [url, '-c', 'select pg_sleep(60)'])
  client.catch(() => undefined)
  await stop()
  await expect(client).rejects.toThrow()
  expect(await isListening(url)).toBe(false)
})

test('postgres() caches the result of initdb and creates it again if a file is missing', async () => {
  const cache = folder({})
  const connections = async () => {
    const { url, stop } = await postgres({ cache })
    const { stdout } = await run('psql', [url, '-Atc', 'show max_connections'])
    await stop()
    return stdout.trim()
  }
  expect(await connections()).toBe('100')
  const [kept = ''] = globSync(join(cache, 'postgres-*/data'))
  // The same size with another setting, which identifies a copy.
  const settings = join(kept, 'postgresql.conf')
  writeFileSync(settings, readFileSync(settings, 'utf8').replace('max_connections = 100', 'max_connections = 101'))
  expect(await connections()).toBe('101')
  rmSync(join(kept, 'global/pg_control'))
  expect(await Promise.all([connections(), connections()])).toEqual(['100', '100'])
  expect(readdirSync(cache)).toHaveLength(1)
  expect(readdirSync(join(kept, 'global'))).toContain('pg_control')
})

test('chromium() runs a page from the loopback', async () => {
  const page = "<p id=p>still</p><script>document.getElementById('p').textContent = ['run', 'ning'].join('')</script>"
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end(page))
  const port = await loopback(server)
  const { executablePath, args } = await chromium()
  const profile = `--user-data-dir=${folder({})}`
  const { stdout } = await run(executablePath, [...args, profile, '--dump-dom', `http://127.0.0.1:${port}/`])
  expect(stdout).toContain('<p id="p">running</p>')
})

describe('the servers and the browser of a process', () => {
  // The browser always ends by the closed pipe, so only one of these cases starts it.
  test.each([
    ['kill -9', 'wait', 'SIGKILL', ['redis', 'postgres', 'chromium']],
    ['Ctrl-C', 'wait', 'SIGINT', ['redis']],
    ['an uncaught error', 'throw', undefined, ['redis']],
    ['its normal exit', 'finish', undefined, ['redis']],
  ] as const)('end after %s', async (_, end, signal, services) => {
    const { path, leftFiles } = emptyFolder()
    const args = [join(import.meta.dirname, 'service-holder.fixture.ts'), end, folder({}), ...services]
    const holder = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, TMPDIR: path },
    })
    onTestFinished(() => void holder.kill('SIGKILL'))
    const [line] = await once(holder.stdout.setEncoding('utf8'), 'data')
    const { urls, browsers } = JSON.parse(line) as { urls: string[]; browsers: number[] }
    if (signal) {
      expect(await Promise.all([...urls.map(isListening), ...browsers.map(isRunning)])).toEqual(
        services.map(() => true),
      )
      holder.kill(signal)
    }
    await vi.waitFor(
      async () => {
        expect(await Promise.all([...urls.map(isListening), ...browsers.map(isRunning)])).toEqual(
          services.map(() => false),
        )
        expect(leftFiles()).toEqual([])
      },
      { timeout: 60_000, interval: 50 },
    )
  })
})

test('Ctrl-C during initdb leaves nothing behind', async () => {
  const { path, leftFiles } = emptyFolder()
  const holder = runScript(`await postgres({ cache: '${folder({})}' })`, path)
  // The first file that initdb creates, long before it is done.
  await vi.waitFor(() => expect(globSync(join(path, 'millrace-*/data/base'))).toHaveLength(1), {
    timeout: 60_000,
    interval: 5,
  })
  holder.kill('SIGINT')
  await vi.waitFor(() => expect(leftFiles()).toEqual([]), { timeout: 60_000, interval: 50 })
})

describe('an error with a reason', () => {
  test('rejects if a program is missing', async () => {
    vi.spyOn(process, 'getuid').mockReturnValue(1000)
    onTestFinished(() => void vi.restoreAllMocks())
    const missing = findProgram({ name: 'Sluice', commands: ['millrace-sluice'], apt: 'sluice', brew: 'sluice' })
    await expect(missing).rejects.toThrow(/^Sluice is not installed, but tests need it\. Install it.*sluice/)
  })

  const stuck = 'console.error("the gate is stuck");'
  const never = () => new Promise<never>(() => {})

  test.each([
    ['ends at its start', /^gate ended at its start:\nthe gate is stuck/, { server: node(`${stuck} process.exit(3)`) }],
    ['fails in its preparation', /^gate ended.*\nthe gate is stuck/, { prepare: node(`${stuck} process.exit(3)`) }],
    ['does not answer', /^gate did not answer within 3 s:\nthe gate is stuck/, { server: node(`${stuck} ${WAIT}`) }],
    ['has no program', /^gate ended.*\nError: spawn .*ENOENT/, { server: { program: '/no/gate', args: [] } }],
  ])('reports at once that a server %s, with its output', async (_, message, spec) => {
    const { path, leftFiles } = emptyFolder()
    vi.stubEnv('TMPDIR', path)
    onTestFinished(() => void vi.unstubAllEnvs())
    const tries = vi.fn(() => ({ server: node(WAIT), ...spec }))
    await expect(startServer({ name: 'gate', url: String, spec: tries, isReady: never }, 3_000)).rejects.toThrow(
      message,
    )
    expect(tries).toHaveBeenCalledTimes(1)
    expect(leftFiles()).toEqual([])
  })
})
