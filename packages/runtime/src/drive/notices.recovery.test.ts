import { describe, expect, test } from 'vitest'
import { settled } from './clock.fixture.ts'
import { NOTIFY_AFTER_MS } from './notices.ts'
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
import { isEndOf, type Process, VirtualCluster } from './virtual-cluster.fixture.ts'

describe('an undelivered notice', () => {
  test('is delivered by another process if the first crashed right after the run ended', async () => {
    const { cluster, observer, process, start } = setUp()
    const { connection } = process
    await start()
    let appends = 0
    connection.after = async ({ method }) => {
      if (method === 'append' && ++appends && (await cluster.entries(SESSION)).some(isEndOf(RUN))) process.kill()
    }
    await cluster.waitForEnd(SESSION, RUN)
    expect(appends).toBeGreaterThan(0)
    const nextObserver = new RecordingObserver()
    const other = cluster.process(approvalAgents(), { observers: [nextObserver] })
    await cluster.clock.advance(NOTIFY_AFTER_MS / 2)
    expect([observer.count, nextObserver.count]).toEqual([0, 0])
    await cluster.clock.advance(NOTIFY_AFTER_MS)
    expect(nextObserver.finished).toMatchObject([
      { sessionId: SESSION, runId: RUN, program: 'agent:clerk@1', status: 'completed', principal: 'ada' },
    ])
    await cluster.clock.advance(10 * NOTIFY_AFTER_MS)
    expect([observer.count, nextObserver.count]).toEqual([0, 1])
    expect(await noticesIn(cluster)).toEqual([])
    expect(other.logged).toEqual([])
  })

  test('is repeated with the same id if the process crashed during delivery', async () => {
    const { cluster, observer, process, start } = setUp()
    observer.onNotify = () => {
      process.kill()
      return never()
    }
    await start('pay')
    await cluster.waitForEntry(SESSION, isPause)
    await settled()
    expect(observer.count).toBe(1)
    const nextObserver = new RecordingObserver()
    cluster.process(approvalAgents(), { observers: [nextObserver] })
    await cluster.clock.advance(2 * NOTIFY_AFTER_MS)
    expect(nextObserver.paused).toEqual(observer.paused)
    expect(await noticesIn(cluster)).toEqual([])
    expect(await cluster.manager.due(['agent:clerk@1', 'notify:agent:clerk'])).toEqual([])
  })

  test('is delivered by one of many processes, with any version of the program', async () => {
    const { cluster, observer, process, start } = setUp()
    observer.onNotify = () => process.kill()
    await start()
    await cluster.waitForEnd(SESSION, RUN)
    await settled()
    const observers = Array.from({ length: 5 }, () => new RecordingObserver())
    for (const other of observers) cluster.process(approvalAgents('2'), { observers: [other] })
    await cluster.clock.advance(10 * NOTIFY_AFTER_MS)
    expect(observers.map(({ count }) => count).sort()).toEqual([0, 0, 0, 0, 1])
    expect(await noticesIn(cluster)).toEqual([])
  })

  test('is delivered with the current pendings if its pause is over', async () => {
    const { cluster, observer, process, start } = setUp()
    observer.onNotify = () => process.kill()
    await start('pay')
    await cluster.waitForEntry(SESSION, isPause)
    await settled()
    const nextObserver = new RecordingObserver()
    const other = cluster.process(approvalAgents(), { observers: [nextObserver] })
    await other.runtime.answer(SESSION, { kind: 'approval', id: 'r1::c1', approved: true })
    await cluster.waitForEnd(SESSION, RUN)
    await cluster.clock.advance(2 * NOTIFY_AFTER_MS)
    expect(nextObserver.paused).toMatchObject([{ id: observer.paused[0]?.id, status: 'paused', awaits: [] }])
    expect(nextObserver.finished).toMatchObject([{ status: 'completed' }])
    expect(await noticesIn(cluster)).toEqual([])
  })
})

describe('the notices of a run', () => {
  /** A run that pauses, is answered and ends, in a process that crashes before or after its nth store call. */
  async function dying(
    when: 'before' | 'after',
    n: number,
  ): Promise<{ isDead: boolean; isTwice: boolean; isLate: boolean }> {
    const cluster = new VirtualCluster()
    const observers = [new RecordingObserver(), new RecordingObserver()] as const
    let isDead = false
    const server = cluster.process(() => [], { engine: false }).runtime
    await server.start({ session: SESSION, runId: RUN, agent: 'agent:clerk@1', input: 'pay' })
    const first = cluster.process(approvalAgents(), { observers: [observers[0]] })
    first.connection[when] = call => {
      if (call.n !== n) return
      isDead = true
      first.kill()
    }
    const nextProcess = cluster.process(approvalAgents(), { observers: [observers[1]] })
    await cluster.waitForEntry(SESSION, isPause)
    await server.answer(SESSION, { kind: 'approval', id: 'r1::c1', approved: true })
    expect(await cluster.waitForEnd(SESSION, RUN)).toBe('completed')
    await cluster.clock.advance(20 * NOTIFY_AFTER_MS)
    const ids = (kind: 'paused' | 'finished') => observers.flatMap(observer => observer[kind].map(({ id }) => id))
    for (const noticeIds of [ids('paused'), ids('finished')]) {
      expect({ when, n, count: noticeIds.length }).toMatchObject({
        count: expect.toSatisfy(count => count >= 1 && count <= 2),
      })
      expect(new Set(noticeIds).size).toBe(1)
    }
    expect(await noticesIn(cluster)).toEqual([])
    expect(nextProcess.logged).toEqual([])
    const isTwice = ids('paused').length + ids('finished').length > 2
    return { isDead, isTwice, isLate: (await acknowledgementsIn(cluster)).some(({ chunk }) => 'until' in chunk) }
  }

  test.each(['before', 'after'] as const)(
    'are delivered at least once, each under one id, if the process crashes %s any store call',
    async when => {
      const all = await Promise.all(Array.from({ length: 60 }, (_, i) => dying(when, i + 1)))
      expect(all.every(({ isDead }) => isDead)).toBe(true)
      // It crashed before the delivery, and also after it but before the acknowledgement.
      expect(all.filter(({ isLate }) => isLate).length).toBeGreaterThan(2)
      expect(all.filter(({ isTwice }) => isTwice).length).toBeGreaterThan(0)
      expect(all.filter(({ isLate }) => !isLate).length).toBeGreaterThan(10)
    },
  )
})

describe('a runtime without observers', () => {
  const DAY = 24 * 3_600_000

  /** A session whose process crashed before it delivered its pause, with or without a deadline. */
  async function withUnsentNotices(timeoutMs?: number): Promise<VirtualCluster> {
    const cluster = new VirtualCluster()
    const process: Process = cluster.process(approvalAgents('1', timeoutMs), {
      observers: [{ onPaused: () => process.kill() }],
    })
    await process.runtime.start({ session: SESSION, runId: RUN, agent: 'clerk', input: 'pay' })
    await cluster.waitForEntry(SESSION, isPause)
    await settled()
    return cluster
  }

  test('leaves notices to others, does not report such a session as blocked, and polls it rarely', async () => {
    for (const timeoutMs of [undefined, DAY]) {
      const cluster = await withUnsentNotices(timeoutMs)
      const { runtime, connection, logged } = cluster.process(approvalAgents('1', timeoutMs))
      await cluster.clock.advance(2 * NOTIFY_AFTER_MS)
      const looks: string[] = []
      connection.before = ({ method }) => method !== 'due' && looks.push(method)
      await cluster.clock.advance(60_000)
      // Only if a deadline of its own run might be hidden behind it, and then rarely.
      expect(looks.length).toBeLessThanOrEqual(timeoutMs === undefined ? 0 : 12)
      expect(await noticesIn(cluster)).toMatchObject([{ status: 'paused' }])
      expect(await runtime.status(SESSION)).toEqual({ status: 'paused' })
      const observer = new RecordingObserver()
      cluster.process(approvalAgents('1', timeoutMs), { observers: [observer] })
      await cluster.clock.advance(1000)
      expect(observer.paused).toMatchObject([{ status: 'paused', awaits: [{ id: 'r1::c1' }] }])
      expect(await noticesIn(cluster)).toEqual([])
      expect(logged).toEqual([])
    }
  })

  test('settles deadlines and accepts answers and requests', async () => {
    const cluster = await withUnsentNotices(120_000)
    const { runtime } = cluster.process(approvalAgents('1', 120_000))
    await cluster.clock.advance(100_000)
    expect(await runtime.status(SESSION)).toEqual({ status: 'paused' })
    await cluster.clock.advance(30_000)
    const [denied] = (await cluster.entries(SESSION)).filter(({ chunk }) => chunk.type === 'tool-output-denied')
    expect(denied).toBeDefined()
    expect(await cluster.waitForEnd(SESSION, RUN)).toBe('completed')
    expect(await noticesIn(cluster)).toHaveLength(1)
    expect(await runtime.status(SESSION)).toEqual({ status: 'idle' })
    const from = cluster.clock.now()
    await runtime.start({ session: SESSION, runId: 'r2', agent: 'clerk', input: 'Hi' })
    expect(await cluster.waitForEnd(SESSION, 'r2')).toBe('completed')
    expect(cluster.clock.now() - from).toBeLessThan(2000)
  })
})
