import { expect, test } from 'vitest'
import { type Agent, agent, scriptedModel } from '../index.ts'
import type { ProcessTimers } from './clock.fixture.ts'
import { expectOneEnd, LEASE_MS, textOf, VirtualCluster } from './virtual-processes.fixture.ts'

const SESSION = 's'
const RUN = 'r1'

const version = (of: string) => (timers: ProcessTimers) => [
  agent({
    name: 'clerk',
    version: of,
    model: scriptedModel(() => ({ text: `I am ${of} now` }), { paceMs: 100, timers }),
  }),
]

const BLOCKED = {
  status: 'blocked',
  program: 'agent:clerk@1',
  reason: expect.stringContaining('start a worker with agent:clerk@1'),
}

function setUp() {
  const stage = new VirtualCluster()
  const server = stage.process(() => [], { engine: false, blockedAfterMs: 2000 })
  const start = (options: { runId?: string; of?: string; whenBusy?: 'queue' } = {}) =>
    server.runtime.start({
      session: SESSION,
      runId: options.runId ?? RUN,
      agent: `agent:clerk@${options.of ?? '1'}`,
      input: 'Hello',
      ...(options.whenBusy && { whenBusy: options.whenBusy }),
    })
  return { stage, server, start }
}

test('a request without a matching program is blocked, can be cancelled, and runs when a worker has the program', async () => {
  const { stage, server, start } = setUp()
  await start()
  const other = stage.process(version('2'))
  expect(await server.runtime.status(SESSION)).toEqual({ status: 'waiting' })
  await stage.clock.advance(2500)
  expect(await server.runtime.status(SESSION)).toEqual(BLOCKED)
  expect(other.connection.watches).toBe(0)
  await start({ runId: 'r2', whenBusy: 'queue' })
  expect(await server.runtime.stop(SESSION, 'r2')).toBe(true)
  stage.process(version('1'))
  expect(await stage.ended(SESSION, RUN)).toBe('completed')
  expect(textOf(await stage.view(SESSION), RUN)).toBe('I am 1 now')
  expect(await server.runtime.status(SESSION)).toEqual({ status: 'idle' })
  expect((await stage.view(SESSION)).runs).toHaveLength(1)
})

test('a deploy without the program blocks a waiting run, which continues when the program is back', async () => {
  const { stage, server, start } = setUp()
  await start()
  const owner = stage.process(version('1'))
  await stage.seen(SESSION, ({ chunk }) => chunk.type === 'text-delta')
  owner.kill()
  const deployed = stage.process(version('2'))
  await stage.clock.advance(LEASE_MS + 2500)
  expect(await server.runtime.status(SESSION)).toEqual(BLOCKED)
  const { head } = (await stage.manager.getInfo(SESSION)) ?? {}
  await stage.clock.advance(60_000)
  expect((await stage.manager.getInfo(SESSION))?.head).toBe(head)
  expect(deployed.logged).toEqual([])
  stage.process(version('1'))
  expect(await stage.ended(SESSION, RUN)).toBe('completed')
  expect(textOf(await stage.view(SESSION), RUN)).toBe('I am 1 now')
})

test('any driver stops a blocked run, keeps its content, and the next request runs', async () => {
  const { stage, server, start } = setUp()
  await start()
  const owner = stage.process(version('1'))
  await stage.seen(SESSION, ({ chunk }) => chunk.type === 'text-delta')
  owner.kill()
  await start({ runId: 'r2', of: '2', whenBusy: 'queue' })
  const deployed = stage.process(version('2'))
  await stage.clock.advance(LEASE_MS + 2500)
  expect(await server.runtime.stop(SESSION, RUN)).toBe(true)
  expect(await stage.ended(SESSION, RUN)).toBe('interrupted')
  await expectOneEnd(stage, SESSION, RUN)
  expect(await stage.ended(SESSION, 'r2')).toBe('completed')
  const view = await stage.view(SESSION)
  expect(textOf(view, RUN)).toBe('I')
  expect(textOf(view, 'r2')).toBe('I am 2 now')
  expect(deployed.logged).toEqual([])
})

test('a blocked run stays unchanged if its stop is withdrawn just before it ends', async () => {
  for (let n = 1; n <= 12; n++) {
    const { stage, server, start } = setUp()
    await start()
    const owner = stage.process(version('1'))
    await stage.seen(SESSION, ({ chunk }) => chunk.type === 'text-delta')
    owner.kill()
    await stage.clock.advance(LEASE_MS + 1000)
    await server.runtime.start({
      session: SESSION,
      runId: 'r2',
      agent: 'agent:clerk@3',
      input: 'Hello',
      whenBusy: 'interrupt-previous',
    })
    const deployed = stage.process(version('2'))
    let calls = 0
    deployed.connection.before = async () => {
      if (++calls === n) await server.runtime.stop(SESSION, 'r2')
    }
    await stage.clock.advance(2000)
    const { ticket } = (await stage.manager.getInfo(SESSION)) ?? {}
    if (ticket?.run === null) expect(ticket.last).toEqual({ runId: RUN, status: 'interrupted' })
    else expect(ticket?.run?.runId).toBe(RUN)
    expect(textOf(await stage.view(SESSION), RUN)).toBe('I')
    expect(deployed.logged).toEqual([])
    stage.process(version('1'))
    if (ticket?.run) expect(await stage.ended(SESSION, RUN)).toBe('completed')
  }
})

test('a process without programs stops runs', async () => {
  const { stage, server, start } = setUp()
  await start()
  const owner = stage.process(version('1'))
  await stage.seen(SESSION, ({ chunk }) => chunk.type === 'text-delta')
  owner.kill()
  stage.process((): Agent[] => [])
  await server.runtime.stop(SESSION, RUN, { mode: 'abort' })
  expect(await stage.ended(SESSION, RUN)).toBe('aborted')
})
