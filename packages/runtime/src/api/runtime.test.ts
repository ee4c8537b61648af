import { memoryStore } from '@millrace/log'
import type { Json } from '@millrace/protocol'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { type Agent, agent, createRuntime, type RuntimeOptions, scriptedModel, tool } from '../index.ts'
import {
  codeOf,
  countedStore,
  echo,
  gate,
  logOf,
  patient,
  quiet,
  testRuntime,
  typesOf,
  until,
} from './test-runtime.fixture.ts'

const weather = tool({
  name: 'weather',
  description: 'The weather in a city',
  inputSchema: z.object({ city: z.string() }),
  async *execute({ city }, context) {
    yield { city, celsius: 0 }
    context.emit('note', { city })
    context.updateState(state => ({ ...(state as object), city }))
    return { city, celsius: 21 }
  },
})

test('runs an agent that calls its tools and answers, and logs every step', async () => {
  const helper = agent({
    name: 'helper',
    model: scriptedModel([
      {
        reasoning: 'I must look.',
        text: 'Let me see.',
        calls: [
          { name: 'weather', input: { city: 'Ulm' } },
          { name: 'weather', input: { city: 'Bonn' } },
        ],
      },
      { text: 'It is warm in Ulm.' },
    ]),
    instructions: 'Be brief.',
    tools: [weather],
    initialState: {},
  })
  const runtime = testRuntime({ agents: [helper] })
  const run = await runtime.start({ agent: helper, input: 'How warm is it?', session: 's' })
  const types: string[] = []
  for await (const { chunk } of run.stream()) types.push(chunk.type)
  const result = await run.result()
  expect(result).toMatchObject({ status: 'completed', text: 'Let me see.It is warm in Ulm.' })
  const { view } = await runtime.view('s')
  expect(view.state).toEqual({ city: 'Bonn' })
  expect(types.at(0)).toBe('run-started')
  expect(types.at(-1)).toBe('run-finished')
})

test('infers the output of a run from its agent', async () => {
  const total = agent({
    name: 'total',
    model: scriptedModel([{ text: '{"total":3}' }]),
    outputSchema: z.object({ total: z.number() }),
  })
  const runtime = testRuntime({ agents: [total, echo] })
  const { output } = await (await runtime.start({ agent: total, input: 'add' })).result()
  expectTypeOf(output).toEqualTypeOf<{ total: number } | undefined>()
  expect(output?.total).toBe(3)
  const byName = await (await runtime.start({ agent: 'total', input: 'add' })).result()
  expectTypeOf(byName.output).toEqualTypeOf<unknown>()
  expect(byName.output).toEqual({ total: 3 })
})

describe('options of createRuntime', () => {
  const store = memoryStore()
  const wrong: readonly (readonly [string, object])[] = [
    ['store', { store: undefined }],
    ['store', { store: Promise.resolve(store) }],
    [
      'expected different names, found echo twice',
      { agents: [echo, agent({ name: 'echo', version: '2', model: scriptedModel([]) })] },
    ],
    ['agents', { agents: [{ name: 'no agent' }] }],
    ['maxTakeovers', { maxTakeovers: -1 }],
    ['blockedAfterMs', { blockedAfterMs: Number.NaN }],
    ['engine.pollMs', { engine: { pollMs: 0 } }],
    ['engine.concurrency', { engine: { concurrency: 0 } }],
    ['engine.graceMs', { engine: { graceMs: 1.5 } }],
    ['retention: expected an object', { retention: 5 }],
    ['retention: expected at least one of idleMs, maxAgeMs, maxEntries', { retention: {} }],
    ['retention: expected only idleMs, maxAgeMs, maxEntries, found "days"', { retention: { days: 5 } }],
    ['retention.idleMs: expected a whole number of at least 1, found 0', { retention: { idleMs: 0 } }],
    ['retention.maxAgeMs: expected a whole number of at least 1, found a string', { retention: { maxAgeMs: '5' } }],
    ['retention.maxEntries', { retention: { idleMs: 1, maxEntries: 1.5 } }],
    ['listOldest', { retention: { idleMs: 1 }, store: { append() {} } }],
  ]
  test.each(wrong)('rejects an invalid option: %s', (name, options) => {
    const create = () => createRuntime({ store, engine: false, ...options } as RuntimeOptions)
    expect(create).toThrow(
      expect.objectContaining({ code: 'validation_failed', message: expect.stringContaining(name) }),
    )
  })
})

describe('an agent', () => {
  test('finds an agent by name or program, and creates no session for an unknown one', async () => {
    const runtime = testRuntime({ agents: [echo] })
    expect((await (await runtime.start({ agent: 'echo', input: 'a' })).result()).text).toBe('0: a')
    const error = await runtime.start({ agent: 'missing', input: 'a', session: 's' }).catch(error => error)
    expect(error).toMatchObject({ name: 'RunError', code: 'program_unknown', message: expect.stringContaining('echo') })
    expect(await codeOf(runtime.view('s'))).toBe('session_unknown')
    // A program that only workers have.
    const run = await runtime.start({ agent: 'agent:elsewhere@2', input: 'a', session: 's' })
    expect((await runtime.view('s')).view.requests).toMatchObject([{ runId: run.runId, status: 'waiting' }])
  })

  test('creates no session for an invalid request', async () => {
    const runtime = testRuntime({ agents: [echo] })
    const request = { agent: echo, input: 'a', session: 's' }
    const wrong: readonly object[] = [
      { whenBusy: 'sometimes' },
      { runId: '' },
      { guest: '' },
      { input: { parts: [{ type: 'text' }] } },
      { session: '' },
    ]
    for (const more of wrong) {
      expect([more, await codeOf(runtime.start({ ...request, ...more }))]).toEqual([more, 'validation_failed'])
    }
    expect(await codeOf(runtime.view('s'))).toBe('session_unknown')
  })
})

describe('a session', () => {
  test('law 10: returns the public view and the ticket of a session', async () => {
    const runtime = testRuntime({ agents: [echo] })
    const context: Json = { tenant: 'x' }
    await (await runtime.start({ agent: echo, input: 'a', session: 's', context })).result()
    const { view, ticket } = await runtime.view('s')
    expect(view).not.toHaveProperty('internal')
    expect(view.head).toBe((await logOf(runtime, 's')).length)
    expect(ticket).toMatchObject({ run: null, requests: [], last: { status: 'completed' } })
    expect(await codeOf(runtime.view('nowhere'))).toBe('session_unknown')
  })

  test('returns the state of a session', async () => {
    const held = gate()
    const testAgent = patient(held)
    const store = memoryStore()
    const server = testRuntime({ store, engine: false })
    expect(await codeOf(server.status('s'))).toBe('session_unknown')
    const run = await server.start({ agent: testAgent, input: 'a', session: 's' })
    expect(await server.status('s')).toEqual({ status: 'waiting' })
    const driver = testRuntime({ store, agents: [testAgent] })
    await until(run, 'text-delta')
    expect(await server.status('s')).toEqual({ status: 'running' })
    held.open()
    await run.result()
    // The driver has released it.
    await driver.close()
    expect(await server.status('s')).toEqual({ status: 'idle' })
    const writer = await server.manager.createWriter('p', { runId: 'r', agentType: 'a' })
    await writer.begin()
    await server.manager.pauseStream('p')
    await writer.close()
    expect(await server.status('p')).toEqual({ status: 'paused' })
  })
})

describe('closing a runtime', () => {
  const agents = (testAgent: Agent): readonly Agent[] => [testAgent, echo]

  test('releases all watches, and can be closed again', async () => {
    const { store, watches } = countedStore()
    const runtime = createRuntime({ store, agents: [echo], logger: quiet })
    await (await runtime.start({ agent: echo, input: 'a', session: 's' })).result()
    await Promise.all([runtime.close(), runtime.close()])
    await runtime.close()
    expect(watches()).toBe(0)
    await createRuntime({ store, engine: false }).close()
  })

  test('hands over an active run, and readers see its end', async () => {
    const held = gate()
    const testAgent = patient(held)
    const runtime = testRuntime({ agents: agents(testAgent), engine: { graceMs: 0 } })
    const run = await runtime.start({ agent: testAgent, input: 'a', session: 's' })
    await until(run, 'text-delta')
    const result = run.result()
    await Promise.all([runtime.close(), runtime.close()])
    expect((await runtime.manager.getInfo('s'))?.lease).toBeNull()
    expect((await runtime.view('s')).ticket.run).toMatchObject({ runId: run.runId })
    held.open()
    testRuntime({ store: runtime.manager.store, agents: agents(testAgent) })
    expect(await result).toMatchObject({ status: 'completed', text: 'one two' })
    expect(typesOf(await logOf(runtime, 's')).filter(type => type === 'run-finished')).toHaveLength(1)
  })

  test('rejects further requests; existing runs can be read and stopped', async () => {
    for (const engine of [{ pollMs: 10 }, false] as const) {
      const runtime = testRuntime({ store: memoryStore(), agents: [echo], engine })
      const waits = await runtime.start({ agent: 'agent:elsewhere@1', input: 'a', session: 's', messageId: 'm' })
      await runtime.close()
      const request = { agent: echo, input: 'a', whenBusy: 'queue' } as const
      for (const more of [{}, { session: 's' }, { session: 'new', messageId: 'n' }]) {
        const error = await runtime.start({ ...request, ...more }).catch(error => error)
        expect(error).toMatchObject({ code: 'runtime_closed' })
      }
      expect(await codeOf(runtime.view('new'))).toBe('session_unknown')
      expect((await runtime.view('s')).view.requests).toHaveLength(1)
      expect(await waits.stop()).toBe(true)
    }
  })
})
