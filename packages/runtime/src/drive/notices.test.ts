import type { Entry } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Agent, agent, type FinishedRun, type Observer, type PausedRun, scriptedModel, tool } from '../index.ts'
import { settled, type Ticking } from './clock.fixture.ts'
import { MAX_NOTIFY_TRIES, NOTIFY_AFTER_MS, OBSERVER_TIMEOUT_MS } from './notices.ts'
import { isEndOf, type Process, Stage } from './stage.fixture.ts'

const SESSION = 's'
const RUN = 'r1'

/** An agent that asks to pay, fails, talks for long, or just answers, as it is told. */
const clerk =
  (version = '1', timeout?: number) =>
  (timers: Ticking): Agent[] => [
    agent({
      name: 'clerk',
      version,
      tools: [
        tool({
          name: 'pay',
          input: z.object({}),
          approval: timeout === undefined ? true : { timeout },
          execute: () => 'paid',
        }),
      ],
      maxRetries: 0,
      model: scriptedModel(
        ({ lastText, turnAnswers }) => {
          if (lastText.includes('fail')) throw new Error('no')
          if (lastText.includes('pay') && turnAnswers === 0) return { calls: [{ name: 'pay', input: {}, id: 'c1' }] }
          return { text: lastText.includes('long') ? 'one two three four five six' : 'Done.' }
        },
        { paceMs: 100, timers },
      ),
    }),
  ]

/** Keeps what it is told. */
class Ear implements Observer {
  readonly paused: PausedRun[] = []
  readonly finished: FinishedRun[] = []
  /** What it does when it is told, beside keeping it. */
  does: () => unknown = () => {}

  onPaused(run: PausedRun): unknown {
    this.paused.push(run)
    return this.does()
  }

  onFinished(run: FinishedRun): unknown {
    this.finished.push(run)
    return this.does()
  }

  get count(): number {
    return this.paused.length + this.finished.length
  }
}

interface SetUp {
  readonly stage: Stage
  readonly ear: Ear
  readonly process: Process
  start(input?: string, runId?: string): Promise<void>
}

function setUp(options: Parameters<Stage['process']>[1] = {}): SetUp {
  const stage = new Stage()
  const ear = new Ear()
  const process = stage.process(clerk(), { observers: [ear], ...options })
  const start = async (input = 'Hi', runId = RUN) => {
    const to = { session: SESSION, principal: 'ada', runId, agent: 'clerk', input }
    await process.runtime.start(to)
  }
  return { stage, ear, process, start }
}

const isPause = ({ chunk }: Entry): boolean => chunk.type === 'run-paused'
const toldIn = async (stage: Stage): Promise<Entry[]> =>
  (await stage.entries(SESSION)).filter(({ chunk }) => chunk.type === 'run-notified')
const owedIn = async (stage: Stage) => (await stage.manager.getInfo(SESSION))?.ticket.notices ?? []
const never = () => new Promise<never>(() => {})

describe('observers', () => {
  test('are told once of each kind of end, and of whose session it is', async () => {
    const ends = {
      completed: 'Hi',
      failed: 'fail',
      interrupted: 'long',
      aborted: 'long',
    } as const
    for (const [status, input] of Object.entries(ends)) {
      const { stage, ear, process, start } = setUp()
      await start(input)
      if (input === 'long') {
        await stage.seen(SESSION, ({ chunk }) => chunk.type === 'text-delta')
        await process.runtime.stop(SESSION, RUN, { mode: status === 'aborted' ? 'abort' : 'interrupt' })
      }
      expect(await stage.ended(SESSION, RUN)).toBe(status)
      await stage.clock.advance(10 * NOTIFY_AFTER_MS)
      const reason = status === 'failed' ? { reason: expect.any(String) } : {}
      expect(ear.finished).toEqual([
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
      expect(ear.paused).toEqual([])
      expect(await owedIn(stage)).toEqual([])
      const told = await toldIn(stage)
      expect(told).toMatchObject([{ internal: true }])
    }
  })

  test('are told of each pause and what for, and of the end after it', async () => {
    const { stage, ear, process, start } = setUp()
    await start('pay')
    await stage.seen(SESSION, isPause)
    await settled()
    expect(ear.paused).toMatchObject([
      { status: 'paused', awaits: [{ kind: 'approval', id: 'r1::c1', toolCallId: 'c1', toolName: 'pay' }] },
    ])
    expect(await process.runtime.status(SESSION)).toEqual({ status: 'paused' })
    await process.runtime.answer(SESSION, { kind: 'approval', id: 'r1::c1', approved: true })
    await stage.ended(SESSION, RUN)
    await settled()
    expect(ear.finished).toMatchObject([{ status: 'completed', runId: RUN }])
    expect(ear.finished[0]?.id).not.toBe(ear.paused[0]?.id)
    expect(await owedIn(stage)).toEqual([])
    expect(process.said).toEqual([])
  })

  test('are all told, each with a copy of its own, and one that is not interested is no trouble', async () => {
    const second = new Ear()
    const spoiler: Observer = {
      onFinished(run) {
        Object.assign(run, { status: 'spoiled' })
      },
    }
    const { stage, ear, start } = setUp({ observers: [spoiler, {}, second] })
    await start()
    await stage.ended(SESSION, RUN)
    await settled()
    expect([ear.count, second.finished]).toMatchObject([0, [{ status: 'completed' }]])
    expect(await owedIn(stage)).toEqual([])
  })

  test('without any nothing is owed, and nobody says that somebody was told', async () => {
    const { stage, start } = setUp({ observers: [] })
    await start()
    await stage.ended(SESSION, RUN)
    await stage.clock.advance(10 * NOTIFY_AFTER_MS)
    const end = (await stage.entries(SESSION)).find(isEndOf(RUN))
    expect(end?.chunk).not.toHaveProperty('notifyBy')
    expect(await toldIn(stage)).toEqual([])
  })

  test('that are none are refused', () => {
    for (const observers of [null, {}, [null], ['no'], [{ onPaused: 'no' }], [{ onFinished: 1 }]]) {
      expect(() => setUp({ observers: observers as never })).toThrow('observers')
    }
  })
})

describe('what was not told', () => {
  test('because the process died before it heard that its end is in the log is told by another', async () => {
    const { stage, ear, process, start } = setUp()
    const { wire } = process
    await start()
    let appends = 0
    wire.after = async ({ method }) => {
      if (method === 'append' && ++appends && (await stage.entries(SESSION)).some(isEndOf(RUN))) process.kill()
    }
    await stage.ended(SESSION, RUN)
    expect(appends).toBeGreaterThan(0)
    const heir = new Ear()
    const other = stage.process(clerk(), { observers: [heir] })
    await stage.clock.advance(NOTIFY_AFTER_MS / 2)
    expect([ear.count, heir.count]).toEqual([0, 0])
    await stage.clock.advance(NOTIFY_AFTER_MS)
    expect(heir.finished).toMatchObject([
      { sessionId: SESSION, runId: RUN, program: 'agent:clerk@1', status: 'completed', principal: 'ada' },
    ])
    await stage.clock.advance(10 * NOTIFY_AFTER_MS)
    expect([ear.count, heir.count]).toEqual([0, 1])
    expect(await owedIn(stage)).toEqual([])
    expect(other.said).toEqual([])
  })

  test('because the process died while it told is told again, under the same id', async () => {
    const { stage, ear, process, start } = setUp()
    ear.does = () => {
      process.kill()
      return never()
    }
    await start('pay')
    await stage.seen(SESSION, isPause)
    await settled()
    expect(ear.count).toBe(1)
    const heir = new Ear()
    stage.process(clerk(), { observers: [heir] })
    await stage.clock.advance(2 * NOTIFY_AFTER_MS)
    expect(heir.paused).toEqual(ear.paused)
    expect(await owedIn(stage)).toEqual([])
    expect(await stage.manager.due(['agent:clerk@1', 'notify:agent:clerk'])).toEqual([])
  })

  test('is told by one of many, and by whichever version of the program', async () => {
    const { stage, ear, process, start } = setUp()
    ear.does = () => process.kill()
    await start()
    await stage.ended(SESSION, RUN)
    await settled()
    const ears = Array.from({ length: 5 }, () => new Ear())
    for (const other of ears) stage.process(clerk('2'), { observers: [other] })
    await stage.clock.advance(10 * NOTIFY_AFTER_MS)
    expect(ears.map(({ count }) => count).sort()).toEqual([0, 0, 0, 0, 1])
    expect(await owedIn(stage)).toEqual([])
  })

  test('of a pause that is over by then is told with what the run still waits for', async () => {
    const { stage, ear, process, start } = setUp()
    ear.does = () => process.kill()
    await start('pay')
    await stage.seen(SESSION, isPause)
    await settled()
    const heir = new Ear()
    const other = stage.process(clerk(), { observers: [heir] })
    await other.runtime.answer(SESSION, { kind: 'approval', id: 'r1::c1', approved: true })
    await stage.ended(SESSION, RUN)
    await stage.clock.advance(2 * NOTIFY_AFTER_MS)
    expect(heir.paused).toMatchObject([{ id: ear.paused[0]?.id, status: 'paused', awaits: [] }])
    expect(heir.finished).toMatchObject([{ status: 'completed' }])
    expect(await owedIn(stage)).toEqual([])
  })
})

describe('an observer that', () => {
  test('throws harms no run, and is tried again, later each time, until it is given up', async () => {
    const { stage, ear, process, start } = setUp()
    const at: number[] = []
    ear.does = () => {
      at.push(stage.clock.now())
      throw new Error('broken')
    }
    await start()
    expect(await stage.ended(SESSION, RUN)).toBe('completed')
    await stage.clock.advance(24 * 3_600_000)
    expect(at).toHaveLength(1 + MAX_NOTIFY_TRIES)
    const waits = at.slice(1).map((time, i) => Math.round((time - (at[i] as number)) / 1000))
    expect(waits).toEqual([30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600, 3600])
    expect(new Set(ear.finished.map(({ id }) => id)).size).toBe(1)
    expect(process.said.filter(({ level }) => level === 'warn')).toHaveLength(1 + MAX_NOTIFY_TRIES)
    expect(process.said.filter(({ level }) => level === 'error')).toMatchObject([
      { message: expect.stringContaining('will not be') },
    ])
    expect(await owedIn(stage)).toEqual([])
    expect(await process.runtime.run(SESSION, RUN).result()).toMatchObject({ status: 'completed' })
  })

  test('hears at last is left alone then', async () => {
    const { stage, ear, start } = setUp()
    ear.does = () => (ear.count < 3 ? Promise.reject(new Error('not yet')) : undefined)
    await start()
    await stage.ended(SESSION, RUN)
    await stage.clock.advance(24 * 3_600_000)
    expect(ear.count).toBe(3)
    expect(await owedIn(stage)).toEqual([])
  })

  test('hangs keeps no run from starting and no process from closing, and is tried again', async () => {
    const { stage, ear, process, start } = setUp()
    ear.does = never
    await start()
    await stage.ended(SESSION, RUN)
    const from = stage.clock.now()
    for (const runId of ['r2', 'r3']) {
      await start('Hi', runId)
      expect(await stage.ended(SESSION, runId)).toBe('completed')
    }
    expect(stage.clock.now() - from).toBeLessThan(OBSERVER_TIMEOUT_MS / 2)
    expect(ear.count).toBe(3)
    await stage.clock.advance(OBSERVER_TIMEOUT_MS)
    expect(process.said).toHaveLength(3)
    ear.does = () => {}
    await stage.clock.advance(2 * NOTIFY_AFTER_MS)
    expect(ear.count).toBe(6)
    expect(await owedIn(stage)).toEqual([])
    ear.does = never
    await start('Hi', 'r4')
    await stage.ended(SESSION, 'r4')
    await stage.clock.until(process.runtime.close(), 2 * OBSERVER_TIMEOUT_MS)
  })

  test('is slow is waited for by who closes', async () => {
    const { stage, ear, process, start } = setUp()
    const { promise, resolve } = Promise.withResolvers<void>()
    ear.does = () => promise
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
    expect(await owedIn(stage)).toEqual([])
  })

  test('hangs is called so many times at a time, and what has no room is told later', async () => {
    const { stage, ear, process } = setUp()
    ear.does = never
    const runs = 40
    for (let n = 0; n < runs; n++) {
      await process.runtime.start({ session: `s${n}`, runId: RUN, agent: 'clerk', input: 'Hi' })
    }
    for (let n = 0; n < runs; n++) expect(await stage.ended(`s${n}`, RUN)).toBe('completed')
    await settled()
    expect(ear.count).toBe(32)
    ear.does = () => {}
    await stage.clock.advance(3 * NOTIFY_AFTER_MS)
    expect(new Set(ear.finished.map(({ sessionId }) => sessionId)).size).toBe(runs)
    expect(ear.count).toBe(runs + 32)
  })
})

describe('a runtime without observers', () => {
  const DAY = 24 * 3_600_000

  /** A session whose process died before it told of its pause, which has a deadline or none. */
  async function untold(timeout?: number): Promise<Stage> {
    const stage = new Stage()
    const process: Process = stage.process(clerk('1', timeout), { observers: [{ onPaused: () => process.kill() }] })
    await process.runtime.start({ session: SESSION, runId: RUN, agent: 'clerk', input: 'pay' })
    await stage.seen(SESSION, isPause)
    await settled()
    return stage
  }

  test('leaves what is owed to others, calls no such session blocked, and does not look at it again and again', async () => {
    for (const timeout of [undefined, DAY]) {
      const stage = await untold(timeout)
      const { runtime, wire, said } = stage.process(clerk('1', timeout))
      await stage.clock.advance(2 * NOTIFY_AFTER_MS)
      const looks: string[] = []
      wire.before = ({ method }) => method !== 'due' && looks.push(method)
      await stage.clock.advance(60_000)
      // Only where a deadline of its own run might be hidden behind it, and then seldom.
      expect(looks.length).toBeLessThanOrEqual(timeout === undefined ? 0 : 12)
      expect(await owedIn(stage)).toMatchObject([{ status: 'paused' }])
      expect(await runtime.status(SESSION)).toEqual({ status: 'paused' })
      const ear = new Ear()
      stage.process(clerk('1', timeout), { observers: [ear] })
      await stage.clock.advance(1000)
      expect(ear.paused).toMatchObject([{ status: 'paused', awaits: [{ id: 'r1::c1' }] }])
      expect(await owedIn(stage)).toEqual([])
      expect(said).toEqual([])
    }
  })

  test('settles deadlines and takes answers and requests all the same', async () => {
    const stage = await untold(120_000)
    const { runtime } = stage.process(clerk('1', 120_000))
    await stage.clock.advance(100_000)
    expect(await runtime.status(SESSION)).toEqual({ status: 'paused' })
    await stage.clock.advance(30_000)
    const [denied] = (await stage.entries(SESSION)).filter(({ chunk }) => chunk.type === 'tool-output-denied')
    expect(denied).toBeDefined()
    expect(await stage.ended(SESSION, RUN)).toBe('completed')
    expect(await owedIn(stage)).toHaveLength(1)
    expect(await runtime.status(SESSION)).toEqual({ status: 'idle' })
    const from = stage.clock.now()
    await runtime.start({ session: SESSION, runId: 'r2', agent: 'clerk', input: 'Hi' })
    expect(await stage.ended(SESSION, 'r2')).toBe('completed')
    expect(stage.clock.now() - from).toBeLessThan(2000)
  })
})
