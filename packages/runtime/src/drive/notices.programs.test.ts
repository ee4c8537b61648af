import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { agent, scriptedModel } from '../index.ts'
import { settled } from './clock.fixture.ts'
import { MAX_QUEUED_NOTICES, NOTIFY_AFTER_MS } from './notices.ts'
import {
  acknowledgementsIn,
  clerk,
  isPause,
  never,
  noticesIn,
  RecordingObserver,
  RUN,
  SESSION,
  setUp,
} from './observer.fixture.ts'
import { isEndOf, VirtualCluster } from './virtual-processes.fixture.ts'

const DAY = 24 * 3_600_000

/** An agent that answers. */
const talker =
  (...names: string[]) =>
  () =>
    names.map(name => agent({ name, model: scriptedModel([{ text: 'Hi.' }]) }))

/** A session in which one process of each agent crashed before it notified observers of the end. */
async function withUnsentNotices(...names: string[]): Promise<VirtualCluster> {
  const stage = new VirtualCluster()
  for (const name of names) {
    const process = stage.process(talker(name), { observers: [{ onFinished: () => process.kill() }] })
    await process.runtime.start({ session: SESSION, runId: name, agent: name, input: 'Hello' })
    await stage.ended(SESSION, name)
    await settled()
  }
  expect(await noticesIn(stage)).toHaveLength(names.length)
  return stage
}

describe('observers are notified of', () => {
  test('an end written by a process without the agent and without observers, at once', async () => {
    for (const observers of [[], [new RecordingObserver()]]) {
      const { stage, observer, process, start } = setUp()
      await start('pay')
      await stage.seen(SESSION, isPause)
      process.freeze()
      const web = stage.process(talker('other'), { observers })
      await web.runtime.stop(SESSION, RUN)
      expect(await stage.ended(SESSION, RUN)).toBe('interrupted')
      process.thaw()
      await stage.clock.advance(1000)
      expect(observer.finished).toMatchObject([{ runId: RUN, status: 'interrupted', program: 'agent:clerk@1' }])
      for (const other of observers) expect(other.count).toBe(0)
      expect(await noticesIn(stage)).toEqual([])
    }
  })

  test('runs of their own agents only, with any later driver', async () => {
    const stage = await withUnsentNotices('alice')
    const [observer, other] = [new RecordingObserver(), new RecordingObserver()]
    const bob = stage.process(talker('bob'), { observers: [other] })
    await stage.clock.advance(2 * NOTIFY_AFTER_MS)
    await bob.runtime.start({ session: SESSION, runId: 'bob', agent: 'bob', input: 'Hello' })
    await stage.ended(SESSION, 'bob')
    await stage.clock.advance(NOTIFY_AFTER_MS)
    expect(other.finished.map(({ runId }) => runId)).toEqual(['bob'])
    expect(await noticesIn(stage)).toMatchObject([{ runId: 'alice' }])
    stage.process(talker('alice'), { observers: [observer] })
    await stage.clock.advance(1000)
    expect(observer.finished.map(({ runId }) => runId)).toEqual(['alice'])
    expect([other.count, await noticesIn(stage)]).toEqual([1, []])
  })

  test('a pause by another version of the program, with and without a deadline', async () => {
    for (const timeoutMs of [undefined, DAY]) {
      const stage = new VirtualCluster()
      const process = stage.process(clerk('1', timeoutMs), { observers: [{ onPaused: () => process.kill() }] })
      await process.runtime.start({ session: SESSION, runId: RUN, agent: 'clerk', input: 'pay' })
      await stage.seen(SESSION, isPause)
      const observer = new RecordingObserver()
      stage.process(clerk('2', timeoutMs), { observers: [observer] })
      await stage.clock.advance(2 * NOTIFY_AFTER_MS)
      expect(observer.paused).toMatchObject([{ program: 'agent:clerk@1', awaits: [{ id: 'r1::c1' }] }])
      expect(await noticesIn(stage)).toEqual([])
    }
  })

  test('a notice behind one that this process cannot deliver', async () => {
    const stage = await withUnsentNotices('alice', 'bob')
    const observer = new RecordingObserver()
    const { connection: wire } = stage.process(talker('bob'), { observers: [observer] })
    const stranger = stage.process(talker('carol'), { observers: [new RecordingObserver()] })
    const looks: string[] = []
    for (const other of [wire, stranger.connection])
      other.before = ({ method }) => method !== 'due' && looks.push(method)
    await stage.clock.advance(2 * NOTIFY_AFTER_MS)
    expect(observer.finished.map(({ runId }) => runId)).toEqual(['bob'])
    expect(await noticesIn(stage)).toMatchObject([{ runId: 'alice' }])
    // A process without deliverable notices does not poll them again and again.
    looks.length = 0
    await stage.clock.advance(4 * NOTIFY_AFTER_MS)
    expect(looks.length).toBe(0)
  })

  test('an end after a request without a driver is cancelled', async () => {
    const stage = await withUnsentNotices('alice')
    const server = stage.process(() => [], { engine: false }).runtime
    await server.start({ session: SESSION, runId: 'gone', agent: 'agent:gone@1', input: 'Hello' })
    const observer = new RecordingObserver()
    stage.process(talker('alice'), { observers: [observer] })
    await stage.clock.advance(2 * NOTIFY_AFTER_MS)
    expect([observer.count, (await server.status(SESSION)).status]).toEqual([0, 'blocked'])
    await server.stop(SESSION, 'gone')
    await stage.clock.advance(1000)
    expect(observer.finished).toMatchObject([{ runId: 'alice' }])
  })

  test('a burst of ends as fast as they respond', async () => {
    const { stage, observer, process } = setUp({ engine: { concurrency: 4000 } })
    let max = 0
    let open = 0
    observer.does = async () => {
      max = Math.max(max, ++open)
      await new Promise<void>(resolve => stage.clock.timers().after(20, resolve))
      open--
    }
    const sessions = Array.from({ length: 1500 }, (_, n) => `s${n}`)
    for (const session of sessions) await process.runtime.start({ session, runId: RUN, agent: 'clerk', input: 'Hi' })
    await stage.ended('s1499', RUN)
    await stage.clock.advance(NOTIFY_AFTER_MS / 2)
    expect(sessions.length).toBeLessThan(MAX_QUEUED_NOTICES)
    expect(new Set(observer.finished.map(({ sessionId }) => sessionId)).size).toBe(sessions.length)
    expect([observer.count, max]).toEqual([sessions.length, 32])
  })
})

describe('more due notices than one query returns', () => {
  const MANY = 1100

  /** Runs that wait for an answer for a day, without notified observers. */
  async function paused(stage: VirtualCluster, count: number): Promise<void> {
    const { manager } = stage
    const deadline = stage.clock.now() + DAY
    const ask: Chunk = { type: 'tool-approval-request', toolCallId: 'c', approvalId: 'a', input: {}, deadline }
    const wait: Chunk = { type: 'run-paused', awaits: [], notifyBy: stage.clock.now() }
    for (let i = 0; i < count; i++) {
      await manager.createStream(`p${i}`)
      const writer = await manager.createWriter(`p${i}`, { runId: RUN, program: 'agent:clerk@1', agentType: 'clerk' })
      await writer.commit([ask])
      await writer.decide(() => [wait])
      await writer.close()
    }
  }

  test('a runtime without observers drives runs and deadlines, and polls notices rarely', async () => {
    const stage = new VirtualCluster()
    const process = stage.process(clerk('1', 90_000), { observers: [{ onPaused: () => process.kill() }] })
    await process.runtime.start({ session: SESSION, runId: RUN, agent: 'clerk', input: 'pay' })
    await stage.seen(SESSION, isPause)
    // Their deadline is before its own.
    await paused(stage, MANY)
    const from = stage.clock.now()
    const server = stage.process(() => [], { engine: false }).runtime
    const { connection: wire } = stage.process(clerk())
    const looks: string[] = []
    wire.before = ({ method }) => method !== 'due' && looks.push(method)
    await stage.clock.advance(NOTIFY_AFTER_MS + 10_000)
    expect(looks.length).toBeLessThan(2.5 * MANY)
    for (const runId of ['first', 'second']) {
      const requestedAt = stage.clock.now()
      await server.start({ session: 'new', runId, agent: 'agent:clerk@1', input: 'Hi' })
      expect(await stage.ended('new', runId)).toBe('completed')
      expect(stage.clock.now() - requestedAt).toBeLessThan(2000)
    }
    expect(await stage.ended(SESSION, RUN)).toBe('completed')
    expect(stage.clock.now() - from).toBeGreaterThan(89_000)
    expect(stage.clock.now() - from).toBeLessThan(97_000)
    expect((await stage.entries(SESSION)).some(({ chunk }) => chunk.type === 'tool-output-denied')).toBe(true)
    expect(await acknowledgementsIn(stage)).toEqual([])
  })

  test('a runtime with hanging observers drives runs', async () => {
    const stage = new VirtualCluster()
    await paused(stage, MANY)
    const observer = new RecordingObserver()
    observer.does = never
    stage.process(clerk(), { observers: [observer] })
    const server = stage.process(() => [], { engine: false }).runtime
    await stage.clock.advance(5000)
    const requestedAt = stage.clock.now()
    await server.start({ session: 'new', runId: RUN, agent: 'agent:clerk@1', input: 'Hi' })
    await stage.seen('new', isEndOf(RUN))
    expect(stage.clock.now() - requestedAt).toBeLessThan(2000)
    expect(observer.count).toBe(32)
  })
})
