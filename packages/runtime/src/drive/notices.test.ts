import { describe, expect, test } from 'vitest'
import type { Observer } from '../index.ts'
import { settled } from './clock.fixture.ts'
import { MAX_NOTIFY_TRIES, NOTIFY_AFTER_MS, OBSERVER_TIMEOUT_MS } from './notices.ts'
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
import { isEndOf } from './virtual-processes.fixture.ts'

describe('observers', () => {
  test('are notified once of each kind of end, with the owner of the session', async () => {
    const ends = {
      completed: 'Hi',
      failed: 'fail',
      interrupted: 'long',
      aborted: 'long',
    } as const
    for (const [status, input] of Object.entries(ends)) {
      const { stage, observer, process, start } = setUp()
      await start(input)
      if (input === 'long') {
        await stage.seen(SESSION, ({ chunk }) => chunk.type === 'text-delta')
        await process.runtime.stop(SESSION, RUN, { mode: status === 'aborted' ? 'abort' : 'interrupt' })
      }
      expect(await stage.ended(SESSION, RUN)).toBe(status)
      await stage.clock.advance(10 * NOTIFY_AFTER_MS)
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
      expect(await noticesIn(stage)).toEqual([])
      const acknowledgements = await acknowledgementsIn(stage)
      expect(acknowledgements).toMatchObject([{ internal: true }])
    }
  })

  test('are notified of each pause with its pendings, and of the end', async () => {
    const { stage, observer, process, start } = setUp()
    await start('pay')
    await stage.seen(SESSION, isPause)
    await settled()
    expect(observer.paused).toMatchObject([
      { status: 'paused', awaits: [{ kind: 'approval', id: 'r1::c1', toolCallId: 'c1', toolName: 'pay' }] },
    ])
    expect(await process.runtime.status(SESSION)).toEqual({ status: 'paused' })
    await process.runtime.answer(SESSION, { kind: 'approval', id: 'r1::c1', approved: true })
    await stage.ended(SESSION, RUN)
    await settled()
    expect(observer.finished).toMatchObject([{ status: 'completed', runId: RUN }])
    expect(observer.finished[0]?.id).not.toBe(observer.paused[0]?.id)
    expect(await noticesIn(stage)).toEqual([])
    expect(process.logged).toEqual([])
  })

  test('are all notified, each with a copy, also if one has no handler', async () => {
    const second = new RecordingObserver()
    const spoiler: Observer = {
      onFinished(run) {
        Object.assign(run, { status: 'spoiled' })
      },
    }
    const { stage, observer, start } = setUp({ observers: [spoiler, {}, second] })
    await start()
    await stage.ended(SESSION, RUN)
    await settled()
    expect([observer.count, second.finished]).toMatchObject([0, [{ status: 'completed' }]])
    expect(await noticesIn(stage)).toEqual([])
  })

  test('without observers, writes neither deadlines nor acknowledgements', async () => {
    const { stage, start } = setUp({ observers: [] })
    await start()
    await stage.ended(SESSION, RUN)
    await stage.clock.advance(10 * NOTIFY_AFTER_MS)
    const end = (await stage.entries(SESSION)).find(isEndOf(RUN))
    expect(end?.chunk).not.toHaveProperty('notifyBy')
    expect(await acknowledgementsIn(stage)).toEqual([])
  })

  test('rejects invalid observers', () => {
    for (const observers of [null, {}, [null], ['no'], [{ onPaused: 'no' }], [{ onFinished: 1 }]]) {
      expect(() => setUp({ observers: observers as never })).toThrow('observers')
    }
  })
})

describe('an observer that', () => {
  test('throws does not affect the run, and is retried with a growing delay until it is given up', async () => {
    const { stage, observer, process, start } = setUp()
    const at: number[] = []
    observer.does = () => {
      at.push(stage.clock.now())
      throw new Error('broken')
    }
    await start()
    expect(await stage.ended(SESSION, RUN)).toBe('completed')
    // All retries take six hours.
    await stage.clock.advance(8 * 3_600_000)
    expect(at).toHaveLength(1 + MAX_NOTIFY_TRIES)
    const waits = at.slice(1).map((time, i) => Math.round((time - (at[i] as number)) / 1000))
    expect(waits).toEqual([30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600, 3600])
    expect(new Set(observer.finished.map(({ id }) => id)).size).toBe(1)
    expect(process.logged.filter(({ level }) => level === 'warn')).toHaveLength(1 + MAX_NOTIFY_TRIES)
    expect(process.logged.filter(({ level }) => level === 'error')).toMatchObject([
      { message: expect.stringContaining('giving up') },
    ])
    expect(await noticesIn(stage)).toEqual([])
    expect(await process.runtime.run(SESSION, RUN).result()).toMatchObject({ status: 'completed' })
  })

  test('succeeds after retries is not called again', async () => {
    const { stage, observer, start } = setUp()
    observer.does = () => (observer.count < 3 ? Promise.reject(new Error('not yet')) : undefined)
    await start()
    await stage.ended(SESSION, RUN)
    await stage.clock.advance(3_600_000)
    expect(observer.count).toBe(3)
    expect(await noticesIn(stage)).toEqual([])
  })

  test('hangs delays neither runs nor closing, and is retried', async () => {
    const { stage, observer, process, start } = setUp()
    observer.does = never
    await start()
    await stage.ended(SESSION, RUN)
    const from = stage.clock.now()
    for (const runId of ['r2', 'r3']) {
      await start('Hi', runId)
      expect(await stage.ended(SESSION, runId)).toBe('completed')
    }
    expect(stage.clock.now() - from).toBeLessThan(OBSERVER_TIMEOUT_MS / 2)
    expect(observer.count).toBe(3)
    await stage.clock.advance(OBSERVER_TIMEOUT_MS)
    expect(process.logged).toHaveLength(3)
    observer.does = () => {}
    await stage.clock.advance(2 * NOTIFY_AFTER_MS)
    expect(observer.count).toBe(6)
    expect(await noticesIn(stage)).toEqual([])
    observer.does = never
    await start('Hi', 'r4')
    await stage.ended(SESSION, 'r4')
    await stage.clock.until(process.runtime.close(), 2 * OBSERVER_TIMEOUT_MS)
  })

  test('is slow is awaited by close', async () => {
    const { stage, observer, process, start } = setUp()
    const { promise, resolve } = Promise.withResolvers<void>()
    observer.does = () => promise
    await start()
    await stage.ended(SESSION, RUN)
    let isClosed = false
    const closed = process.runtime.close().then(() => {
      isClosed = true
    })
    await stage.clock.advance(OBSERVER_TIMEOUT_MS / 2)
    expect(isClosed).toBe(false)
    resolve()
    await closed
    expect(await noticesIn(stage)).toEqual([])
  })

  test('fails does not prevent others, and all are called again until it succeeds', async () => {
    const broken: Observer = {
      onFinished() {
        if (observer.count < 3) throw new Error('broken')
      },
    }
    const observer = new RecordingObserver()
    const { stage, start } = setUp({ observers: [broken, observer] })
    await start()
    await stage.ended(SESSION, RUN)
    await stage.clock.advance(3_600_000)
    expect(observer.count).toBe(4)
    expect(await noticesIn(stage)).toEqual([])
  })

  test('hangs is called with limited concurrency, in time or by the process that took the notice', async () => {
    const { stage, observer, process } = setUp()
    const notifiedAt = new Map<string, number[]>()
    observer.does = () => {
      const { sessionId } = observer.finished.at(-1) as { sessionId: string }
      notifiedAt.set(sessionId, [...(notifiedAt.get(sessionId) ?? []), stage.clock.now()])
      return never()
    }
    const sessions = Array.from({ length: 150 }, (_, n) => `s${n}`)
    for (const session of sessions) await process.runtime.start({ session, runId: RUN, agent: 'clerk', input: 'Hi' })
    for (const session of sessions) expect(await stage.ended(session, RUN)).toBe('completed')
    await settled()
    expect(observer.count).toBe(32)
    // All overdue notices were taken once, and most were delivered since.
    await stage.clock.advance(NOTIFY_AFTER_MS + 5.5 * OBSERVER_TIMEOUT_MS)
    for (const session of sessions) {
      const chunks = (await stage.entries(session)).map(({ chunk }) => chunk)
      const { notifyBy = 0 } = chunks.find(({ type }) => type === 'run-finished') as { notifyBy?: number }
      const late = (notifiedAt.get(session) ?? []).filter(time => time >= notifyBy)
      expect(late.length).toBeLessThanOrEqual(chunks.filter(({ type }) => type === 'run-notified').length)
    }
    // Notices beyond the queue limit are delivered when they are found on the ticket.
    observer.does = () => {}
    await stage.clock.advance(20 * NOTIFY_AFTER_MS)
    expect(new Set(observer.finished.map(({ sessionId }) => sessionId)).size).toBe(sessions.length)
    for (const session of sessions) {
      expect((await stage.manager.getInfo(session))?.ticket).not.toHaveProperty('notices')
    }
  })
})
