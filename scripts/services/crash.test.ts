import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { postgres } from './postgres.ts'
import { redis, sendCommand } from './redis.ts'
import type { Service } from './server.ts'
import { emptyFolder, isListening, runScript } from './services.fixture.ts'

const run = promisify(execFile)

/** A server and the words stored in it. Each access uses a new client. */
type Words = { service: Service; clear(): Promise<void>; add(word: string): Promise<void>; all(): Promise<string[]> }

async function redisWords(settings: Record<string, string>): Promise<Words> {
  const service = await redis({ settings })
  const port = Number(new URL(service.url).port)
  return {
    service,
    clear: async () => expect(await sendCommand(port, 'DEL words')).toMatch(/^:/),
    add: async word => expect(await sendCommand(port, `RPUSH words ${word}`)).toMatch(/^:/),
    all: async () => (await sendCommand(port, 'LRANGE words 0 -1')).split('\r\n').filter(line => /^\w/.test(line)),
  }
}

async function postgresWords(settings: Record<string, string>): Promise<Words> {
  const service = await postgres({ settings })
  const psql = async (command: string) => (await run('psql', [service.url, '-Atqc', command])).stdout
  await psql('create table words (place serial, word text)')
  return {
    service,
    clear: async () => expect(await psql('truncate words')).toBe(''),
    add: async word => expect(await psql(`insert into words (word) values ('${word}')`)).toBe(''),
    all: async () => (await psql('select word from words order by place')).split('\n').filter(Boolean),
  }
}

const kinds = {
  'Redis without settings': () => redisWords({}),
  'Redis, always': () => redisWords({ appendonly: 'yes', appendfsync: 'always' }),
  'Redis, everysec': () => redisWords({ appendonly: 'yes', appendfsync: 'everysec' }),
  Postgres: () => postgresWords({ fsync: 'off' }),
  'Postgres, synchronous_commit off': () => postgresWords({ fsync: 'off', synchronous_commit: 'off' }),
}
type Kind = keyof typeof kinds

/** One server of each kind for all tests. Each test starts with a running server without words and leaves it running. */
const servers = new Map<Kind, Words>()
beforeAll(async () => {
  const open = Object.entries(kinds).map(async ([kind, start]) => servers.set(kind as Kind, await start()))
  await Promise.all(open)
})
afterAll(async () => {
  await Promise.all([...servers.values()].map(({ service }) => service.stop()))
})
async function open(kind: Kind): Promise<Words> {
  const words = servers.get(kind)
  if (words === undefined) throw new Error(`no server of kind ${kind}`)
  await words.clear()
  return words
}

/** A connection that stays open until the test ends, or the server closes it. */
async function client(url: string) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('utf8')
  onTestFinished(() => void socket.destroy())
  await once(
    socket.on('error', () => {}),
    'connect',
  )
  return { socket, closed: new Promise<void>(resolve => socket.once('close', () => resolve())) }
}

describe.each(['Redis, always', 'Postgres'] as const)('%s', kind => {
  test('keeps acknowledged writes through kill() and restart(), at the same url', async () => {
    const { service, add, all } = await open(kind)
    await add('flume')
    await add('sluice')
    const { closed } = await client(service.url)
    await service.kill()
    await closed
    expect(await isListening(service.url)).toBe(false)
    await service.restart()
    expect(await all()).toEqual(['flume', 'sluice'])
    await add('weir')
    await service.kill()
    await service.restart()
    expect(await all()).toEqual(['flume', 'sluice', 'weir'])
  })

  test('restart() ends a running or frozen server and keeps its data', async () => {
    const { service, add, all } = await open(kind)
    await add('flume')
    const { closed } = await client(service.url)
    await service.restart()
    await closed
    expect(await all()).toEqual(['flume'])
    await service.freeze()
    await service.restart()
    expect(await all()).toEqual(['flume'])
  })

  test('a frozen server keeps connections open without answering, until thaw()', async () => {
    const { service, all } = await open(kind)
    const { socket } = await client(service.url)
    await service.freeze()
    expect(await isListening(service.url)).toBe(true)
    const states = await run('ps', ['-A', '-o', 'stat=,args=']).then(({ stdout }) =>
      stdout.split('\n').filter(line => line.includes(new URL(service.url).port) && !line.includes('supervisor.ts')),
    )
    expect(states.length).toBeGreaterThan(0)
    expect(states.filter(line => !line.startsWith('T'))).toEqual([])
    const answer = all()
    await service.thaw()
    expect(await answer).toEqual([])
    expect(socket.closed).toBe(false)
  })

  test('runs calls one after another when they are made together', async () => {
    const { service, add, all } = await open(kind)
    await add('flume')
    const [copy] = await Promise.all([service.copy(), service.kill(), service.restart()])
    await add('sluice')
    await Promise.all([service.freeze(), service.thaw(), service.kill(), service.restore(copy)])
    expect(await all()).toEqual(['flume'])
  })

  test('rejects kill(), freeze() and thaw() of a stopped server and a copy of another server', async () => {
    const [{ service, all }, other] = await Promise.all([open(kind), open('Redis without settings')])
    await service.kill()
    for (const verb of ['kill', 'freeze', 'thaw'] as const) {
      await expect(service[verb]()).rejects.toThrow(/^(redis|postgres) is not running$/)
    }
    await service.restart()
    await expect(service.restore(await other.service.copy())).rejects.toThrow(
      /a copy of another server: restore it with that server$/,
    )
    expect(await all()).toEqual([])
  })
})

describe('restore()', () => {
  const all = ['Redis, always', 'Redis, everysec', 'Postgres, synchronous_commit off'] as const
  test.each(all)('brings back exactly the data of copy(): %s', async kind => {
    const { service, add, all } = await open(kind)
    const { socket } = await client(service.url)
    await add('flume')
    const one = await service.copy()
    await add('sluice')
    const two = await service.copy()
    expect(socket.closed).toBe(false)
    await add('weir')
    await service.restore(one)
    expect(await all()).toEqual(['flume'])
    await add('race')
    await service.kill()
    await service.restore(two)
    expect(await all()).toEqual(['flume', 'sluice'])
    await service.freeze()
    await service.restore(one)
    expect(await all()).toEqual(['flume'])
  })

  test.each(['Redis, always', 'Postgres'] as const)(
    'brings back the data of a frozen and of a killed server: %s',
    async kind => {
      const { service, add, all } = await open(kind)
      await add('flume')
      await service.freeze()
      const frozen = await service.copy()
      await service.thaw()
      await add('sluice')
      await service.kill()
      const killed = await service.copy()
      await service.restart()
      await add('weir')
      await service.restore(killed)
      expect(await all()).toEqual(['flume', 'sluice'])
      await service.restore(frozen)
      expect(await all()).toEqual(['flume'])
    },
  )
})

test('redis() without settings is empty after a restart', async () => {
  const { service, add, all } = await open('Redis without settings')
  await add('flume')
  await service.kill()
  await service.restart()
  expect(await all()).toEqual([])
})

test('passes settings to the server, and copy() does not change them', async () => {
  const [one, two] = [await open('Redis, everysec'), await open('Postgres, synchronous_commit off')]
  await Promise.all([one.service.copy(), two.service.copy()])
  const port = Number(new URL(one.service.url).port)
  expect(await sendCommand(port, 'CONFIG GET appendfsync')).toContain('everysec')
  expect(await sendCommand(port, 'CONFIG GET appendonly')).toContain('yes')
  expect((await run('psql', [two.service.url, '-Atc', 'show synchronous_commit'])).stdout).toBe('off\n')
})

test('rejects calls with the log of a server that ended by itself', async () => {
  const service = await redis()
  onTestFinished(service.stop)
  const port = Number(new URL(service.url).port)
  await sendCommand(port, 'SHUTDOWN NOSAVE')
  await vi.waitFor(
    () => expect(service.thaw()).rejects.toThrow(/^redis has ended:\n(.*\n)*.*User requested shutdown/),
    { timeout: 60_000 },
  )
  await expect(service.restart()).rejects.toThrow(/^redis has ended:/)
})

test('postgres() without settings keeps its data, and killed and stopped leaves nothing in the system', async () => {
  const { path, leftFiles } = emptyFolder()
  vi.stubEnv('TMPDIR', path)
  onTestFinished(() => void vi.unstubAllEnvs())
  const { service, add, all } = await postgresWords({})
  onTestFinished(service.stop)
  await add('flume')
  await service.kill()
  await service.restart()
  expect(await all()).toEqual(['flume'])
  const [file = ''] = globSync(join(path, 'millrace-*/data/postmaster.pid'))
  const [, segment] = readFileSync(file, 'utf8').split('\n')[6]?.trim().split(/\s+/) ?? []
  const segments = async () => (await run('ipcs', ['-m'])).stdout.split(/\s+/)
  await service.kill()
  expect(await segments()).toContain(segment)
  await service.stop()
  expect(await segments()).not.toContain(segment)
  expect(leftFiles()).toEqual([])
})

test('kill -9 of a process ends its servers, also killed, frozen, restored and copied ones, and removes their data', async () => {
  const { path, leftFiles } = emptyFolder()
  const holder = runScript(
    `
    const start = () => [redis({ settings: { appendonly: 'yes' } }), postgres({ settings: { fsync: 'off' } })]
    const [killed, frozen, restored] = await Promise.all([start(), start(), start()].map(pair => Promise.all(pair)))
    for (const service of killed) await service.kill()
    for (const service of frozen) await service.freeze()
    for (const service of restored) {
      await service.kill()
      await service.restart()
      await service.restore(await service.copy())
    }
    for (const service of restored) service.copy()
    setImmediate(() => console.log('copying'))
    setInterval(() => {}, 1_000)
    `,
    path,
  )
  await once(holder.stdout.setEncoding('utf8'), 'data')
  expect(leftFiles()).toHaveLength(6)
  holder.kill('SIGKILL')
  await vi.waitFor(
    async () => {
      expect(leftFiles()).toEqual([])
      // The command lines of the servers and their supervisors contain their folder.
      expect((await run('ps', ['-A', '-o', 'args='])).stdout).not.toContain(path)
    },
    { timeout: 60_000, interval: 50 },
  )
})
