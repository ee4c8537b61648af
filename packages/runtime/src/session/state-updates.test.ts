import type { Json } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { gate } from '../api/test-runtime.fixture.ts'
import { agent } from '../define/agent.ts'
import { type ToolContext, tool } from '../define/tool.ts'
import { RunError, ToolError } from '../error/error.ts'
import { caller, callsOf, chunksOf, resultsIn, runToEnd } from '../execute/agent/run-to-end.fixture.ts'
import { scriptedModel } from '../model/scripted-model.ts'

const none = z.object({})
const calls = (name: string, count: number) => Array.from({ length: count }, (_, i) => ({ name, id: `c${i}` }))

interface Count {
  count: number
}

test('applies updates of parallel calls to the current state: ten increments give ten', async () => {
  let waiting = 0
  const all = gate()
  const add = tool({
    name: 'add',
    inputSchema: none,
    async execute(_input, { updateState, state }: ToolContext<Count>) {
      if (++waiting === 10) all.open()
      await all.opened
      updateState(({ count }) => ({ count: count + 1 }))
      return state.count
    },
  })
  const counter = caller([add], calls('add', 10), { parallelCalls: 10, initialState: { count: 0 } })
  const { result, view, log } = await runToEnd(counter.agent)
  expect(view.state).toEqual({ count: 10 })
  // Each call saw the state at its start.
  expect(callsOf(result.message).map(({ output }) => output)).toEqual(Array(10).fill(0))
  expect(chunksOf(log, 'state-patch').map(({ patches }) => patches)).toEqual(
    Array.from({ length: 10 }, (_, i) => [{ op: 'replace', path: '/count', value: i + 1 }]),
  )
})

test('shows a call its own updates, hides them from others until the outcome, and passes copies', async () => {
  const seen: unknown[] = []
  const change = tool({
    name: 'change',
    inputSchema: none,
    async *execute(_input, context: ToolContext<{ list: number[] }>) {
      context.state.list.push(99)
      context.updateState(state => ({ list: [...state.list, 1] }))
      context.updateState(state => {
        state.list.push(2)
        return undefined
      })
      seen.push(context.state)
      yield 'shown while nothing is changed'
      return null
    },
  })
  const { log, view } = await runToEnd(caller([change], calls('change', 1), { initialState: { list: [] } }).agent)
  expect(seen).toEqual([{ list: [1, 2] }])
  expect(view.state).toEqual({ list: [1, 2] })
  const types = log.map(({ chunk }) => chunk.type)
  expect(types.indexOf('state-patch')).toBe(types.lastIndexOf('tool-output-available') + 1)
})

test('accepts an update that changes its argument and returns nothing', async () => {
  const push = tool({
    name: 'push',
    inputSchema: none,
    execute(_input, { updateState }: ToolContext<{ list: number[] }>) {
      updateState(state => {
        state.list.push(1)
        return undefined
      })
    },
  })
  const { log, view } = await runToEnd(caller([push], calls('push', 2), { initialState: { list: [] } }).agent)
  expect(view.state).toEqual({ list: [1, 1] })
  expect(chunksOf(log, 'state-patch')).toMatchObject([
    { patches: [{ op: 'add', path: '/list/0', value: 1 }] },
    { patches: [{ op: 'add', path: '/list/1', value: 1 }] },
  ])
})

test('creates a state if there is none', async () => {
  const set = tool({
    name: 'set',
    inputSchema: none,
    execute(_input, { state, updateState }) {
      updateState(() => ({ made: true }))
      return state ?? 'none'
    },
  })
  const { result, view } = await runToEnd(caller([set], calls('set', 1)).agent)
  expect(callsOf(result.message)).toMatchObject([{ output: 'none' }])
  expect(view.state).toEqual({ made: true })
})

test('writes nothing for an update without a change', async () => {
  const same = tool({
    name: 'same',
    inputSchema: none,
    execute: (_input, { updateState }) => updateState(state => structuredClone(state)),
  })
  const { log } = await runToEnd(caller([same], calls('same', 1), { initialState: { a: [1] } }).agent)
  expect(chunksOf(log, 'state-patch')).toEqual([])
})

test('drops the updates of a failed call', async () => {
  const fail = tool({
    name: 'fail',
    inputSchema: none,
    execute(_input, { updateState }) {
      updateState(() => ({ broken: true }))
      throw new ToolError('no')
    },
  })
  const { view, result } = await runToEnd(caller([fail], calls('fail', 1), { initialState: { ok: true } }).agent)
  expect(callsOf(result.message)).toMatchObject([{ state: 'output-error', errorText: 'no' }])
  expect(view.state).toEqual({ ok: true })
})

const refused = { state: 'output-error', code: 'tool_state_refused' }

test('reports a state that does not fit its schema to the model, and the run continues', async () => {
  const grow = tool({
    name: 'grow',
    inputSchema: none,
    execute(_input, { updateState }: ToolContext<Count>) {
      updateState(state => ({ count: state.count + 1 }))
      return 'grown'
    },
  })
  const stateSchema = z.object({ count: z.number().max(2) })
  const { agent: grower, modelCalls } = caller([grow], calls('grow', 4), { stateSchema, initialState: { count: 0 } })
  const { result, view } = await runToEnd(grower)
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(view.state).toEqual({ count: 2 })
  const [one, two, three, four] = callsOf(result.message)
  expect([one, two]).toMatchObject([{ output: 'grown' }, { output: 'grown' }])
  expect([three, four]).toMatchObject([refused, refused])
  expect(resultsIn(modelCalls[1] as never)['c3']).toEqual({
    type: 'error-text',
    value: expect.stringMatching(/^the state does not match its schema: count: /),
  })
})

test('reports a state that is too large to the model, and the run continues', async () => {
  const fill = tool({
    name: 'fill',
    inputSchema: none,
    execute(_input, { updateState }) {
      updateState(() => ({ text: 'x'.repeat(9000) }))
      return 'filled'
    },
  })
  const after = tool({
    name: 'after',
    inputSchema: none,
    execute: (_input, { state, updateState }) => {
      updateState(() => ({ text: 'small' }))
      return state as Json
    },
  })
  const model = scriptedModel([
    { calls: [{ name: 'fill', input: {} }] },
    { calls: [{ name: 'after', input: {} }] },
    { text: 'Done.' },
  ])
  const filler = agent({ name: 'filler', model, tools: [fill, after], initialState: { text: '' } })
  const { result, view, logged } = await runToEnd(filler, { log: { maxEntryBytes: 4096 } })
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(callsOf(result.message)).toMatchObject([
    { ...refused, errorText: 'the state change exceeds the size limit of the log: change less, or store a reference' },
    { state: 'output-available', output: { text: '' } },
  ])
  expect(view.state).toEqual({ text: 'small' })
  expect(logged).toMatchObject([{ level: 'error', cause: { code: 'too-large' } }])
})

test.each<[string, (state: Json | undefined) => unknown]>([
  [
    'throws',
    () => {
      throw new Error('password=hunter2')
    },
  ],
  ['returns a value that is not JSON', () => ({ big: 1n })],
  ['returns a function', () => () => 1],
  ['returns a promise', async () => ({})],
  ['returns another thenable', () => Object.fromEntries([['then', () => {}]])],
])('fails the call, not the run, for an update that %s', async (_, update) => {
  const odd = tool({
    name: 'odd',
    inputSchema: none,
    execute: (_input, { updateState }) => updateState(update as (state: Json | undefined) => Json | undefined),
  })
  const { result, view, log } = await runToEnd(caller([odd], calls('odd', 1), { initialState: { ok: true } }).agent)
  expect(result.status).toBe('completed')
  expect(callsOf(result.message)).toMatchObject([{ ...refused, errorText: 'the state could not be changed' }])
  expect(view.state).toEqual({ ok: true })
  expect(JSON.stringify(log)).not.toContain('hunter2')
})

test('a change with more operations than function arguments fails its call, not the run', async () => {
  const turn = tool({
    name: 'turn',
    inputSchema: none,
    execute: (_input, { updateState }: ToolContext<{ list: number[] }>) =>
      updateState(({ list }) => ({ list: list.map(n => 1 - n) })),
  })
  const list = Array.from({ length: 150_000 }, () => 0)
  const { result, view } = await runToEnd(caller([turn], calls('turn', 1), { initialState: { list } }).agent)
  expect(result.status).toBe('completed')
  expect(callsOf(result.message)).toMatchObject([
    { ...refused, errorText: 'the state change exceeds the size limit of the log: change less, or store a reference' },
  ])
  expect(view.state).toEqual({ list })
})

test.each([
  ['of Millrace', () => new RunError('run_busy', 'the shop is busy'), 'run_busy'],
  ['of the application', () => new Error('password=hunter2'), 'tool_state_refused'],
])('fails the call, not the run, for an update that throws an error %s at the commit', async (_, why, code) => {
  const odd = tool({
    name: 'odd',
    inputSchema: none,
    execute(_input, { updateState }) {
      let count = 0
      updateState(() => {
        if (++count > 1) throw why()
        return { count }
      })
    },
  })
  const { result } = await runToEnd(caller([odd], calls('odd', 1)).agent)
  expect(result.status).toBe('completed')
  expect(callsOf(result.message)).toMatchObject([{ state: 'output-error', code }])
})

test('a rejected asynchronous update causes no unhandled rejection', async () => {
  const unhandled: unknown[] = []
  const note = (reason: unknown) => unhandled.push(reason)
  const odd = tool({
    name: 'odd',
    inputSchema: none,
    execute: (_input, { updateState }) =>
      updateState((async () => {
        throw new Error('a rejection without a handler')
      }) as never),
  })
  process.on('unhandledRejection', note)
  try {
    const { result } = await runToEnd(caller([odd], calls('odd', 1)).agent)
    expect(callsOf(result.message)).toMatchObject([refused])
    await new Promise(resolve => setImmediate(resolve))
    expect(unhandled).toEqual([])
  } finally {
    process.off('unhandledRejection', note)
  }
})

test('an update that fails on the state at the commit fails its call', async () => {
  const both = gate()
  let begun = 0
  const take = tool({
    name: 'take',
    inputSchema: none,
    async execute(_input, { updateState }: ToolContext<{ items: string[] }>) {
      updateState(({ items }) => {
        if (items.length === 0) throw new ToolError('there is none left')
        return { items: items.slice(1) }
      })
      if (++begun === 2) both.open()
      await both.opened
      return 'taken'
    },
  })
  const { result, view } = await runToEnd(caller([take], calls('take', 2), { initialState: { items: ['last'] } }).agent)
  expect(view.state).toEqual({ items: [] })
  const outcomes = callsOf(result.message).map(({ output, errorText }) => output ?? errorText)
  expect(outcomes.toSorted()).toEqual(['taken', 'there is none left'])
})
