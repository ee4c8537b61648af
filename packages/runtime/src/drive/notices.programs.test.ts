import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { agent, scriptedModel } from '../index.ts'
import { settled } from './clock.fixture.ts'
import { MAX_QUEUED_NOTICES, NOTIFY_AFTER_MS } from './notices.ts'
import {
  acknowledgementsIn,
  approvalAgents,
  isPause,
  never,
  noticesIn,
  RecordingObserver,
  RUN,
  SESSION,
  setUp,
} from './observer.fixture.ts'
import { isEndOf, VirtualCluster } from './virtual-cluster.fixture.ts'

const DAY = 24 * 3_600_000

/** An agent that answers. */
const talker =
  (...names: string[]) =>
  () =>
    names.map(name => agent({ name, model: scriptedModel([{ text: 'Hi.' }]) }))

/** A session in which one process of each agent crashed before it notified observers of the end. */
async function withUnsentNotices(...names: string[]): Promise<VirtualCluster> {
  const cluster = new VirtualCluster()
  for (const name of names) {
    const process = cluster.process(talker(name), { observers: [{ onFinished: () => process.kill() }] })
    await process.runtime.start({ session: SESSION, runId: name, agent: name, input: 'Hello' })
    await cluster.waitForEnd(SESSION, name)
    await settled()
  }
  expect(await noticesIn(cluster)).toHaveLength(names.length)
  return cluster
}

describe('observers of an agent', () => {
  test('receive at once an end that a process without the agent wrote', async () => {
    for (const observers of [[], [new RecordingObserver()]]) {
      const { cluster, observer, process, start } = setUp()
      await start('pay')
      await cluster.waitForEntry(SESSION, isPause)
      process.freeze()
      const web = cluster.process(talker('other'), { observers })
      await web.runtime.stop(SESSION, RUN)
      expect(await cluster.waitForEnd(SESSION, RUN)).toBe('interrupted')
      process.thaw()
      await cluster.clock.advance(1000)
      expect(observer.finished).toMatchObject([{ runId: RUN, status: 'interrupted', program: 'agent:clerk@1' }])
      for (const other of observers) expect(other.count).toBe(0)
      expect(await noticesIn(cluster)).toEqual([])
    }
  })

  test('receive notices only of runs of their own agents, also after another agent ran in the session', async () => {
    const cluster = await withUnsentNotices('alice')
    const [observer, other] = [new RecordingObserver(), new RecordingObserver()]
    const bob = cluster.process(talker('bob'), { observers: [other] })
    await cluster.clock.advance(2 * NOTIFY_AFTER_MS)
    await bob.runtime.start({ session: SESSION, runId: 'bob', agent: 'bob', input: 'Hello' })
    await cluster.waitForEnd(SESSION, 'bob')
    await cluster.clock.advance(NOTIFY_AFTER_MS)
    expect(other.finished.map(({ runId }) => runId)).toEqual(['bob'])
    expect(await noticesIn(cluster)).toMatchObject([{ runId: 'alice' }])
    cluster.process(talker('alice'), { observers: [observer] })
    await cluster.clock.advance(1000)
    expect(observer.finished.map(({ runId }) => runId)).toEqual(['alice'])
    expect([other.count, await noticesIn(cluster)]).toEqual([1, []])
  })

  test('receive a pause of another version of the program, with and without a deadline', async () => {
    for (const timeoutMs of [undefined, DAY]) {
      const cluster = new VirtualCluster()
      const process = cluster.process(approvalAgents('1', timeoutMs), {
        observers: [{ onPaused: () => process.kill() }],
      })
      await process.runtime.start({ session: SESSION, runId: RUN, agent: 'clerk', input: 'pay' })
      await cluster.waitForEntry(SESSION, isPause)
      const observer = new RecordingObserver()
      cluster.process(approvalAgents('2', timeoutMs), { observers: [observer] })
      await cluster.clock.advance(2 * NOTIFY_AFTER_MS)
      expect(observer.paused).toMatchObject([{ program: 'agent:clerk@1', awaits: [{ id: 'r1::c1' }] }])
      expect(await noticesIn(cluster)).toEqual([])
    }
  })

  test('receive a notice although no process can deliver an earlier one of the session', async () => {
    const cluster = await withUnsentNotices('alice', 'bob')
    const observer = new RecordingObserver()
    const { connection } = cluster.process(talker('bob'), { observers: [observer] })
    const stranger = cluster.process(talker('carol'), { observers: [new RecordingObserver()] })
    const looks: string[] = []
    for (const other of [connection, stranger.connection])
      other.before = ({ method }) => method !== 'due' && looks.push(method)
    await cluster.clock.advance(2 * NOTIFY_AFTER_MS)
    expect(observer.finished.map(({ runId }) => runId)).toEqual(['bob'])
    expect(await noticesIn(cluster)).toMatchObject([{ runId: 'alice' }])
    // A process without deliverable notices does not poll them again and again.
    looks.length = 0
    await cluster.clock.advance(4 * NOTIFY_AFTER_MS)
    expect(looks.length).toBe(0)
  })

  test('receive an end once a later request that no driver can run is cancelled', async () => {
    const cluster = await withUnsentNotices('alice')
    const server = cluster.process(() => [], { engine: false }).runtime
    await server.start({ session: SESSION, runId: 'gone', agent: 'agent:gone@1', input: 'Hello' })
    const observer = new RecordingObserver()
    cluster.process(talker('alice'), { observers: [observer] })
    await cluster.clock.advance(2 * NOTIFY_AFTER_MS)
    expect([observer.count, (await server.status(SESSION)).status]).toEqual([0, 'blocked'])
    await server.stop(SESSION, 'gone')
    await cluster.clock.advance(1000)
    expect(observer.finished).toMatchObject([{ runId: 'alice' }])
  })

  test('receive many simultaneous ends once each, with limited concurrency', async () => {
    const { cluster, observer, process } = setUp({ engine: { concurrency: 4000 } })
    let max = 0
    let open = 0
    observer.onNotify = async () => {
      max = Math.max(max, ++open)
      await new Promise<void>(resolve => cluster.clock.timers().after(20, resolve))
      open--
    }
    const sessions = Array.from({ length: 1500 }, (_, n) => `s${n}`)
    for (const session of sessions) await process.runtime.start({ session, runId: RUN, agent: 'clerk', input: 'Hi' })
    await cluster.waitForEnd('s1499', RUN)
    await cluster.clock.advance(NOTIFY_AFTER_MS / 2)
    expect(sessions.length).toBeLessThan(MAX_QUEUED_NOTICES)
    expect(new Set(observer.finished.map(({ sessionId }) => sessionId)).size).toBe(sessions.length)
    expect([observer.count, max]).toEqual([sessions.length, 32])
  })
})

describe('more due notices than one query returns', () => {
  const MANY = 1100

  /** Runs that wait for an answer for a day, without notified observers. */
  async function paused(cluster: VirtualCluster, count: number): Promise<void> {
    const { manager } = cluster
    const deadline = cluster.clock.now() + DAY
    const ask: Chunk = { type: 'tool-approval-request', toolCallId: 'c', approvalId: 'a', input: {}, deadline }
    const wait: Chunk = { type: 'run-paused', awaits: [], notifyBy: cluster.clock.now() }
    for (let i = 0; i < count; i++) {
      await manager.createStream(`p${i}`)
      const writer = await manager.createWriter(`p${i}`, { runId: RUN, program: 'agent:clerk@1', agentType: 'clerk' })
      await writer.commit([ask])
      await writer.decide(() => [wait])
      await writer.close()
    }
  }

  test('a runtime without observers drives runs and deadlines, and polls notices rarely', async () => {
    const cluster = new VirtualCluster()
    const process = cluster.process(approvalAgents('1', 90_000), { observers: [{ onPaused: () => process.kill() }] })
    await process.runtime.start({ session: SESSION, runId: RUN, agent: 'clerk', input: 'pay' })
    await cluster.waitForEntry(SESSION, isPause)
    // Their deadline is before its own.
    await paused(cluster, MANY)
    const from = cluster.clock.now()
    const server = cluster.process(() => [], { engine: false }).runtime
    const { connection } = cluster.process(approvalAgents())
    const looks: string[] = []
    connection.before = ({ method }) => method !== 'due' && looks.push(method)
    await cluster.clock.advance(NOTIFY_AFTER_MS + 10_000)
    expect(looks.length).toBeLessThan(2.5 * MANY)
    for (const runId of ['first', 'second']) {
      const requestedAt = cluster.clock.now()
      await server.start({ session: 'new', runId, agent: 'agent:clerk@1', input: 'Hi' })
      expect(await cluster.waitForEnd('new', runId)).toBe('completed')
      expect(cluster.clock.now() - requestedAt).toBeLessThan(2000)
    }
    expect(await cluster.waitForEnd(SESSION, RUN)).toBe('completed')
    expect(cluster.clock.now() - from).toBeGreaterThan(89_000)
    expect(cluster.clock.now() - from).toBeLessThan(97_000)
    expect((await cluster.entries(SESSION)).some(({ chunk }) => chunk.type === 'tool-output-denied')).toBe(true)
    expect(await acknowledgementsIn(cluster)).toEqual([])
  })

  test('a runtime with hanging observers drives runs', async () => {
    const cluster = new VirtualCluster()
    await paused(cluster, MANY)
    const observer = new RecordingObserver()
    observer.onNotify = never
    cluster.process(approvalAgents(), { observers: [observer] })
    const server = cluster.process(() => [], { engine: false }).runtime
    await cluster.clock.advance(5000)
    const requestedAt = cluster.clock.now()
    await server.start({ session: 'new', runId: RUN, agent: 'agent:clerk@1', input: 'Hi' })
    await cluster.waitForEntry('new', isEndOf(RUN))
    expect(cluster.clock.now() - requestedAt).toBeLessThan(2000)
    expect(observer.count).toBe(32)
  })
})
