import { expect, test } from 'vitest'
import { z } from 'zod'
import { gate } from '../../api/test-runtime.fixture.ts'
import { agent } from '../../define/agent.ts'
import { type ToolContext, tool } from '../../define/tool.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { caller, callsOf, chunksOf, resultsIn, runToEnd } from '../agent/run-to-end.fixture.ts'

const none = z.object({})

test('passes the parsed input and the context to a call', async () => {
  const seen: unknown[] = []
  const look = tool({
    name: 'look',
    inputSchema: z.object({ n: z.string().transform(Number), often: z.number().default(2) }),
    execute(input, context) {
      const { abortSignal, updateState, emit, ...ids } = context
      seen.push(input, ids, abortSignal.aborted, typeof updateState, typeof emit)
      return input.n * input.often
    },
  })
  const { agent: looker, modelCalls } = caller([look], [{ name: 'look', input: { n: '21' }, id: 'c1' }])
  const { result, view } = await runToEnd(looker, {}, { runId: 'r', context: { user: 'ann' } })
  const ids = { sessionId: 's', runId: 'r', agentId: 'r', agentType: 'caller', step: 1, toolCallId: 'c1' }
  expect(seen).toEqual([
    { n: 21, often: 2 },
    { ...ids, idempotencyKey: 's/r/c1', context: { user: 'ann' }, state: undefined },
    false,
    'function',
    'function',
  ])
  // The log has the original input.
  expect(callsOf(result.message)).toMatchObject([{ input: { n: '21' }, output: 42, executor: 'server' }])
  expect(resultsIn(modelCalls[1] as never)).toEqual({ c1: { type: 'json', value: 42 } })
  expect(view.state).toBeUndefined()
})

test('ignores data, state updates and yielded values after the end of a call', async () => {
  const late = gate()
  const over = gate()
  const contexts: ToolContext[] = []
  const returned: string[] = []
  const early = tool({
    name: 'early',
    inputSchema: none,
    execute(_input, context) {
      contexts.push(context)
      return 'early'
    },
  })
  const slow = tool({
    name: 'slow',
    inputSchema: none,
    timeoutMs: 5,
    async *execute(_input, context) {
      contexts.push(context)
      try {
        await late.opened
        yield 'too late'
        yield 'never asked for'
      } finally {
        returned.push('slow')
        over.open()
      }
    },
  })
  const check = tool({
    name: 'check',
    inputSchema: none,
    async execute() {
      late.open()
      await over.opened
      for (const context of contexts) {
        context.updateState(() => ({ late: true }))
        await context.emit('late', 1)
      }
      return 'checked'
    },
  })
  const model = scriptedModel([
    {
      calls: [
        { name: 'early', input: {} },
        { name: 'slow', input: {} },
      ],
    },
    { calls: [{ name: 'check', input: {} }] },
    { text: 'Done.' },
  ])
  const { result, view, log, logged } = await runToEnd(agent({ name: 'a', model, tools: [early, slow, check] }))
  expect(result.status).toBe('completed')
  expect(returned).toEqual(['slow'])
  expect(view.state).toBeUndefined()
  expect(log.map(({ chunk }) => chunk.type)).not.toContain('data-late')
  expect(chunksOf(log, 'tool-output-available').map(({ output }) => output)).toEqual(['early', 'checked'])
  expect(logged.filter(({ message }) => /after the call ended/.test(message))).toHaveLength(4)
})

test('scopes the ids of emitted data to the call, and keeps transient data out of views', async () => {
  const shows = tool({
    name: 'shows',
    inputSchema: none,
    execute(_input, { emit }) {
      emit('note', 'a')
      emit('bar', { at: 1 }, { id: 'x' })
      emit('bar', { at: 2 }, { id: 'x' })
      emit('flash', 1, { transient: true })
      return null
    },
  })
  const { result, log } = await runToEnd(
    caller(
      [shows],
      [
        { name: 'shows', id: 'c1' },
        { name: 'shows', id: 'c2' },
      ],
    ).agent,
  )
  const data = result.message?.parts.filter(({ type }) => type.startsWith('data-'))
  expect(data).toMatchObject([
    { type: 'data-note', data: 'a' },
    { type: 'data-bar', id: 'c1/x', data: { at: 2 } },
    { type: 'data-note', data: 'a' },
    { type: 'data-bar', id: 'c2/x', data: { at: 2 } },
  ])
  expect(data).toHaveLength(4)
  expect(chunksOf(log, 'data-flash')).toEqual(Array(2).fill({ type: 'data-flash', data: 1, transient: true }))
})

test('gives each call unique ids and keys', async () => {
  const keys: string[] = []
  const shows = tool({
    name: 'shows',
    inputSchema: z.object({ id: z.string() }),
    execute({ id }, { emit, idempotencyKey }) {
      keys.push(idempotencyKey)
      emit('bar', id, { id })
      return null
    },
  })
  const { agent: shower, modelCalls } = caller(
    [shows],
    [
      { name: 'shows', id: 'a', input: { id: 'b/x' } },
      { name: 'shows', id: 'a/b', input: { id: 'x' } },
    ],
  )
  const { result } = await runToEnd(shower, {}, { session: 's/1', runId: 'r' })
  const data = result.message?.parts.filter(({ type }) => type === 'data-bar')
  expect(data).toMatchObject([
    { id: 'a/b%2Fx', data: 'b/x' },
    { id: 'a%2Fb/x', data: 'x' },
  ])
  expect(keys).toEqual(['s%2F1/r/a', 's%2F1/r/a%2Fb'])
  // The key of the model call contains the session, because two sessions may use the same run id.
  expect(modelCalls.map(({ providerOptions }) => providerOptions?.['millrace']?.['key'])).toEqual([
    's%2F1/r/r/1',
    's%2F1/r/r/2',
  ])
})

test.each([
  ['without a name', ''],
  ['that is not JSON', 'big'],
])('fails the call, not the run, for emitted data %s', async (_, name) => {
  const shows = tool({
    name: 'shows',
    inputSchema: none,
    execute: (_input, { emit }) => void emit(name, 1n as never),
  })
  const { result } = await runToEnd(caller([shows], [{ name: 'shows' }]).agent)
  expect(result.status).toBe('completed')
  expect(callsOf(result.message)).toMatchObject([{ state: 'output-error' }])
})

test('rejects emitted data with the name of provider content', async () => {
  const forges = tool({
    name: 'forges',
    inputSchema: none,
    execute: (_input, { emit }) => void emit('provider-content', { kind: 'maker.thing' }),
  })
  const { agent: forger, modelCalls } = caller([forges], [{ name: 'forges' }])
  const { result } = await runToEnd(forger)
  expect(result.status).toBe('completed')
  expect(callsOf(result.message)).toMatchObject([
    { state: 'output-error', errorText: expect.stringMatching(/^emit: provider-content is .* choose another name$/) },
  ])
  expect(JSON.stringify(modelCalls[1]?.prompt)).not.toContain('maker.thing')
})
