import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, scriptedModel, tool } from '../index.ts'
import { Session } from '../session/session.ts'
import { settled } from './clock.fixture.ts'
import { type Process, VirtualCluster } from './virtual-cluster.fixture.ts'

const RUNS = 20
const DAY = 24 * 3_600_000

const input = z.object({})
/** Calls that wait for a person, for a person with a day to answer, for a client, and in a sub-agent. */
const pay = tool({ name: 'pay', inputSchema: input, approval: true, execute: () => 'paid' })
const sell = tool({ name: 'sell', inputSchema: input, approval: { timeoutMs: DAY }, execute: () => 'sold' })
const look = tool({ name: 'look', inputSchema: input, client: true, timeoutMs: DAY })
const clerk = agent({
  name: 'clerk',
  tools: [pay],
  model: scriptedModel(({ turnAnswers }) =>
    turnAnswers === 0 ? { calls: [{ name: 'pay', input: {}, id: 'c3' }] } : { text: 'Paid.' },
  ),
})
const asking = agent({
  name: 'asking',
  tools: [sell, look],
  subAgents: [clerk],
  budget: { timeMs: DAY },
  model: scriptedModel(({ turnAnswers }) =>
    turnAnswers === 0
      ? {
          text: 'May I?',
          calls: [
            { name: 'sell', input: {}, id: 'c1' },
            { name: 'look', input: {}, id: 'c2' },
            { name: 'clerk', input: { prompt: 'pay' }, id: 'c4' },
          ],
        }
      : { text: ' Thanks.' },
  ),
})

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** How many objects are still there after garbage collection. */
async function held(...references: readonly (readonly WeakRef<object>[])[]): Promise<number[]> {
  for (let turn = 0; turn < 5; turn++) {
    await settled()
    collect()
  }
  return references.map(each => each.filter(reference => reference.deref() !== undefined).length)
}

/** Weak references to the writers and sessions that are opened from now on. */
function opened({ runtime }: Process): { writers: WeakRef<object>[]; sessions: WeakRef<object>[] } {
  const { manager } = runtime
  const [writers, sessions]: WeakRef<object>[][] = [[], []]
  const { createWriter } = manager
  manager.createWriter = async (...args) => {
    const writer = await createWriter.apply(manager, args)
    writers?.push(new WeakRef(writer))
    return writer
  }
  const { open } = Session
  Session.open = async (...args) => {
    const session = await open.apply(Session, args)
    sessions?.push(new WeakRef(session))
    return session
  }
  return { writers: writers as WeakRef<object>[], sessions: sessions as WeakRef<object>[] }
}

test('paused runs are only in the log: no watch, timer, lease, writer or session is left', async () => {
  const { open } = Session
  const cluster = new VirtualCluster()
  const process = cluster.process(() => [asking])
  const { runtime, connection, timers } = process
  try {
    const { writers, sessions } = opened(process)
    await cluster.clock.advance(1000)
    const before = { watches: connection.watches, timers: timers.pendingTimers.length }
    for (let n = 0; n < RUNS; n++) {
      const run = await runtime.start({ session: `s${n}`, runId: `r${n}`, agent: asking, input: 'Go.' })
      const { status, pendings } = await cluster.clock.until(run.result())
      expect({ status, waits: pendings.length }).toEqual({ status: 'paused', waits: 3 })
    }
    // The engine polls and finds nothing.
    await cluster.clock.advance(10_000)
    expect({ watches: connection.watches, timers: timers.pendingTimers.length }).toEqual(before)
    expect(await runtime.manager.due([asking.program], 100)).toEqual([])
    for (let n = 0; n < RUNS; n++) expect((await runtime.manager.getInfo(`s${n}`))?.lease).toBeNull()
    expect([writers.length, sessions.length]).toEqual([RUNS, RUNS])
    expect(await held(writers, sessions)).toEqual([0, 0])

    // The log suffices to continue.
    const [session, runId] = ['s7', 'r7']
    await runtime.answer(session, { kind: 'approval', id: `${runId}::c1`, approved: true })
    await runtime.answer(session, { kind: 'tool-result', id: 'c2', output: 'seen' })
    await runtime.answer(session, { kind: 'approval', id: `${runId}::c3`, approved: true })
    expect(await cluster.clock.until(runtime.run(session, runId).result())).toMatchObject({
      status: 'completed',
      text: 'May I? Thanks.',
    })
    expect(await runtime.status('s8')).toMatchObject({ status: 'paused' })
    await cluster.clock.advance(10_000)
    expect({ watches: connection.watches, timers: timers.pendingTimers.length }).toEqual(before)
    expect(await held(writers, sessions)).toEqual([0, 0])
  } finally {
    Session.open = open
  }
})
