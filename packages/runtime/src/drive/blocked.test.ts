import { expect, test } from 'vitest'
import { type Agent, agent, scriptedModel } from '../index.ts'
import type { ProcessTimers } from './clock.fixture.ts'
import { expectOneEnd, LEASE_MS, textOf, VirtualCluster } from './virtual-cluster.fixture.ts'

const SESSION = 's'
const RUN = 'r1'

const agentsOfVersion = (version: string) => (timers: ProcessTimers) => [
  agent({
    name: 'clerk',
    version,
    model: scriptedModel(() => ({ text: `I am ${version} now` }), { paceMs: 100, timers }),
  }),
]

const BLOCKED = {
  status: 'blocked',
  program: 'agent:clerk@1',
  reason: expect.stringContaining('start a worker with agent:clerk@1'),
}

function setUp() {
  const cluster = new VirtualCluster()
  const server = cluster.process(() => [], { engine: false, blockedAfterMs: 2000 })
  const start = (options: { runId?: string; version?: string; whenBusy?: 'queue' } = {}) =>
    server.runtime.start({
      session: SESSION,
      runId: options.runId ?? RUN,
      agent: `agent:clerk@${options.version ?? '1'}`,
      input: 'Hello',
      ...(options.whenBusy && { whenBusy: options.whenBusy }),
    })
  return { cluster, server, start }
}

test('a request without a matching program is blocked, can be cancelled, and runs when a worker has the program', async () => {
  const { cluster, server, start } = setUp()
  await start()
  const other = cluster.process(agentsOfVersion('2'))
  expect(await server.runtime.status(SESSION)).toEqual({ status: 'waiting' })
  await cluster.clock.advance(2500)
  expect(await server.runtime.status(SESSION)).toEqual(BLOCKED)
  expect(other.connection.watches).toBe(0)
  await start({ runId: 'r2', whenBusy: 'queue' })
  expect(await server.runtime.stop(SESSION, 'r2')).toBe(true)
  cluster.process(agentsOfVersion('1'))
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('completed')
  expect(textOf(await cluster.view(SESSION), RUN)).toBe('I am 1 now')
  expect(await server.runtime.status(SESSION)).toEqual({ status: 'idle' })
  expect((await cluster.view(SESSION)).runs).toHaveLength(1)
})

test('a deploy without the program blocks a waiting run, which continues when the program is back', async () => {
  const { cluster, server, start } = setUp()
  await start()
  const owner = cluster.process(agentsOfVersion('1'))
  await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'text-delta')
  owner.kill()
  const deployed = cluster.process(agentsOfVersion('2'))
  await cluster.clock.advance(LEASE_MS + 2500)
  expect(await server.runtime.status(SESSION)).toEqual(BLOCKED)
  const { head } = (await cluster.manager.getInfo(SESSION)) ?? {}
  await cluster.clock.advance(60_000)
  expect((await cluster.manager.getInfo(SESSION))?.head).toBe(head)
  expect(deployed.logged).toEqual([])
  cluster.process(agentsOfVersion('1'))
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('completed')
  expect(textOf(await cluster.view(SESSION), RUN)).toBe('I am 1 now')
})

test('any driver stops a blocked run, keeps its content, and the next request runs', async () => {
  const { cluster, server, start } = setUp()
  await start()
  const owner = cluster.process(agentsOfVersion('1'))
  await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'text-delta')
  owner.kill()
  await start({ runId: 'r2', version: '2', whenBusy: 'queue' })
  const deployed = cluster.process(agentsOfVersion('2'))
  await cluster.clock.advance(LEASE_MS + 2500)
  expect(await server.runtime.stop(SESSION, RUN)).toBe(true)
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('interrupted')
  await expectOneEnd(cluster, SESSION, RUN)
  expect(await cluster.waitForEnd(SESSION, 'r2')).toBe('completed')
  const view = await cluster.view(SESSION)
  expect(textOf(view, RUN)).toBe('I')
  expect(textOf(view, 'r2')).toBe('I am 2 now')
  expect(deployed.logged).toEqual([])
})

test('a blocked run stays unchanged if its stop is withdrawn just before it ends', async () => {
  for (let n = 1; n <= 12; n++) {
    const { cluster, server, start } = setUp()
    await start()
    const owner = cluster.process(agentsOfVersion('1'))
    await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'text-delta')
    owner.kill()
    await cluster.clock.advance(LEASE_MS + 1000)
    await server.runtime.start({
      session: SESSION,
      runId: 'r2',
      agent: 'agent:clerk@3',
      input: 'Hello',
      whenBusy: 'interrupt-previous',
    })
    const deployed = cluster.process(agentsOfVersion('2'))
    let calls = 0
    deployed.connection.before = async () => {
      if (++calls === n) await server.runtime.stop(SESSION, 'r2')
    }
    await cluster.clock.advance(2000)
    const { ticket } = (await cluster.manager.getInfo(SESSION)) ?? {}
    if (ticket?.run === null) expect(ticket.last).toEqual({ runId: RUN, status: 'interrupted' })
    else expect(ticket?.run?.runId).toBe(RUN)
    expect(textOf(await cluster.view(SESSION), RUN)).toBe('I')
    expect(deployed.logged).toEqual([])
    cluster.process(agentsOfVersion('1'))
    if (ticket?.run) expect(await cluster.waitForEnd(SESSION, RUN)).toBe('completed')
  }
})

test('a process without programs stops runs', async () => {
  const { cluster, server, start } = setUp()
  await start()
  const owner = cluster.process(agentsOfVersion('1'))
  await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'text-delta')
  owner.kill()
  cluster.process((): Agent[] => [])
  await server.runtime.stop(SESSION, RUN, { mode: 'abort' })
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('aborted')
})
