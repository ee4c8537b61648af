// The bugs that were found in the design of the Helix pages, by number. Those that can exist here have a test: in this
// file for runs and sessions, in helix.tools.test.ts for tools, models and errors, in helix.people.test.ts for
// approvals, client tools and sub-agents. The others:
// 1 the HTTP status of an answer of the wrong kind is tested in the server
// 14 there are no remote children: a stop is an entry in the log of all agents of a run, not a message that is sent
// once
// 19 chunks with unknown keys are tested in the dialects; the log's writer validates chunks against the catalogue

import { Memory, memoryStore, StreamManager, systemTimers, type Timers } from '@millrace/log'
import { foldLog } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Runtime } from './api/runtime.ts'
import {
  codeOf,
  echo,
  gate,
  logOf,
  patient,
  sqliteStores,
  testRuntime,
  textsOf,
  typesOf,
  until,
} from './api/test-runtime.fixture.ts'
import { agent } from './define/agent.ts'
import { tool } from './define/tool.ts'
import { scriptedModel } from './model/scripted-model.ts'

/** Runs an action after the runtime has read a session and before it requests a run. */
function afterNextLook(runtime: Runtime, happen: () => Promise<unknown>): void {
  const { manager } = runtime
  const view = manager.view.bind(manager)
  manager.view = async (...args) => {
    manager.view = view
    const seen = await view(...args)
    await happen()
    return seen
  }
}

/** A session whose run `r1` was stopped after its first text. Other agents answer at once. */
async function interrupted() {
  const held = gate()
  const testAgent = patient(held)
  const runtime = testRuntime({ agents: [testAgent, echo] })
  const run = await runtime.start({ agent: testAgent, input: 'hi', session: 's', runId: 'r1' })
  await until(run, 'text-delta')
  await run.stop()
  await run.result()
  held.open()
  return runtime
}

/** An agent that counts in the state in each step and then answers. It records its prompts. */
function counting() {
  const prompts: string[] = []
  const count = tool({
    name: 'count',
    inputSchema: z.object({}),
    execute(_, { updateState }) {
      updateState(state => ({ n: ((state as { n?: number } | undefined)?.n ?? 0) + 1 }))
      return 'counted'
    },
  })
  const model = scriptedModel(({ options, key }) => {
    prompts.push(JSON.stringify(options.prompt))
    const step = Number(key.split('/').at(-1))
    return step < 3 ? { text: `step ${step}. `, calls: [{ name: 'count', input: {} }] } : { text: 'done' }
  })
  return { prompts, counter: agent({ name: 'counter', model, tools: [count] }) }
}

describe('a request is decided on the current session', () => {
  test('rejects a stale resume after another run has finished (Helix 2)', async () => {
    const runtime = await interrupted()
    afterNextLook(runtime, async () => (await runtime.start({ agent: echo, input: 'new', session: 's' })).result())
    expect(await codeOf(runtime.resume('s', 'r1'))).toBe('run_not_resumable')
    expect(await textsOf(runtime, 's')).toEqual(['hi', 'one ', 'new', '1: new'])
  })

  test('a stale retry does not remove a finished turn (Helix 2)', async () => {
    const runtime = await interrupted()
    // It refers to the run that was the latest when it was read.
    afterNextLook(runtime, async () => (await runtime.retry('s', 'r1', { runId: 'r2' })).result())
    expect(await codeOf(runtime.retry('s'))).toBe('run_cut_refused')
    const { view } = await runtime.view('s')
    expect(view.runs.map(({ runId, status }) => [runId, status])).toEqual([
      ['r1', 'interrupted'],
      ['r2', 'completed'],
    ])
    expect(await textsOf(runtime, 's')).toEqual(['hi', 'one two'])
  })

  test('a stale retry or resume removes no turn that its requester did not see (Helix 2)', async () => {
    const runtime = testRuntime({ agents: [echo] })
    await (await runtime.start({ agent: echo, input: 'a', session: 's', runId: 'r1', messageId: 'm1' })).result()
    const asks = [
      () => runtime.retry('s', 'r1'),
      () => runtime.edit('s', 'm1', 'A'),
      () => runtime.resume('s', 'r1', { mode: 'from-checkpoint', checkpointId: 'r1/main/1' }),
    ]
    for (const [index, ask] of asks.entries()) {
      afterNextLook(runtime, async () =>
        (await runtime.start({ agent: echo, input: `${index}`, session: 's' })).result(),
      )
      expect(await codeOf(ask())).toBe('run_overtaken')
    }
    expect(await textsOf(runtime, 's')).toEqual(['a', '0: a', '0', '1: 0', '1', '2: 1', '2', '3: 2'])
    // A change of the ticket without a new run is only read again.
    afterNextLook(runtime, async () => {
      const run = await runtime.start({ agent: 'agent:elsewhere@1', input: 'x', session: 's' })
      await run.stop()
    })
    await (await runtime.retry('s', 'r1')).result()
    expect(await textsOf(runtime, 's')).toEqual(['a', '0: a'])
  })

  test('a stop applies to its run only, from any process (Helix 16)', async () => {
    const held = gate()
    const testAgent = patient(held)
    const driver = testRuntime({ agents: [testAgent] })
    const server = testRuntime({ store: driver.manager.store, engine: false })
    const first = await server.start({ agent: testAgent, input: 'a', session: 's', runId: 'r1' })
    await until(first, 'text-delta')
    expect(await server.stop('s', 'r1')).toBe(true)
    expect((await first.result()).status).toBe('interrupted')
    const second = await server.start({ agent: testAgent, input: 'b', session: 's', runId: 'r2' })
    await until(second, 'text-delta')
    // A late stop applies to the run that it names, which has ended.
    expect(await driver.stop('s', 'r1', { guest: 'bob', mode: 'abort' })).toBe(false)
    held.open()
    expect((await second.result()).status).toBe('completed')
  })
})

describe('the end of a run', () => {
  test('has an explicit status (Helix 3)', async () => {
    const runtime = await interrupted()
    const broken = agent({ name: 'broken', model: scriptedModel([]), maxRetries: 0 })
    const other = testRuntime({ store: runtime.manager.store, agents: [broken] })
    await (await other.start({ agent: broken, input: 'x', session: 's' })).result()
    const ends = (await logOf(runtime, 's')).flatMap(({ chunk }) =>
      chunk.type === 'run-finished' ? [chunk.status] : [],
    )
    expect(ends).toEqual(['interrupted', 'failed'])
    expect((await runtime.run('s', 'r1').result()).status).toBe('interrupted')
  })

  test('is not a success if the stream is cut off (Helix 4)', async () => {
    const testAgent = patient(gate())
    const runtime = testRuntime({ agents: [testAgent] })
    const run = await runtime.start({ agent: testAgent, input: 'hi', session: 's' })
    await until(run, 'text-delta')
    const result = run.result()
    const read = (async () => {
      for await (const { chunk } of run.stream()) if (chunk.type === 'run-finished') return 'ended'
      return 'left off'
    })()
    await runtime.manager.deleteStream('s')
    await expect(read).rejects.toThrow()
    await expect(result).rejects.toThrow()
  })

  test('keeps the shown reply and no uncommitted state after a stop (Helix 21)', async () => {
    const running = gate()
    const write = tool({
      name: 'write',
      inputSchema: z.object({}),
      async execute(_, { updateState }) {
        updateState(() => ({ wrote: true }))
        running.open()
        await new Promise(() => {})
      },
    })
    const model = scriptedModel([{ text: 'I write it down.', calls: [{ name: 'write', input: {} }] }])
    const testAgent = agent({ name: 'writer', model, tools: [write], initialState: { wrote: false } })
    const runtime = testRuntime({ agents: [testAgent] })
    const run = await runtime.start({ agent: testAgent, input: 'hi', session: 's' })
    await running.opened
    await run.stop()
    expect(await run.result()).toMatchObject({ status: 'interrupted', text: 'I write it down.' })
    expect((await runtime.view('s')).view.state).toEqual({ wrote: false })
  })
})

describe('committed content stays, and nothing is duplicated', () => {
  test('a fenced driver writes nothing beside its successor (Helix 5)', async () => {
    const [firstGate, yours] = [gate(), gate()]
    const zombie = patient(firstGate)
    // It does not renew its lease, and does not notice that the store's time has advanced.
    const timers: Timers = {
      now: systemTimers.now,
      after: (ms, call, isIdle) => (ms < 50 ? systemTimers.after(ms, call, isIdle) : () => {}),
    }
    let asleepMs = 0
    const store = memoryStore(undefined, new Memory({ clock: () => Date.now() + asleepMs }))
    const dead = testRuntime({ store, agents: [zombie], timers, log: { leaseMs: 60_000 } })
    const firstRun = await dead.start({ agent: zombie, input: 'hi', session: 's', runId: 'r' })
    await until(firstRun, 'text-delta')
    asleepMs = 120_000
    const nextAgent = patient(yours)
    const runtime = testRuntime({ store, agents: [nextAgent] })
    const run = runtime.run('s', 'r')
    await until(run, 'executor-superseded')
    yours.open()
    expect((await run.result()).text).toBe('one two')
    const before = await logOf(runtime, 's')
    firstGate.open()
    await dead.close()
    expect(await logOf(runtime, 's')).toEqual(before)
    expect(await textsOf(runtime, 's')).toEqual(['hi', 'one two'])
  })

  test('a takeover keeps earlier turns with any number of steps (Helix 7)', async () => {
    const { counter } = counting()
    const held = gate()
    const testAgent = patient(held)
    const runtime = testRuntime({ agents: [counter, testAgent] })
    for (let i = 0; i < 2; i++) await (await runtime.start({ agent: counter, input: 'go', session: 's' })).result()
    const before = await textsOf(runtime, 's')
    // Its first step, where the earlier turns had three.
    const run = await runtime.start({ agent: testAgent, input: 'hi', session: 's', runId: 'r' })
    await until(run, 'text-delta')
    await runtime.close()
    held.open()
    const nextRuntime = testRuntime({ store: runtime.manager.store, agents: [testAgent] })
    await nextRuntime.run('s', 'r').result()
    expect(typesOf(await logOf(nextRuntime, 's'))).toContain('step-discarded')
    expect(await textsOf(nextRuntime, 's')).toEqual([...before, 'hi', 'one two'])
  })
})

describe('a checkpoint', () => {
  test('is at the sequence of its own entry (Helix 8)', async () => {
    const { counter } = counting()
    const runtime = testRuntime({ agents: [counter] })
    await (await runtime.start({ agent: counter, input: 'go', session: 's', runId: 'r' })).result()
    const closing = (await logOf(runtime, 's')).flatMap(({ chunk, sequence }) =>
      chunk.type === 'checkpoint-created' && chunk.closesStep ? [{ ...chunk, sequence }] : [],
    )
    expect(closing.map(({ checkpointId }) => checkpointId)).toEqual(['r/main/1', 'r/main/2', 'r/main/3'])
    for (const { sequence, stepCount = 0 } of closing) {
      const { view } = await runtime.manager.view('s', sequence)
      const runMessage = view.messages.find(({ runId }) => runId === 'r')
      expect(view.head).toBe(sequence)
      expect(runMessage?.parts.filter(({ type }) => type === 'step-start')).toHaveLength(stepCount)
      expect(view.drafts).toEqual([])
    }
  })

  test('rewinds readers and the model to the same position (Helix 9)', async () => {
    const { counter, prompts } = counting()
    const runtime = testRuntime({ agents: [counter] })
    await (await runtime.start({ agent: counter, input: 'go', session: 's', runId: 'r1' })).result()
    const run = await runtime.resume('s', 'r1', { mode: 'from-checkpoint', checkpointId: 'r1/main/1', runId: 'r2' })
    const begun = await until(run, 'run-resumed')
    const { view } = await runtime.manager.view('s', begun.sequence)
    expect(view.state).toEqual({ n: 1 })
    await run.result()
    expect(prompts[3]).toContain('step 1. ')
    expect(prompts[3]).not.toContain('step 2. ')
    expect(prompts[3]).not.toContain('done')
  })

  test('is rejected for another run or session (Helix 9)', async () => {
    const { counter } = counting()
    const runtime = testRuntime({ agents: [counter] })
    for (const [session, runId] of [
      ['s', 'r1'],
      ['s', 'r2'],
      ['other', 'r3'],
    ] as const) {
      await (await runtime.start({ agent: counter, input: 'go', session, runId })).result()
    }
    const before = [await logOf(runtime, 's'), await logOf(runtime, 'other')]
    for (const checkpointId of ['r1/main/1', 'r3/main/1']) {
      const resume = runtime.resume('s', 'r2', { mode: 'from-checkpoint', checkpointId })
      expect(await codeOf(resume)).toBe('run_cut_refused')
    }
    expect(await codeOf(runtime.resume('other', 'r1'))).toBe('run_unknown')
    expect([await logOf(runtime, 's'), await logOf(runtime, 'other')]).toEqual(before)
  })

  test('has the state and the messages of a fork at its sequence (Helix 9)', async () => {
    const { counter } = counting()
    const runtime = testRuntime({ agents: [counter] })
    await (await runtime.start({ agent: counter, input: 'go', session: 's', runId: 'r' })).result()
    const log = await logOf(runtime, 's')
    for (const { sequence } of log.filter(({ chunk }) => chunk.type === 'checkpoint-created')) {
      const fork = await runtime.fork('s', { at: sequence })
      const { view } = await runtime.view(fork)
      const there = foldLog(log.filter(entry => entry.sequence <= sequence)).view()
      expect(view.state).toEqual(there.state)
      expect(view.messages.map(({ parts }) => parts.length)).toEqual(there.messages.map(({ parts }) => parts.length))
    }
  })
})

describe('the conversation equals the visible messages', () => {
  test('the model gets the whole history, including the newest message (Helix 10)', async () => {
    let last = ''
    const testAgent = agent({
      name: 'listener',
      model: scriptedModel(({ options, answers }) => {
        last = JSON.stringify(options.prompt)
        return { text: `answer ${answers}` }
      }),
    })
    const runtime = testRuntime({ agents: [testAgent] })
    for (let i = 0; i < 30; i++)
      await (await runtime.start({ agent: testAgent, input: `turn ${i}.`, session: 's' })).result()
    for (let i = 0; i < 30; i++) expect(last).toContain(`turn ${i}.`)
    for (let i = 0; i < 29; i++) expect(last).toContain(`answer ${i}"`)
  })

  test('counts exclude removed messages, also with snapshots (Helix 11)', async () => {
    const [store] = await sqliteStores(1)
    for (const runtime of [testRuntime({ agents: [echo] }), testRuntime({ ...(store && { store }), agents: [echo] })]) {
      for (const runId of ['r1', 'r2', 'r3']) {
        await (await runtime.start({ agent: echo, input: runId, session: 's', runId })).result()
      }
      await (await runtime.retry('s', 'r2')).result()
      const { view } = await runtime.view('s')
      expect(view.messages).toHaveLength(4)
      // Reads from a snapshot and from the start.
      const whole = foldLog(await logOf(runtime, 's')).view()
      expect(view.messages).toEqual(whole.messages)
      const cold = new StreamManager({ store: runtime.manager.store })
      await cold.snapshot('s')
      expect((await cold.view('s')).view.messages).toEqual(whole.messages)
    }
  })
})
