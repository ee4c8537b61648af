import { type LogStore, Memory, memoryStore } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../define/agent.ts'
import { tool } from '../define/tool.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { SNAPSHOT_MIN_ENTRIES } from '../session/snapshots.ts'
import { codeOf, testRuntime } from './test-runtime.fixture.ts'

/** Reads through a store. */
interface Reads {
  entries: number
  snapshots: number
}

/** A store that counts reads. */
function readStore(store: LogStore): { store: LogStore; takeReads: () => Reads } {
  let reads: Reads = { entries: 0, snapshots: 0 }
  const counting: Partial<LogStore> = {
    async read(...args) {
      const page = await store.read(...args)
      for (const { first, last } of page?.batches ?? []) reads.entries += last - first + 1
      return page
    },
    async getSnapshot(...args) {
      const found = await store.getSnapshot(...args)
      if (found) reads.snapshots++
      return found
    },
  }
  const counted = new Proxy(store, {
    get(target, key) {
      const value = Reflect.get(counting, key) ?? Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const takeReads = () => {
    const before = reads
    reads = { entries: 0, snapshots: 0 }
    return before
  }
  return { store: counted, takeReads }
}

const brief = agent({
  name: 'brief',
  trimHistory: messages => messages.slice(-1),
  model: scriptedModel(({ lastText }) => ({ text: `you said ${lastText}` })),
})

test('reads the same amount for a turn, however many turns precede it', async () => {
  const memory = new Memory()
  const asking = readStore(memoryStore(undefined, memory))
  const driving = readStore(memoryStore(undefined, memory))
  const server = testRuntime({ store: asking.store, engine: false })
  testRuntime({ store: driving.store, agents: [brief], engine: { pollMs: 1, graceMs: 0 } })
  const turns: { readonly requestReads: Reads; readonly drove: Reads; readonly entryCount: number }[] = []
  for (let turn = 1; turn <= 250; turn++) {
    const run = await server.start({ session: 's', agent: brief, input: 'hello' })
    let entryCount = 0
    for await (const _ of run.stream()) entryCount++
    expect((await run.result()).text).toBe('you said hello')
    turns.push({ requestReads: asking.takeReads(), drove: driving.takeReads(), entryCount })
  }
  for (const turn of [50, 250]) {
    const { requestReads, entryCount } = turns[turn - 1] as (typeof turns)[number]
    expect(requestReads.snapshots).toBe(0)
    expect(requestReads.entries).toBeLessThanOrEqual(3 * entryCount)
  }
  // The driver caches the session. Only turns that take a snapshot read the entries since the last one.
  const isLarge = ({ drove, entryCount }: (typeof turns)[number]) =>
    drove.snapshots > 0 || drove.entries > 4 * entryCount
  const { head = 0 } = (await server.manager.getInfo('s')) ?? {}
  expect(turns.filter(isLarge).length).toBeLessThanOrEqual(1 + head / SNAPSHOT_MIN_ENTRIES)
  for (const { drove, entryCount } of turns) {
    expect(drove.snapshots).toBeLessThanOrEqual(1)
    expect(drove.entries).toBeLessThanOrEqual(2 * (SNAPSHOT_MIN_ENTRIES + 4 * entryCount))
  }
})

test('reads the same amount for a turn with a message id, however many turns precede it', async () => {
  const { store, takeReads } = readStore(memoryStore(undefined, new Memory()))
  const server = testRuntime({ store, agents: [brief], engine: { pollMs: 1, graceMs: 0 } })
  const reads: number[] = []
  for (let turn = 1; turn <= 100; turn++) {
    const run = await server.start({ session: 's', agent: brief, input: 'hello', messageId: `m${turn}` })
    await run.result()
    const { view } = await server.view('s')
    expect(view.messages.length).toBe(2 * turn)
    const { entries, snapshots } = takeReads()
    expect(snapshots).toBe(0)
    reads.push(entries)
  }
  const maxReads = (from: number, to: number) => Math.max(...reads.slice(from, to))
  expect(maxReads(80, 100)).toBeLessThanOrEqual(2 * maxReads(5, 25))
  // A used message id is still detected.
  await expect(server.start({ session: 's', agent: brief, input: 'hello', messageId: 'm7' })).rejects.toThrow('m7')
})

describe('reads of an answer', () => {
  const input = { amount: 5 }
  const payer = agent({
    name: 'payer',
    tools: [
      tool({ name: 'pay', inputSchema: z.object({ amount: z.number() }), approval: true, execute: () => 'paid' }),
      tool({ name: 'look', inputSchema: z.object({}), client: true }),
    ],
    model: scriptedModel(({ turnAnswers }) =>
      turnAnswers === 0
        ? {
            calls: [
              { name: 'pay', input, id: 'c::1' },
              { name: 'look', input: {}, id: 'c::2' },
            ],
          }
        : { text: 'Done.' },
    ),
  })

  /** A waiting session, and a server that drives nothing. */
  async function paused() {
    const memory = new Memory()
    const driver = testRuntime({ store: memoryStore(undefined, memory), agents: [payer] })
    await (await driver.start({ session: 's', agent: payer, runId: 'a::r', input: 'go' })).result()
    await driver.close()
    const { store, takeReads } = readStore(memoryStore(undefined, memory))
    return { server: testRuntime({ store, agents: [payer], engine: false }), takeReads }
  }

  test('does not read the session for an answer that needs no comparison', async () => {
    const { server, takeReads } = await paused()
    const { sequence } = await server.answer('s', { kind: 'approval', id: 'a::r::c::1', approved: true })
    await server.answer('s', { kind: 'tool-result', id: 'c::2', output: 'seen' })
    expect(takeReads()).toEqual({ entries: 0, snapshots: 0 })
    // Settled calls do not disambiguate the id.
    const again = await server.answer('s', { kind: 'approval', id: 'a::r::c::1', approved: true })
    expect(again).toEqual({ sequence })
    expect(takeReads().entries).toBeGreaterThan(0)
    testRuntime({ store: server.manager.store, agents: [payer] })
    expect(await server.run('s', 'a::r').result()).toMatchObject({ status: 'completed', text: 'Done.' })
  })

  test('reads the session for an answer with an input', async () => {
    const { server, takeReads } = await paused()
    const approval = { kind: 'approval', id: 'a::r::c::1', approved: true } as const
    expect(await codeOf(server.answer('s', { ...approval, input: { amount: 6 } }))).toBe('answer_invalid')
    expect(takeReads().entries).toBeGreaterThan(0)
    await server.answer('s', { ...approval, input })
  })
})
