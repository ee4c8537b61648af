import { expect, test } from 'vitest'
import { z } from 'zod'
import { gate } from '../api/test-runtime.fixture.ts'
import { callsOf, expectOneEnd, VirtualCluster } from '../drive/virtual-cluster.fixture.ts'
import { agent, scriptedModel, tool } from '../index.ts'
import { StoreClock } from './store-clock.ts'

const TIMEOUT = 1500

/** A call that waits for approval until a deadline, and two that run until they are released. */
function setUp() {
  const [first, second] = [gate(), gate()]
  const input = z.object({})
  const pay = tool({ name: 'pay', inputSchema: input, approval: { timeoutMs: TIMEOUT }, execute: () => 'paid' })
  const work = tool({ name: 'work', inputSchema: input, execute: () => first.opened })
  const stay = tool({ name: 'stay', inputSchema: input, execute: () => second.opened })
  const tools = [pay, work, stay]
  const calls = tools.map(({ name }) => ({ name, input: {}, id: name }))
  const testAgent = agent({ name: 'own', tools, model: scriptedModel([{ calls }, { text: 'Done.' }]) })
  const cluster = new VirtualCluster()
  const { runtime, connection, timers } = cluster.process(() => [testAgent])
  const start = async () => {
    await runtime.start({ session: 's', runId: 'r', agent: testAgent, input: 'Go.' })
    const { timestamp } = await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'tool-approval-request')
    return timestamp + TIMEOUT
  }
  const state = async () => callsOf(await cluster.view('s'), 'r').find(({ toolCallId }) => toolCallId === 'pay')?.state
  return { cluster, connection, timers, runtime, start, state, first, second }
}

/** Fails if the store is called too often. */
function bounded(connection: ReturnType<typeof setUp>['connection'], max: number): void {
  const until = connection.calls + max
  connection.before = () => {
    if (connection.calls > until) throw new Error(`more than ${max} calls of the store`)
  }
}

test('returns the last store time plus the local time since', () => {
  let now = 70
  const clock = new StoreClock({ now: () => now, after: () => () => {} }, 1000)
  now += 5
  expect(clock.now()).toBe(1005)
  clock.update(1400)
  expect(clock.now()).toBe(1400)
  // It does not go back on its own.
  now -= 10
  expect(clock.now()).toBe(1400)
  clock.update(1300)
  now += 1
  expect(clock.now()).toBe(1301)
})

test('settles at the deadline without polling if the local clock is behind the store', async () => {
  const { cluster, connection, timers, start, state, first, second } = setUp()
  const deadline = await start()
  timers.behindMs = 600
  await cluster.clock.advance(deadline + 100 - cluster.clock.now())
  bounded(connection, 60)
  first.open()
  second.open()
  expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
  expect(cluster.clock.now()).toBeLessThan(deadline + 600)
  expect(await state()).toBe('output-denied')
  await expectOneEnd(cluster, 's', 'r')
})

test('settles nothing before the deadline, and accepts answers until then, if the local clock is ahead of the store', async () => {
  const { cluster, connection, timers, runtime, start, state, first, second } = setUp()
  const deadline = await start()
  timers.behindMs = -TIMEOUT
  bounded(connection, 60)
  // The deadline has passed by the local clock.
  first.open()
  await cluster.clock.advance(deadline - 200 - cluster.clock.now())
  expect(await state()).toBe('approval-requested')
  await runtime.answer('s', { kind: 'approval', id: 'r::pay', approved: true })
  await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'tool-output-available' && chunk.toolCallId === 'pay')
  expect(cluster.clock.now()).toBeLessThan(deadline)
  second.open()
  expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
})
