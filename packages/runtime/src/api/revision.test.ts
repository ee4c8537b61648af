import { memoryStore } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../define/agent.ts'
import type { NodeContext } from '../define/node.ts'
import { workflow } from '../define/workflow.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { codeOf, echo, gate, logOf, patient, testRuntime, textsOf, typesOf, until } from './test-runtime.fixture.ts'

/** A session with answered turns. */
async function talk(...inputs: string[]) {
  const runtime = testRuntime({ agents: [echo] })
  for (const [index, input] of inputs.entries()) {
    const turn = { agent: echo, input, session: 's', runId: `r${index + 1}`, messageId: `m${index + 1}` }
    await (await runtime.start(turn)).result()
  }
  return runtime
}

describe('a retry', () => {
  test('repeats the latest turn with the same message and id', async () => {
    const runtime = await talk('a', 'b')
    const run = await runtime.retry('s', undefined, { runId: 'again' })
    expect((await run.result()).text).toBe('1: b')
    const { view } = await runtime.view('s')
    expect(view.messages.map(({ id }) => id)).toEqual(['m1', 'r1::r1', 'm2', 'again::again'])
    const log = await logOf(runtime, 's')
    const at = log.findIndex(({ chunk }) => chunk.type === 'rewind')
    expect(typesOf(log.slice(at, at + 3))).toEqual(['rewind', 'run-started', 'message'])
    const start = log.find(({ chunk, origin }) => chunk.type === 'run-started' && origin.runId === 'r2')
    expect(log[at]?.chunk).toEqual({ type: 'rewind', toSequence: (start?.sequence ?? 0) - 1, reason: 'retry' })
  })

  test('removes later turns for a retry of an earlier one', async () => {
    const runtime = await talk('a', 'b', 'c')
    await (await runtime.retry('s', 'r2')).result()
    expect(await textsOf(runtime, 's')).toEqual(['a', '0: a', 'b', '1: b'])
  })

  test('stops a running turn before its retry', async () => {
    const testAgent = patient(gate())
    const runtime = testRuntime({ agents: [testAgent, echo] })
    const run = await runtime.start({ agent: testAgent, input: 'hi', session: 's' })
    await until(run, 'text-delta')
    const again = await runtime.retry('s')
    expect((await run.result()).status).toBe('interrupted')
    await until(again, 'text-delta')
    expect(await textsOf(runtime, 's')).toEqual(['hi', 'one '])
  })

  test('leaves one answer after several retries', async () => {
    const runtime = await talk('a')
    for (let i = 0; i < 3; i++) await (await runtime.retry('s')).result()
    expect(await textsOf(runtime, 's')).toEqual(['a', '0: a'])
    const { view } = await runtime.view('s')
    expect(view.runs).toHaveLength(4)
  })

  test('rejects a retry of a removed turn and names the run that replaced it', async () => {
    const runtime = await talk('a', 'b')
    await (await runtime.retry('s', 'r1', { runId: 'r3' })).result()
    for (const runId of ['r1', 'r2']) {
      const error = await runtime.retry('s', runId).catch(error => error)
      expect(error).toMatchObject({ code: 'run_cut_refused', message: expect.stringContaining('r3') })
    }
    await (await runtime.retry('s', 'r3')).result()
    expect(await textsOf(runtime, 's')).toEqual(['a', '0: a'])
  })

  test('law 5: accepts one of two concurrent retries', async () => {
    for (const runId of [undefined, 'r2']) {
      const runtime = await talk('a', 'b')
      const both = await Promise.allSettled([runtime.retry('s', runId), runtime.retry('s', runId)])
      const done = both.flatMap(outcome => (outcome.status === 'fulfilled' ? [outcome.value] : []))
      const refused = both.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason.code] : []))
      expect(done).toHaveLength(1)
      // It arrived while the first waited, or after it had started.
      expect(['run_busy', 'run_cut_refused']).toContain(refused[0])
      await done[0]?.result()
      expect(typesOf(await logOf(runtime, 's')).filter(type => type === 'rewind')).toHaveLength(1)
      expect(await textsOf(runtime, 's')).toEqual(['a', '0: a', 'b', '1: b'])
    }
  })

  test('law 5: decides a retry again if the session changed meanwhile', async () => {
    const runtime = await talk('a', 'b')
    const { manager } = runtime
    const view = manager.view.bind(manager)
    let isFirst = true
    manager.view = async (...args) => {
      const seen = await view(...args)
      if (isFirst) {
        isFirst = false
        await (await runtime.retry('s', 'r1', { runId: 'faster' })).result()
      }
      return seen
    }
    // The turn it had read is removed when it is requested.
    expect(await codeOf(runtime.retry('s', 'r2', { runId: 'stale' }))).toBe('run_cut_refused')
    expect((await runtime.view('s')).view.runs.map(({ runId }) => runId)).toEqual(['r1', 'r2', 'faster'])
  })

  test('returns the same run for repeated requests with its id', async () => {
    const runtime = await talk('a')
    const runs = []
    for (let i = 0; i < 3; i++) {
      const run = await runtime.retry('s', 'r1', { runId: 'again' })
      runs.push(await run.result())
    }
    expect(new Set(runs.map(({ runId }) => runId))).toEqual(new Set(['again']))
    expect((await runtime.view('s')).view.runs).toHaveLength(2)
  })

  test('refers to the same interrupted run when a resumption is retried', async () => {
    const testAgent = patient(gate())
    const runtime = testRuntime({ agents: [testAgent] })
    const first = await runtime.start({ agent: testAgent, input: 'hi', session: 's', runId: 'r1' })
    await until(first, 'text-delta')
    await first.stop()
    await first.result()
    const second = await runtime.resume('s', 'r1', { runId: 'r2' })
    await until(second, 'text-delta')
    const third = await runtime.retry('s', 'r2', { runId: 'r3' })
    await until(third, 'text-delta')
    const { view } = await runtime.view('s')
    expect(view.runs.find(({ runId }) => runId === 'r3')).toMatchObject({ resumes: 'r1' })
    expect(view.messages.map(({ id }) => id)).toEqual([expect.any(String), 'r1::r1', 'r3::r3'])
  })

  test('retry and edit use the current version of the program', async () => {
    const node = async () => ({ data: 'new' })
    const edges = [
      ['start', 'node'],
      ['node', 'end'],
    ] as const
    const before = workflow({ id: 'own', nodes: { node: async () => ({ data: 'old' }) }, edges })
    const after = workflow({ id: 'own', version: '2', nodes: { node }, edges })
    const migrating = workflow({ id: 'own', version: '3', nodes: { node }, edges, migrate: { 1: () => undefined } })
    for (const next of [after, migrating]) {
      const store = memoryStore()
      const old = testRuntime({ store, agents: [echo], workflows: [before] })
      await (await old.start({ workflow: before, input: 'a', session: 's', runId: 'r1', messageId: 'm1' })).result()
      await (await old.start({ agent: echo, input: 'b', session: 's', runId: 'r2', messageId: 'm2' })).result()
      await old.close()
      const upgraded = agent({ name: echo.name, version: '9', model: scriptedModel(() => ({ text: 'new' })) })
      const runtime = testRuntime({ store, agents: [upgraded], workflows: [next] })
      const latest = async () => (await runtime.view('s')).view.runs.at(-1)?.program
      expect((await (await runtime.retry('s', 'r2')).result()).text).toBe('new')
      expect((await (await runtime.edit('s', 'm2', 'c')).result()).text).toBe('new')
      expect(await latest()).toBe(upgraded.program)
      expect((await (await runtime.retry('s', 'r1')).result()).output).toBe('new')
      expect((await (await runtime.edit('s', 'm1', 'c')).result()).output).toBe('new')
      expect(await latest()).toBe(next.program)
    }
  })

  test('retry keeps the data of its turn, and edit does not', async () => {
    const inputs: unknown[] = []
    const testWorkflow = workflow({
      id: 'own',
      inputSchema: z.union([z.string(), z.object({ to: z.string() })]),
      nodes: {
        node: async ({ input, data }: NodeContext<unknown>) => {
          inputs.push([input, data])
          return {}
        },
      },
      edges: [
        ['start', 'node'],
        ['node', 'end'],
      ],
    })
    const runtime = testRuntime({ workflows: [testWorkflow] })
    const data = { to: 'Ann' }
    await (await runtime.start({ workflow: testWorkflow, input: 'a', data, session: 's', messageId: 'm1' })).result()
    await (await runtime.retry('s')).result()
    await (await runtime.edit('s', 'm1', 'b', { newMessageId: 'm2' })).result()
    await (await runtime.edit('s', 'm2', 'c', { newMessageId: 'm3', data: { to: 'Bob' } })).result()
    await (await runtime.retry('s')).result()
    expect(inputs).toEqual([
      [data, data],
      [data, data],
      ['b', undefined],
      ...Array(2).fill([{ to: 'Bob' }, { to: 'Bob' }]),
    ])
  })

  test('requests the same program if no version is available', async () => {
    const store = memoryStore()
    const first = testRuntime({ store, agents: [echo] })
    await (await first.start({ agent: echo, input: 'a', session: 's', runId: 'r1' })).result()
    await first.close()
    const other = testRuntime({ store, agents: [patient(gate())] })
    await other.retry('s', 'r1', { runId: 'again' })
    expect((await other.view('s')).view.requests.at(-1)).toMatchObject({ program: echo.program, status: 'waiting' })
    await other.stop('s', 'again')
  })

  test('rejects a retry in a session without runs', async () => {
    const runtime = await talk('a')
    expect(await codeOf(runtime.retry('s', 'missing'))).toBe('run_unknown')
    expect(await codeOf(runtime.retry('nowhere'))).toBe('session_unknown')
    await runtime.manager.createStream('empty')
    expect(await codeOf(runtime.retry('empty'))).toBe('run_unknown')
  })
})

describe('an edit', () => {
  test('replaces a user message and everything after it', async () => {
    const runtime = await talk('a', 'b', 'c')
    const run = await runtime.edit('s', 'm2', 'B', { newMessageId: 'm2b' })
    expect((await run.result()).text).toBe('1: B')
    expect(await textsOf(runtime, 's')).toEqual(['a', '0: a', 'B', '1: B'])
    const { view } = await runtime.view('s')
    expect(view.messages.map(({ id }) => id).slice(0, 3)).toEqual(['m1', 'r1::r1', 'm2b'])
    const rewind = (await logOf(runtime, 's')).find(({ chunk }) => chunk.type === 'rewind')
    expect(rewind?.chunk).toMatchObject({ reason: 'edit' })
  })

  test('edits the visible turn of a retried message', async () => {
    const runtime = await talk('a', 'b')
    await (await runtime.retry('s', 'r2')).result()
    await (await runtime.edit('s', 'm2', 'B')).result()
    expect(await textsOf(runtime, 's')).toEqual(['a', '0: a', 'B', '1: B'])
  })

  test('rejects an edit of a message that started no run or was removed', async () => {
    const runtime = await talk('a', 'b')
    expect(await codeOf(runtime.edit('s', 'r1::r1', 'x'))).toBe('run_unknown')
    expect(await codeOf(runtime.edit('s', 'nothing', 'x'))).toBe('run_unknown')
    await (await runtime.edit('s', 'm1', 'A')).result()
    expect(await codeOf(runtime.edit('s', 'm2', 'x'))).toBe('run_cut_refused')
    expect(await codeOf(runtime.edit('s', 'm1', 'x'))).toBe('run_cut_refused')
  })

  test('rejects an edit of a queued message', async () => {
    const runtime = testRuntime({ engine: false })
    await runtime.start({ agent: echo, input: 'a', session: 's', messageId: 'm1' })
    const error = await runtime.edit('s', 'm1', 'b').catch(error => error)
    expect(error).toMatchObject({ code: 'run_unknown', message: expect.stringContaining('has not started') })
  })

  test('rejects a message id in the format of agents and creates no session', async () => {
    const runtime = await talk('a')
    expect(await codeOf(runtime.edit('s', 'm1', 'x', { newMessageId: 'r1::r1' }))).toBe('validation_failed')
    const start = { agent: echo, input: 'x', session: 'new', messageId: 'a::b' }
    expect(await codeOf(runtime.start(start))).toBe('validation_failed')
    expect(await codeOf(runtime.start({ ...start, messageId: '' }))).toBe('validation_failed')
    expect(await codeOf(runtime.view('new'))).toBe('session_unknown')
  })
})

test('law 3: reads a removed run by its id', async () => {
  const runtime = await talk('a')
  await (await runtime.retry('s', 'r1')).result()
  const old = runtime.run('s', 'r1')
  expect(await old.result()).toMatchObject({ status: 'completed', text: '0: a', message: { id: 'r1::r1' } })
  const types = []
  for await (const { chunk } of old.stream()) types.push(chunk.type)
  expect([types.at(0), types.at(-1)]).toEqual(['run-started', 'run-finished'])
})
