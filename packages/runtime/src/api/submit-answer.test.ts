// How answers are submitted: validated once, serialized, and at low cost.

import { Memory, memoryStore } from '@millrace/log'
import type { Json } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../define/tool.ts'
import { caller, chunksOf } from '../execute/agent/run-to-end.fixture.ts'
import type { Answer, AnswerOptions } from './answer.ts'
import { approve, call, callsIn, counted, sendResult, startRun, validLog } from './pendings.fixture.ts'
import { codeOf, echo, gate, testRuntime } from './test-runtime.fixture.ts'

const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true })
const approval = (id: string, approved = true) => ({ kind: 'approval', id, approved }) as const

/** A run that waits for approvals of `c0`, `c1` and so on. */
async function clients(count: number, options: object = {}) {
  const pay = counted('pay', true)
  const calls = Array.from({ length: count }, (_, n) => call('pay', `c${n}`, { n }))
  const { agent: testAgent } = caller([pay.tool], calls)
  const begun = await startRun(testAgent, options)
  expect((await begun.run.result()).status).toBe('paused')
  return { ...begun, testAgent, ran: pay.ran }
}

/** The result of a run without pendings. */
async function ended({ run }: Awaited<ReturnType<typeof clients>>) {
  let result = await run.result()
  while (result.status === 'paused') result = await run.result()
  return result
}

describe('a confirmation of all approvals', () => {
  test('rejects a confirmation if none of its answers is accepted', async () => {
    const begun = await clients(3)
    const { runtime, ran } = begun
    const confirm = (approved: boolean, guest: string) =>
      codeOf(runtime.resume('s', 'r', { mode: 'with-confirmation', approved, guest }))
    const codes = await Promise.all([confirm(true, 'yes'), confirm(false, 'no')])
    expect(codes).toEqual(['none', 'answer_already_settled'])
    expect((await ended(begun)).status).toBe('completed')
    expect(ran.sort()).toEqual([0, 1, 2])
  })

  test('answers the rest if one approval is late, and rejects the confirmation if all are', async () => {
    let now = 1_000_000
    const memory = new Memory({ clock: () => now })
    const store = () => memoryStore(undefined, memory)
    const brief = tool({
      name: 'brief',
      inputSchema: z.object({}),
      approval: { rule: () => true, timeoutMs: 500 },
      execute: () => 'x',
    })
    const pay = counted('pay', true)
    const { agent: testAgent } = caller([brief, pay.tool], [call('brief', 'c1'), call('pay', 'c2', { n: 2 })])
    const { runtime, run } = await startRun(testAgent, { store: store() })
    await run.result()
    await runtime.close()
    // Longer than the time that the driver adds to the clock that it read last, also on a busy machine.
    now += 3_600_000
    const apiRuntime = testRuntime({ store: store(), engine: false })
    const confirm = () => codeOf(apiRuntime.resume('s', 'r', { mode: 'with-confirmation', approved: true }))
    expect(await confirm()).toBe('none')
    expect((await apiRuntime.view('s')).view.pendings.map(({ id }) => id)).toEqual(['r::c1'])
    expect(await confirm()).toBe('answer_late')
    testRuntime({ store: store(), agents: [testAgent] })
    expect((await apiRuntime.run('s', 'r').result()).status).toBe('completed')
    expect(await callsIn(apiRuntime)).toMatchObject({ c1: { state: 'output-denied' }, c2: { output: 'pay 2' } })
  })
})

test('appends once for each of several concurrent answers and claims', async () => {
  const memory = new Memory()
  const { runtime, testAgent } = await clients(40, { store: memoryStore(undefined, memory) })
  await runtime.close()
  const store = memoryStore(undefined, memory)
  let appends = 0
  const append = store.append.bind(store)
  store.append = (...args) => {
    appends++
    return append(...args)
  }
  const apiRuntime = testRuntime({ store, engine: false })
  await Promise.all(Array.from({ length: 40 }, (_, n) => approve(apiRuntime, `c${n}`)))
  expect(appends).toBe(40)
  testRuntime({ store, agents: [testAgent] })
  expect((await apiRuntime.run('s', 'r').result()).status).toBe('completed')
})

describe('an answer', () => {
  test('stores the validated copy of an answer, even if getters change', async () => {
    const city = tool({
      name: 'city',
      inputSchema: z.object({}),
      outputSchema: z.object({ city: z.string() }),
      client: true,
    })
    const { agent: testAgent } = caller([city], [call('city', 'c1')])
    const { runtime, run } = await startRun(testAgent)
    await run.result()
    let reads = 0
    const output = {
      get city() {
        return reads++ === 0 ? 'Ulm' : { evil: reads }
      },
    }
    await sendResult(runtime, 'c1', output as unknown as Json)
    expect((await run.result()).status).toBe('completed')
    expect((await callsIn(runtime))['c1']?.output).toEqual({ city: 'Ulm' })
    expect(reads).toBe(1)
  })

  test('rejects sparse arrays', async () => {
    const { agent: testAgent } = caller([locate], [call('locate', 'c1')])
    const { runtime, run } = await startRun(testAgent)
    await run.result()
    // biome-ignore lint/suspicious/noSparseArray: what is refused.
    expect(await codeOf(sendResult(runtime, 'c1', [, 1] as unknown as Json))).toBe('validation_failed')
    const odd = JSON.parse('{"__proto__":{"x":1},"a":null}') as Json
    await sendResult(runtime, 'c1', odd)
    await run.result()
    expect(JSON.stringify((await callsIn(runtime))['c1']?.output)).toBe('{"__proto__":{"x":1},"a":null}')
  })

  test('rejects a repeated answer with another input', async () => {
    const begun = await clients(1)
    const { runtime } = begun
    const first = await approve(runtime, 'c0', true, { input: { n: 0 } })
    for (const isEnded of [false, true]) {
      if (isEnded) await ended(begun)
      expect(await codeOf(approve(runtime, 'c0', true, { input: { n: 1000 } }))).toBe('answer_invalid')
      expect(await approve(runtime, 'c0', true, { input: { n: 0 } })).toEqual(first)
    }
  })

  test('recognizes a repeated answer whose run id is a prefix of another', async () => {
    const begun = await clients(1)
    const { runtime, testAgent } = begun
    await approve(runtime, 'c0')
    await ended(begun)
    const run = await runtime.start({ agent: testAgent, input: 'again', session: 's', runId: 'r::b' })
    const [{ id } = { id: '' }] = (await run.result()).pendings
    expect(id).toMatch(/^r::b::/)
    const first = await runtime.answer('s', approval(id))
    await run.result()
    expect(await runtime.answer('s', approval(id))).toEqual(first)
  })

  test('rejects an answer to an approved and running call, even after the ticket dropped it', async () => {
    const held = gate()
    const slow = tool({
      name: 'slow',
      inputSchema: z.object({}),
      approval: true,
      execute: () => held.opened.then(() => 'x'),
    })
    const pay = counted('pay', true)
    const calls = Array.from({ length: 40 }, (_, n) => call('pay', `c${n}`, { n }))
    const { agent: testAgent } = caller([slow, pay.tool], [call('slow', 'first'), ...calls])
    const { runtime, run } = await startRun(testAgent)
    await run.result()
    await approve(runtime, 'first')
    for (const { id } of calls) await approve(runtime, id)
    expect(await codeOf(approve(runtime, 'first', false))).toBe('answer_already_settled')
    expect(await codeOf(approve(runtime, 'never', false))).toBe('answer_unknown')
    held.open()
    let result = await run.result()
    while (result.status === 'paused') result = await run.result()
    expect(chunksOf(await validLog(runtime), 'tool-approval-response')).toHaveLength(41)
  })

  test('reads nothing for an answer without a pending, if nothing was settled', async () => {
    const memory = new Memory()
    const driver = testRuntime({ store: memoryStore(undefined, memory), agents: [echo] })
    for (let n = 0; n < 3; n++) await (await driver.start({ session: 's', agent: echo, input: 'hi' })).result()
    const store = memoryStore(undefined, memory)
    let batches = 0
    const read = store.read.bind(store)
    store.read = async (...args) => {
      const page = await read(...args)
      batches += page?.batches.length ?? 0
      return page
    }
    const apiRuntime = testRuntime({ store, agents: [echo], engine: false })
    const answers: Answer[] = [
      approval('x::y'),
      approval('x::y::z'),
      { ...approval('x::y'), input: {} },
      { kind: 'tool-result', id: 'x', output: 1 },
      { kind: 'interrupt', id: 'x', response: 1 },
    ]
    for (const answer of answers) expect(await codeOf(apiRuntime.answer('s', answer))).toBe('answer_unknown')
    expect(await codeOf(apiRuntime.claim('s', 'x', { forMs: 10 }))).toBe('answer_unknown')
    expect(batches).toBe(0)
  })

  test('rejects answers and claims after the runtime is closed', async () => {
    const { runtime } = await clients(1)
    await runtime.close()
    expect(await codeOf(approve(runtime, 'c0'))).toBe('runtime_closed')
    expect(await codeOf(runtime.claim('s', 'c0', { forMs: 10 }))).toBe('runtime_closed')
    expect(await codeOf(runtime.resume('s', 'r', { mode: 'with-confirmation', approved: true }))).toBe('runtime_closed')
  })

  test('rejects principal: undefined in answers and claims', async () => {
    const { runtime } = await clients(1)
    for (const principal of [undefined, null, 7]) {
      const options = { principal } as unknown as AnswerOptions
      expect(await codeOf(runtime.answer('s', approval('r::c0'), options))).toBe('validation_failed')
      expect(await codeOf(runtime.claim('s', 'c0', { forMs: 10, ...options }))).toBe('validation_failed')
    }
  })
})

test('rejects invalid claims', async () => {
  const { agent: testAgent } = caller([locate], [call('locate', 'c1')])
  const { runtime, run } = await startRun(testAgent)
  await run.result()
  for (const forMs of [0, -1, 1.5, Number.NaN, '5', null, undefined, 10n, Symbol('x'), {}]) {
    expect(await codeOf(runtime.claim('s', 'c1', { forMs: forMs as number }))).toBe('validation_failed')
  }
  for (const id of [null, undefined, 7, 1n, Symbol('x'), {}]) {
    expect(await codeOf(runtime.claim('s', id as string, { forMs: 10 }))).toBe('validation_failed')
    expect(await codeOf(runtime.claim(id as string, 'c1', { forMs: 10 }))).toBe('validation_failed')
  }
  for (const by of [null, 7, 1n, Symbol('x')]) {
    expect(await codeOf(runtime.claim('s', 'c1', { forMs: 10, by: by as unknown as string }))).toBe('validation_failed')
  }
})
