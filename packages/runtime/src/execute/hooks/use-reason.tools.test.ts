// Tools of useReason: what runs, what needs approval, and that nothing runs twice.

import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { gate, testRuntime } from '../../api/test-runtime.fixture.ts'
import { providerTool, tool } from '../../define/tool.ts'
import { type ScriptedAnswer, scriptedModel } from '../../model/scripted-model.ts'
import { recordingModel, reportsOf, resultsIn } from '../agent/run-to-end.fixture.ts'
import {
  answerInterrupt,
  callsIn,
  decideApproval,
  nodeOf,
  publicOf,
  RUN,
  runNode,
  SESSION,
  textIn,
} from './reason.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useReason } from './use-reason.ts'

/** A tool that counts its executions and returns its input. */
function counted(name: string, more: object = {}) {
  const ran: number[] = []
  const testTool = tool({
    name,
    inputSchema: z.object({ n: z.number() }),
    execute({ n }) {
      ran.push(n)
      return `${name} ${n}`
    },
    ...more,
  })
  return { ran, testTool }
}

const call = (name: string, n: number, id = `c${n}`) => ({ name, input: { n }, id })

test('runs calls in parallel up to the limit, and returns all steps with their usage', async () => {
  const both = gate()
  let atWork = 0
  let max = 0
  const wait = tool({
    name: 'wait',
    inputSchema: z.object({ n: z.number() }),
    async execute({ n }) {
      max = Math.max(max, ++atWork)
      if (atWork === 2) both.open()
      await both.opened
      atWork--
      return n
    },
  })
  const { model, modelCalls } = recordingModel([
    { text: 'Let me see.', calls: [1, 2, 3].map(n => call('wait', n)), usage: { input: 5, output: 1 } },
    { text: 'Done.', usage: { input: 9, output: 2 } },
  ])
  const { returned, log, view } = await runNode(async context => {
    const result = await useReason({ model, input: 'x', tools: [wait], toolExecution: { parallelCalls: 2 } })
    return { result, tokens: context.tokenUsage }
  })
  expect(max).toBe(2)
  expect(returned.result).toMatchObject({
    text: 'Done.',
    finishReason: 'stop',
    usage: { inputTokens: 14, outputTokens: 3 },
    toolCalls: [1, 2, 3].map(n => ({ toolCallId: `c${n}`, toolName: 'wait', input: { n } })),
    toolResults: [1, 2, 3].map(n => ({ toolCallId: `c${n}`, output: n })),
    steps: [
      { text: 'Let me see.', toolCallIds: ['c1', 'c2', 'c3'], finishReason: 'tool-calls', usage: { inputTokens: 5 } },
      { text: 'Done.', toolCallIds: [], finishReason: 'stop', usage: { inputTokens: 9 } },
    ],
  })
  expect(returned.tokens).toMatchObject({ inputTokens: 14, outputTokens: 3 })
  expect(view.runs[0]?.usage).toMatchObject({ inputTokens: 14, outputTokens: 3 })
  expect(Object.keys(resultsIn(modelCalls[1] as LanguageModelV4CallOptions))).toEqual(['c1', 'c2', 'c3'])
  expect(textIn(log)).toBe('Let me see.Done.')
})

test('reports failed, invalid and unknown calls to the model', async () => {
  const { testTool, ran } = counted('count')
  const broken = tool({
    name: 'broken',
    inputSchema: z.object({}),
    execute: () => {
      throw new Error('the tool fails')
    },
  })
  const { model, modelCalls } = recordingModel([
    {
      calls: [
        { name: 'broken', input: {}, id: 'a' },
        { name: 'count', input: { n: 'many' }, id: 'b' },
        { name: 'none', input: {}, id: 'c' },
        call('count', 4, 'd'),
      ],
    },
    { text: 'I see.' },
  ])
  const { returned } = await runNode(() => useReason({ model, input: 'x', tools: [testTool, broken] }))
  expect(ran).toEqual([4])
  expect(returned.text).toBe('I see.')
  expect(returned.toolResults.map(({ toolCallId, output, error }) => [toolCallId, output ?? typeof error])).toEqual([
    ['a', 'string'],
    ['b', 'string'],
    ['c', 'string'],
    ['d', 'count 4'],
  ])
  expect(Object.keys(resultsIn(modelCalls[1] as LanguageModelV4CallOptions)).sort()).toEqual(['a', 'b', 'c', 'd'])
})

test('maxSteps limits the model calls', async () => {
  const { testTool, ran } = counted('count')
  const model = scriptedModel(({ turnAnswers }) => ({ calls: [call('count', turnAnswers)] }))
  const { returned } = await runNode(() =>
    useReason({ model, input: 'x', tools: [testTool], toolExecution: { maxSteps: 2 } }).catch((why: unknown) => why),
  )
  expect(returned).toMatchObject({
    code: 'budget_steps',
    message: 'useReason has taken 2 steps, the limit is 2: raise budget.steps',
  })
  expect(ran).toEqual([0, 1])
})

test('an approval applies to the shown input: neither the model nor the tool runs twice', async () => {
  const free = counted('free')
  const guarded = counted('guarded')
  let answers = 0
  // It would make a different call each time.
  const model = scriptedModel(({ turnAnswers }): ScriptedAnswer => {
    answers++
    if (turnAnswers === 0) return { calls: [call('free', answers, 'c1')] }
    return turnAnswers === 1 ? { calls: [call('guarded', 40 + answers, 'c2')] } : { text: 'Done.' }
  })
  const paused = await runNode(() =>
    useReason({
      model,
      input: 'x',
      tools: [free.testTool, guarded.testTool],
      toolExecution: { approval: { guarded: true } },
    }),
  )
  expect(paused.result.status).toBe('paused')
  expect(paused.view.pendings).toMatchObject([{ kind: 'approval', part: { toolCallId: 'c2', input: { n: 42 } } }])
  expect([free.ran, guarded.ran, answers]).toEqual([[1], [], 2])
  const { returned } = await decideApproval(paused, 'c2')
  expect([free.ran, guarded.ran, answers]).toEqual([[1], [42], 3])
  expect(returned.toolResults.map(({ output }) => output)).toEqual(['free 1', 'guarded 42'])
})

test('reports a denial to the model and does not run the call', async () => {
  const guarded = counted('guarded', { approval: true })
  const { model, modelCalls } = recordingModel([{ calls: [call('guarded', 1)] }, { text: 'Then not.' }])
  const paused = await runNode(() => useReason({ model, input: 'x', tools: [guarded.testTool] }))
  const { returned } = await decideApproval(paused, 'c1', false)
  expect(guarded.ran).toEqual([])
  expect(returned).toMatchObject({ text: 'Then not.', toolResults: [{ toolCallId: 'c1', isDenied: true }] })
  expect(resultsIn(modelCalls[1] as LanguageModelV4CallOptions)).toMatchObject({ c1: { type: 'execution-denied' } })
})

test('toolExecution.approval overrides the option of a tool', async () => {
  const guarded = counted('guarded', { approval: true })
  const model = scriptedModel([{ calls: [call('guarded', 1)] }, { text: 'Done.' }])
  const { result } = await runNode(() =>
    useReason({ model, input: 'x', tools: [guarded.testTool], toolExecution: { approval: false } }),
  )
  expect(result.status).toBe('completed')
  const free = counted('guarded')
  const paused = await runNode(() =>
    useReason({ model, input: 'x', tools: [free.testTool], toolExecution: { approval: true } }),
  )
  expect(paused.result.status).toBe('paused')
})

test('client tools work across processes', async () => {
  const there = tool({
    name: 'there',
    client: true,
    inputSchema: z.object({ n: z.number() }),
    outputSchema: z.string(),
  })
  const { model, modelCalls } = recordingModel([{ calls: [call('there', 1)] }, { text: 'Thanks.' }])
  const { testWorkflow, returns } = nodeOf(() => useReason({ model, input: 'x', tools: [there] }))
  const runtime = testRuntime({ workflows: [testWorkflow] })
  const run = await runtime.start({ session: SESSION, runId: RUN, input: 'Go.', workflow: testWorkflow })
  expect((await run.result()).status).toBe('paused')
  await runtime.close()
  const other = testRuntime({ workflows: [testWorkflow], store: runtime.manager.store })
  await other.answer(SESSION, { kind: 'tool-result', id: 'c1', output: 'from there' })
  expect((await other.run(SESSION, RUN).result()).status).toBe('completed')
  expect(returns).toMatchObject([{ text: 'Thanks.', toolResults: [{ output: 'from there' }] }])
  expect(modelCalls).toHaveLength(2)
})

test('includes calls of provider tools in the result', async () => {
  const search = providerTool({ id: 'acme.search', name: 'search', args: {} })
  const { testTool, ran } = counted('count')
  const { model } = recordingModel([
    {
      calls: [call('count', 1)],
      parts: [
        { type: 'tool-call', toolCallId: 'p1', toolName: 'search', input: '{}', providerExecuted: true },
        { type: 'tool-result', toolCallId: 'p1', toolName: 'search', result: ['hit'] },
      ],
    },
    { text: 'Found.' },
  ])
  const { returned } = await runNode(() => useReason({ model, input: 'x', tools: [search, testTool] }))
  expect(ran).toEqual([1])
  expect(returned.toolResults).toMatchObject(
    expect.arrayContaining([
      expect.objectContaining({ toolCallId: 'p1', output: ['hit'] }),
      expect.objectContaining({ toolCallId: 'c1', output: 'count 1' }),
    ]),
  )
})

test('does not repeat calls before an interrupt', async () => {
  const { testTool, ran } = counted('count')
  const { model, modelCalls } = recordingModel([{ calls: [call('count', 1)] }, { text: 'One.' }])
  const paused = await runNode(async () => {
    const { text, toolResults } = await useReason({ model, input: 'x', tools: [testTool] })
    return { text, toolResults, answer: await useInterrupt({ request: { kind: 'text' } }) }
  })
  const { returned, view } = await answerInterrupt(paused, 'yes')
  expect(returned).toMatchObject({ text: 'One.', answer: 'yes', toolResults: [{ output: 'count 1' }] })
  expect([ran, modelCalls.length]).toEqual([[1], 2])
  expect(callsIn(view)).toHaveLength(1)
})

test('approvals of parallel calls wait independently', async () => {
  const guarded = counted('guarded', { approval: true })
  const ask = (n: number) =>
    useReason({
      id: `ask-${n}`,
      model: scriptedModel([{ calls: [call('guarded', n)] }, { text: `done ${n}` }]),
      input: `${n}`,
      tools: [guarded.testTool],
    })
  const paused = await runNode(() => Promise.all([ask(1), ask(2)]))
  expect(paused.view.pendings).toHaveLength(2)
  const half = await decideApproval(paused, 'c2')
  expect(half.result.status).toBe('paused')
  expect(guarded.ran).toEqual([2])
  const { returned } = await decideApproval(half, 'c1')
  expect(returned.map(({ text }) => text)).toEqual(['done 1', 'done 2'])
  expect(guarded.ran).toEqual([2, 1])
})

test.each([
  ['needs approval', 'approval'],
  ['runs in the client', 'client'],
])('rejects emit: false for a tool that %s', async (_, kind) => {
  const testTool =
    kind === 'client'
      ? tool({ name: 'a', client: true, inputSchema: z.object({}) })
      : counted('a', { approval: true }).testTool
  const { returned } = await runNode(() =>
    useReason({ model: scriptedModel([{ text: 'x' }]), input: 'x', emit: false, tools: [testTool] }).catch(
      (why: unknown) => why,
    ),
  )
  expect(returned).toMatchObject({ code: 'validation_failed', message: expect.stringContaining('emit: false') })
})

test.each([true, false])(
  'sets the state of the session by a tool, and passes it to the next call, with emit: %s',
  async emit => {
    const seen: unknown[] = []
    const count = tool({
      name: 'count',
      inputSchema: z.object({ n: z.number() }),
      execute: (_, { state, updateState }) => {
        seen.push(state)
        updateState(before => ({ n: ((before as { n?: number } | undefined)?.n ?? 0) + 1 }))
        return 'SECRET'
      },
    })
    const model = scriptedModel([
      { calls: [call('count', 1, 'c1')] },
      { calls: [call('count', 2, 'c2')] },
      { text: 'k' },
    ])
    const { view, log } = await runNode(() => useReason({ model, input: 'x', emit, tools: [count] }))
    expect(seen).toEqual([undefined, { n: 1 }])
    expect(view.state).toEqual({ n: 2 })
    expect(reportsOf(publicOf(log))).toEqual([])
    expect(JSON.stringify(publicOf(log)).includes('SECRET')).toBe(emit)
  },
)

test.each([true, { search: true }])('rejects approval %o for a tool that the provider runs', async approval => {
  const search = providerTool({ id: 'acme.search', name: 'search', args: {} })
  const model = scriptedModel([{ text: 'x' }])
  const ask = (asks: typeof approval | { search: false }) =>
    useReason({ model, input: 'x', tools: [search], toolExecution: { approval: asks } })
  const { returned } = await runNode(() => ask(approval).catch((why: unknown) => why))
  expect(returned).toMatchObject({ code: 'validation_failed', message: expect.stringContaining('tool search') })
  expect((await runNode(() => ask({ search: false }))).returned).toMatchObject({ text: 'x' })
})

test('rejects two tools with the same name', async () => {
  const { returned } = await runNode(() =>
    useReason({
      model: scriptedModel([{ text: 'x' }]),
      input: 'x',
      tools: [counted('a').testTool, counted('a').testTool],
    }).catch((why: unknown) => why),
  )
  expect(returned).toMatchObject({
    message: 'useReason: tools: expected different names, found a twice: rename one tool',
  })
})
