import { expect, test } from 'vitest'
import { everyNth } from '../every-nth.fixture.ts'
import { Calls, FULL_ANSWER, program } from './program.fixture.ts'
import { expectOneEnd, isEndOf, type Process, textOf, VirtualCluster } from './virtual-cluster.fixture.ts'

const RUN = 'r1'
const NEXT = 'r2'
const SESSION = 's'

/** A session with a requested run, and a driver that the test starts. */
class Harness {
  readonly cluster = new VirtualCluster()
  readonly calls = new Calls()
  readonly server = this.cluster.process(() => [], { engine: false })

  static async open(): Promise<Harness> {
    const harness = new Harness()
    await harness.server.runtime.start({ session: SESSION, runId: RUN, agent: 'agent:helper@1', input: 'How warm?' })
    return harness
  }

  driver(): Process {
    return this.cluster.process(timers => [program(timers, this.calls)])
  }

  /** A driver with an action before one of its calls, or before the result of the call. */
  async disturbed(
    n: number,
    happens: (driver: Process) => unknown,
    when: 'before' | 'after' = 'before',
  ): Promise<Process> {
    const driver = this.driver()
    const done = Promise.withResolvers<void>()
    driver.connection[when] = async call => {
      if (call.n !== n) return
      await happens(driver)
      done.resolve()
    }
    await this.cluster.clock.until(done.promise)
    return driver
  }

  /** Requests a stop. Returns its sequence in the log if it was accepted. */
  async stop(): Promise<number | undefined> {
    const done = await this.cluster.manager.append(SESSION, 'ann', { type: 'stop-requested', runId: RUN })
    return 'first' in done ? done.first : undefined
  }

  async hasStarted(runId: string): Promise<boolean> {
    const entries = await this.cluster.entries(SESSION)
    return entries.some(({ chunk, origin }) => chunk.type === 'run-started' && origin.runId === runId)
  }
}

/** Number of store calls of an undisturbed driver. */
async function countCalls(): Promise<number> {
  const harness = await Harness.open()
  const driver = harness.driver()
  expect(await harness.cluster.waitForEnd(SESSION, RUN)).toBe('completed')
  expect(textOf(await harness.cluster.view(SESSION), RUN)).toBe(FULL_ANSWER)
  return driver.connection.calls
}

/** Every third call is tested, with a different offset per test. `npm run chaos` tests all. */
const STEP = 3

/** The call numbers at which to act. */
async function instants(offset: number): Promise<readonly number[]> {
  const total = await countCalls()
  const all = Array.from({ length: total }, (_, index) => index + 1)
  return everyNth(all, STEP, offset)
}

/** Expects the requested end after everything that was shown before the stop. */
async function expectStopped({ cluster }: Harness, at: number, where: string): Promise<void> {
  await expectOneEnd(cluster, SESSION, RUN)
  const shown = textOf(await cluster.view(SESSION, at), RUN)
  const view = await cluster.view(SESSION)
  expect(textOf(view, RUN).startsWith(shown), `${where}: ${shown}`).toBe(true)
  expect(view.runs.find(({ runId }) => runId === RUN)?.status, where).toBe('interrupted')
  const after = (await cluster.entries(SESSION)).filter(({ sequence }) => sequence > at)
  expect(after.map(({ chunk }) => chunk.type)).not.toContain('step-discarded')
}

test.each(['before', 'after'] as const)(
  'laws 5 and 7: a stop that arrives at any instant, %s a call is done, ends the run as interrupted, keeps what was shown and settles every call',
  async when => {
    let stops = 0
    for (const n of await instants(when === 'before' ? 0 : 1)) {
      const harness = await Harness.open()
      let at: number | undefined
      const driver = await harness.disturbed(
        n,
        async () => {
          at = await harness.stop()
        },
        when,
      )
      await harness.cluster.clock.advance(1000)
      if (!(await harness.hasStarted(RUN))) continue
      if (at === undefined) {
        expect(await harness.cluster.waitForEnd(SESSION, RUN)).toBe('completed')
        continue
      }
      stops++
      await expectStopped(harness, at, `call ${n}`)
      expect(driver.logged).toEqual([])
    }
    expect(stops).toBeGreaterThan(0)
  },
)

test('laws 5 and 7: a stop during a crash of the owner is executed by the next driver, and the shown text stays', async () => {
  let stops = 0
  for (const n of await instants(2)) {
    const harness = await Harness.open()
    let at: number | undefined
    await harness.disturbed(n, async owner => {
      at = await harness.stop()
      owner.kill()
    })
    harness.driver()
    await harness.cluster.clock.advance(3000)
    if (!(await harness.hasStarted(RUN))) continue
    if (at === undefined) {
      expect(await harness.cluster.waitForEnd(SESSION, RUN)).toBe('completed')
      continue
    }
    stops++
    await expectStopped(harness, at, `call ${n}`)
  }
  expect(stops).toBeGreaterThan(0)
})

test('a request that interrupts stops the run at any call, and its own run follows', async () => {
  for (const n of await instants(0)) {
    const harness = await Harness.open()
    let at = 0
    await harness.disturbed(n, async () => {
      await harness.server.runtime.start({
        session: SESSION,
        runId: NEXT,
        agent: 'agent:helper@1',
        input: 'And now?',
        whenBusy: 'interrupt-previous',
      })
      at = (await harness.cluster.manager.getInfo(SESSION))?.head ?? 0
    })
    expect(await harness.cluster.waitForEnd(SESSION, NEXT)).toBe('completed')
    await expectOneEnd(harness.cluster, SESSION, NEXT)
    const view = await harness.cluster.view(SESSION)
    const first = view.runs.find(({ runId }) => runId === RUN)
    if (first?.status === 'completed') expect(textOf(view, RUN)).toBe(FULL_ANSWER)
    else if (first?.status === 'interrupted') await expectStopped(harness, at, `call ${n}`)
    // The last request goes first if neither run had started.
    else expect(await harness.cluster.waitForEnd(SESSION, RUN)).toBe('completed')
  }
})

test('law 3: a rewind stops the run at any call, and its own run starts after the end', async () => {
  let cuts = 0
  for (const n of await instants(1)) {
    const harness = await Harness.open()
    let isAsked = false
    let at = 0
    await harness.disturbed(n, async () => {
      if (!(await harness.hasStarted(RUN))) return
      await harness.server.runtime.retry(SESSION, RUN, { runId: NEXT })
      isAsked = true
      at = (await harness.cluster.manager.getInfo(SESSION))?.head ?? 0
    })
    expect(['completed', 'interrupted']).toContain(await harness.cluster.waitForEnd(SESSION, RUN))
    if (!isAsked) continue
    cuts++
    expect(await harness.cluster.waitForEnd(SESSION, NEXT)).toBe('completed')
    const entries = await harness.cluster.entries(SESSION)
    const end = entries.find(isEndOf(RUN))?.sequence ?? 0
    const rewinds = entries.filter(({ chunk }) => chunk.type === 'rewind')
    expect(rewinds.map(({ sequence }) => sequence > end)).toEqual([true])
    const shown = textOf(await harness.cluster.view(SESSION, at), RUN)
    expect(textOf(await harness.cluster.view(SESSION, end), RUN).startsWith(shown)).toBe(true)
    expect(textOf(await harness.cluster.view(SESSION), NEXT)).toBe(FULL_ANSWER)
  }
  expect(cuts).toBeGreaterThan(0)
})

/** The result of a run whose stop was withdrawn: the complete answer, unless it had ended. */
async function expectWholeOrStopped({ cluster, calls }: Harness, where: string): Promise<string> {
  const status = await cluster.waitForEnd(SESSION, RUN)
  await expectOneEnd(cluster, SESSION, RUN)
  const view = await cluster.view(SESSION)
  if (status === 'completed') expect(textOf(view, RUN), where).toBe(FULL_ANSWER)
  else expect(status, where).toBe('interrupted')
  // Committed calls were not repeated.
  for (const key of ['c1', 'c2']) {
    const entries = await cluster.entries(SESSION)
    const outputs = entries.filter(
      ({ chunk }) => chunk.type === 'tool-output-available' && chunk.toolCallId === key && !chunk.preliminary,
    )
    expect(outputs.length, where).toBeLessThanOrEqual(1)
  }
  const keys = new Set(calls.models.filter(key => key.startsWith(`${RUN}/`)))
  expect([...keys]).toEqual([`${SESSION}/${RUN}/${RUN}/1`, `${SESSION}/${RUN}/${RUN}/2`].slice(0, keys.size))
  return status
}

const interrupting = (harness: Harness) =>
  harness.server.runtime.start({
    session: SESSION,
    runId: NEXT,
    agent: 'agent:helper@1',
    input: 'And now?',
    whenBusy: 'interrupt-previous',
  })

test('a stop that is withdrawn at any call ends the run or lets it complete', async () => {
  const statuses = new Set<string>()
  for (const n of await instants(2)) {
    for (const later of [0, 1, 2]) {
      const harness = await Harness.open()
      let isOpen = false
      const driver = await harness.disturbed(n, async ({ connection }) => {
        isOpen = await harness.hasStarted(RUN)
        if (!isOpen) return
        await interrupting(harness)
        const takeBack = () => harness.server.runtime.stop(SESSION, NEXT)
        if (later === 0) await takeBack()
        else connection.before = async call => void (call.n === n + later && (await takeBack()))
      })
      if (!isOpen) continue
      statuses.add(await expectWholeOrStopped(harness, `call ${n}, ${later} later`))
      expect(driver.logged.filter(({ level }) => level === 'error')).toEqual([])
    }
  }
  expect([...statuses]).toContain('completed')
})

test('law 4: a stop that is withdrawn during a takeover leaves no drafts', async () => {
  const statuses = new Set<string>()
  for (const draft of ['text-delta', 'tool-output-available']) {
    for (const [come, leaveAt] of everyNth(moments(14, 5), STEP)) {
      const harness = await Harness.open()
      const owner = harness.driver()
      await harness.cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === draft)
      owner.kill()
      const nextProcess = harness.driver()
      let calls = 0
      nextProcess.connection.before = async ({ method }) => {
        if (method === 'due') return
        if (++calls === come && (await harness.cluster.manager.getInfo(SESSION))?.ticket.run)
          await interrupting(harness)
        if (calls === leaveAt) await harness.server.runtime.stop(SESSION, NEXT).catch(() => false)
      }
      statuses.add(await expectWholeOrStopped(harness, `${draft}, from call ${come} to ${leaveAt}`))
    }
  }
  expect([...statuses].sort()).toEqual(['completed', 'interrupted'])
})

/** Pairs of calls: an action before the first, and its reversal before the second. */
function moments(last: number, apart: number): readonly (readonly [number, number])[] {
  const from = Array.from({ length: last }, (_, index) => index + 1)
  return from.flatMap(come => Array.from({ length: apart }, (_, index) => [come, come + index + 1] as const))
}
