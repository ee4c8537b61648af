import { expect, test } from 'vitest'
import { z } from 'zod'
import { gate } from '../api/test-runtime.fixture.ts'
import { callsOf, expectOneEnd, VirtualCluster } from '../drive/virtual-processes.fixture.ts'
import { agent, scriptedModel, tool } from '../index.ts'
import { StoreClock } from './store-clock.ts'

const TIMEOUT = 1500

/** A call that waits for a person until a deadline, beside two that work until they are let go. */
function setUp() {
  const [first, second] = [gate(), gate()]
  const input = z.object({})
  const pay = tool({ name: 'pay', inputSchema: input, approval: { timeout: TIMEOUT }, execute: () => 'paid' })
  const work = tool({ name: 'work', inputSchema: input, execute: () => first.opened })
  const stay = tool({ name: 'stay', inputSchema: input, execute: () => second.opened })
  const tools = [pay, work, stay]
  const calls = tools.map(({ name }) => ({ name, input: {}, id: name }))
  const own = agent({ name: 'own', tools, model: scriptedModel([{ calls }, { text: 'Done.' }]) })
  const stage = new VirtualCluster()
  const { runtime, wire, timers } = stage.process(() => [own])
  const start = async () => {
    await runtime.start({ session: 's', runId: 'r', agent: own, input: 'Go.' })
    const { timestamp } = await stage.seen('s', ({ chunk }) => chunk.type === 'tool-approval-request')
    return timestamp + TIMEOUT
  }
  const state = async () => callsOf(await stage.view('s'), 'r').find(({ toolCallId }) => toolCallId === 'pay')?.state
  return { stage, wire, timers, runtime, start, state, first, second }
}

/** Lets nobody ask the store for ever. */
function bounded(wire: ReturnType<typeof setUp>['wire'], most: number): void {
  const until = wire.calls + most
  wire.before = () => {
    if (wire.calls > until) throw new Error(`more than ${most} calls of the store`)
  }
}

test('it is what the store said last, and what has passed since', () => {
  let now = 70
  const clock = new StoreClock({ now: () => now, after: () => () => {} }, 1000)
  now += 5
  expect(clock.now()).toBe(1005)
  clock.update(1400)
  expect(clock.now()).toBe(1400)
  // It does not go back by itself.
  now -= 10
  expect(clock.now()).toBe(1400)
  clock.update(1300)
  now += 1
  expect(clock.now()).toBe(1301)
})

test('who is behind the store’s clock sees at its deadline that it has passed, and does not ask again and again', async () => {
  const { stage, wire, timers, start, state, first, second } = setUp()
  const deadline = await start()
  timers.behindMs = 600
  await stage.clock.advance(deadline + 100 - stage.clock.now())
  bounded(wire, 60)
  first.open()
  second.open()
  expect(await stage.ended('s', 'r')).toBe('completed')
  expect(stage.clock.now()).toBeLessThan(deadline + 600)
  expect(await state()).toBe('output-denied')
  await expectOneEnd(stage, 's', 'r')
})

test('who is ahead of the store’s clock settles nothing before its deadline, and hears answers until then', async () => {
  const { stage, wire, timers, runtime, start, state, first, second } = setUp()
  const deadline = await start()
  timers.behindMs = -TIMEOUT
  bounded(wire, 60)
  // Who looks now thinks that the time is over.
  first.open()
  await stage.clock.advance(deadline - 200 - stage.clock.now())
  expect(await state()).toBe('approval-requested')
  await runtime.answer('s', { kind: 'approval', id: 'r::pay', approved: true })
  await stage.seen('s', ({ chunk }) => chunk.type === 'tool-output-available' && chunk.toolCallId === 'pay')
  expect(stage.clock.now()).toBeLessThan(deadline)
  second.open()
  expect(await stage.ended('s', 'r')).toBe('completed')
})
