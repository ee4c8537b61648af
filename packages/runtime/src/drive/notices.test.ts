import { describe, expect, test } from 'vitest'
import type { Observer } from '../index.ts'
import { settled } from './clock.fixture.ts'
import { CLOSE_TIMEOUT_MS, MAX_NOTIFY_TRIES, NOTIFY_AFTER_MS, OBSERVER_TIMEOUT_MS } from './notices.ts'
import {
  acknowledgementsIn,
  isPause,
  never,
  noticesIn,
  RecordingObserver,
  RUN,
  SESSION,
  setUp,
} from './observer.fixture.ts'
import { isEndOf } from './virtual-cluster.fixture.ts'

describe('observers', () => {
  test('receive each kind of end once, with the owner of the session', async () => {
    const ends = {
      completed: 'Hi',
      failed: 'fail',
      interrupted: 'long',
      aborted: 'long',
    } as const
    for (const [status, input] of Object.entries(ends)) {
      const { cluster, observer, process, start } = setUp()
      await start(input)
      if (input === 'long') {
        await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'text-delta')
        await process.runtime.stop(SESSION, RUN, { mode: status === 'aborted' ? 'abort' : 'interrupt' })
      }
      expect(await cluster.waitForEnd(SESSION, RUN)).toBe(status)
      await cluster.clock.advance(10 * NOTIFY_AFTER_MS)
      const reason = status === 'failed' ? { reason: expect.any(String) } : {}
      expect(observer.finished).toEqual([
        {
          id: expect.stringMatching(/^r1:\d+$/),
          sessionId: SESSION,
          runId: RUN,
          program: 'agent:clerk@1',
          status,
          principal: 'ada',
          ...reason,
        },
      ])
      expect(observer.paused).toEqual([])
      expect(await noticesIn(cluster)).toEqual([])
      const acknowledgements = await acknowledgementsIn(cluster)
      expect(acknowledgements).toMatchObject([{ internal: true }])
    }
  })

  test('receive each pause with its pendings, and the end', async () => {
    const { cluster, observer, process, start } = setUp()
    await start('pay')
    await cluster.waitForEntry(SESSION, isPause)
    await settled()
    expect(observer.paused).toMatchObject([
      { status: 'paused', awaits: [{ kind: 'approval', id: 'r1::c1', toolCallId: 'c1', toolName: 'pay' }] },
    ])
    expect(await process.runtime.status(SESSION)).toEqual({ status: 'paused' })
    await process.runtime.answer(SESSION, { kind: 'approval', id: 'r1::c1', approved: true })
    await cluster.waitForEnd(SESSION, RUN)
    await settled()
    expect(observer.finished).toMatchObject([{ status: 'completed', runId: RUN }])
    expect(observer.finished[0]?.id).not.toBe(observer.paused[0]?.id)
    expect(await noticesIn(cluster)).toEqual([])
    expect(process.logged).toEqual([])
  })

  test('each receive a copy of a notice, also if one has no handler', async () => {
    const second = new RecordingObserver()
    const spoiler: Observer = {
      onFinished(run) {
        Object.assign(run, { status: 'spoiled' })
      },
    }
    const { cluster, observer, start } = setUp({ observers: [spoiler, {}, second] })
    await start()
    await cluster.waitForEnd(SESSION, RUN)
    await settled()
    expect([observer.count, second.finished]).toMatchObject([0, [{ status: 'completed' }]])
    expect(await noticesIn(cluster)).toEqual([])
  })

  test('add deadlines and acknowledgements to the log only if there are observers', async () => {
    const { cluster, start } = setUp({ observers: [] })
    await start()
    await cluster.waitForEnd(SESSION, RUN)
    await cluster.clock.advance(10 * NOTIFY_AFTER_MS)
    const end = (await cluster.entries(SESSION)).find(isEndOf(RUN))
    expect(end?.chunk).not.toHaveProperty('notifyBy')
    expect(await acknowledgementsIn(cluster)).toEqual([])
  })

  test('must be objects with known handlers', () => {
    for (const observers of [null, {}, [null], ['no'], [{ onPaused: 'no' }], [{ onFinished: 1 }]]) {
      expect(() => setUp({ observers: observers as never })).toThrow('observers')
    }
  })
})

describe('delivery to an observer', () => {
  test('retries an observer that throws, with a growing delay and a limit, and does not affect the run', async () => {
    const { cluster, observer, process, start } = setUp()
    const at: number[] = []
    observer.onNotify = () => {
      at.push(cluster.clock.now())
      throw new Error('broken')
    }
    await start()
    expect(await cluster.waitForEnd(SESSION, RUN)).toBe('completed')
    // All retries take six hours.
    await cluster.clock.advance(8 * 3_600_000)
    expect(at).toHaveLength(1 + MAX_NOTIFY_TRIES)
    const waits = at.slice(1).map((time, i) => Math.round((time - (at[i] as number)) / 1000))
    expect(waits).toEqual([30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600, 3600])
    expect(new Set(observer.finished.map(({ id }) => id)).size).toBe(1)
    expect(process.logged.filter(({ level }) => level === 'warn')).toHaveLength(1 + MAX_NOTIFY_TRIES)
    expect(process.logged.filter(({ level }) => level === 'error')).toMatchObject([
      { message: expect.stringContaining('giving up') },
    ])
    expect(await noticesIn(cluster)).toEqual([])
    expect(await process.runtime.run(SESSION, RUN).result()).toMatchObject({ status: 'completed' })
  })

  test('ends at the first success', async () => {
    const { cluster, observer, start } = setUp()
    observer.onNotify = () => (observer.count < 3 ? Promise.reject(new Error('not yet')) : undefined)
    await start()
    await cluster.waitForEnd(SESSION, RUN)
    await cluster.clock.advance(3_600_000)
    expect(observer.count).toBe(3)
    expect(await noticesIn(cluster)).toEqual([])
  })

  test('retries an observer that hangs, and delays neither runs nor closing', async () => {
    const { cluster, observer, process, start } = setUp()
    observer.onNotify = never
    await start()
    await cluster.waitForEnd(SESSION, RUN)
    const from = cluster.clock.now()
    for (const runId of ['r2', 'r3']) {
      await start('Hi', runId)
      expect(await cluster.waitForEnd(SESSION, runId)).toBe('completed')
    }
    expect(cluster.clock.now() - from).toBeLessThan(OBSERVER_TIMEOUT_MS / 2)
    expect(observer.count).toBe(3)
    await cluster.clock.advance(OBSERVER_TIMEOUT_MS)
    expect(process.logged).toHaveLength(3)
    observer.onNotify = () => {}
    await cluster.clock.advance(2 * NOTIFY_AFTER_MS)
    expect(observer.count).toBe(6)
    expect(await noticesIn(cluster)).toEqual([])
    observer.onNotify = never
    await start('Hi', 'r4')
    await cluster.waitForEnd(SESSION, 'r4')
    await cluster.clock.until(process.runtime.close(), 2 * CLOSE_TIMEOUT_MS)
  })

  test('completes before the runtime closes, also if the observer is slow', async () => {
    const { cluster, observer, process, start } = setUp()
    const { promise, resolve } = Promise.withResolvers<void>()
    observer.onNotify = () => promise
    await start()
    await cluster.waitForEnd(SESSION, RUN)
    let isClosed = false
    const closed = process.runtime.close().then(() => {
      isClosed = true
    })
    await cluster.clock.advance(CLOSE_TIMEOUT_MS / 2)
    expect(isClosed).toBe(false)
    resolve()
    await closed
    expect(await noticesIn(cluster)).toEqual([])
  })

  test('calls all observers again until none fails', async () => {
    const broken: Observer = {
      onFinished() {
        if (observer.count < 3) throw new Error('broken')
      },
    }
    const observer = new RecordingObserver()
    const { cluster, start } = setUp({ observers: [broken, observer] })
    await start()
    await cluster.waitForEnd(SESSION, RUN)
    await cluster.clock.advance(3_600_000)
    expect(observer.count).toBe(4)
    expect(await noticesIn(cluster)).toEqual([])
  })

  test('limits its concurrency while observers hang, and claims a session before an overdue notice', async () => {
    const { cluster, observer, process } = setUp()
    const notifiedAt = new Map<string, number[]>()
    observer.onNotify = () => {
      const { sessionId } = observer.finished.at(-1) as { sessionId: string }
      notifiedAt.set(sessionId, [...(notifiedAt.get(sessionId) ?? []), cluster.clock.now()])
      return never()
    }
    const sessions = Array.from({ length: 150 }, (_, n) => `s${n}`)
    for (const session of sessions) await process.runtime.start({ session, runId: RUN, agent: 'clerk', input: 'Hi' })
    for (const session of sessions) expect(await cluster.waitForEnd(session, RUN)).toBe('completed')
    await settled()
    expect(observer.count).toBe(32)
    // All overdue notices were taken once, and most were delivered since.
    await cluster.clock.advance(NOTIFY_AFTER_MS + 5.5 * OBSERVER_TIMEOUT_MS)
    for (const session of sessions) {
      const chunks = (await cluster.entries(session)).map(({ chunk }) => chunk)
      const { notifyBy = 0 } = chunks.find(({ type }) => type === 'run-finished') as { notifyBy?: number }
      const late = (notifiedAt.get(session) ?? []).filter(time => time >= notifyBy)
      expect(late.length).toBeLessThanOrEqual(chunks.filter(({ type }) => type === 'run-notified').length)
    }
    // Notices beyond the queue limit are delivered when they are found on the ticket.
    observer.onNotify = () => {}
    await cluster.clock.advance(20 * NOTIFY_AFTER_MS)
    expect(new Set(observer.finished.map(({ sessionId }) => sessionId)).size).toBe(sessions.length)
    for (const session of sessions) {
      expect((await cluster.manager.getInfo(session))?.ticket).not.toHaveProperty('notices')
    }
  })
})
