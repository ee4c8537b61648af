import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { type AgentContext, agent } from '../../define/agent.ts'
import { type AnyTool, type ToolContext, tool } from '../../define/tool.ts'
import { VirtualCluster } from '../../drive/virtual-cluster.fixture.ts'
import { ProviderError } from '../../error/error.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { callsOf, chunksOf, recordingModel, resultsIn, runToEnd } from './run-to-end.fixture.ts'

const input = z.object({})
const named = (name: string) => tool({ name, inputSchema: input, description: `The ${name}.`, execute: () => name })
const toolNames = ({ tools = [] }: LanguageModelV4CallOptions): string[] => tools.map(({ name }) => name)
const system = ({ prompt }: LanguageModelV4CallOptions): unknown =>
  prompt.filter(({ role }) => role === 'system').map(({ content }) => content)

test('computes model, instructions and tools in each step', async () => {
  const contexts: AgentContext[] = []
  const one = recordingModel([{ calls: [{ name: 'count', input: {}, id: 'a' }] }])
  const two = recordingModel([{}, { calls: [{ name: 'other', input: {}, id: 'b' }] }, { text: 'Done.' }])
  const count = tool({
    name: 'count',
    inputSchema: input,
    execute: (_input, { updateState }: ToolContext<{ count: number }>) =>
      updateState(state => ({ count: state.count + 1 })),
  })
  const computed = agent({
    name: 'computed',
    stateSchema: z.object({ count: z.number() }),
    initialState: { count: 0 },
    model: async ({ step }) => (step === 1 ? one.model : two.model),
    instructions(context) {
      contexts.push(context as AgentContext)
      const { user } = context.context as { user: string }
      return `Step ${context.step} for ${user}, who said ${context.data}: ${context.state?.count}.`
    },
    tools: ({ state }) => (state?.count ? [named('other')] : [count]),
  })
  const { result } = await runToEnd(computed, {}, { runId: 'r', context: { user: 'ann' }, data: 'hi' })
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
  const modelCalls = [...one.modelCalls, ...two.modelCalls]
  expect(modelCalls.map(system)).toEqual([
    ['Step 1 for ann, who said hi: 0.'],
    ['Step 2 for ann, who said hi: 1.'],
    ['Step 3 for ann, who said hi: 1.'],
  ])
  expect(modelCalls.map(toolNames)).toEqual([['count'], ['other'], ['other']])
  const [first] = contexts
  expect(first).toMatchObject({ sessionId: 's', runId: 'r', agentId: 'r', agentType: 'computed', step: 1 })
  expect(first?.abortSignal).toBeInstanceOf(AbortSignal)
})

test("passes a copy of the state to an agent's functions", async () => {
  const { model } = recordingModel([{ calls: [{ name: 'see', input: {} }] }, { text: 'Done.' }])
  const see = tool({ name: 'see', inputSchema: input, execute: (_input, { state }) => state })
  const writer = agent({
    name: 'writer',
    model,
    tools: [see],
    initialState: { list: [] },
    instructions({ state }) {
      ;(state as { list: number[] }).list.push(1)
      return undefined
    },
  })
  const { result, view } = await runToEnd(writer)
  expect(callsOf(result.message)).toMatchObject([{ output: { list: [] } }])
  expect(view.state).toEqual({ list: [] })
})

test('sends names, descriptions and JSON Schemas of tools to the model', async () => {
  const { model, modelCalls } = recordingModel([{ text: 'Done.' }])
  const strict = tool({
    name: 'strict',
    description: 'The strict.',
    strict: true,
    inputSchema: z.object({ n: z.number() }),
    execute: () => 1,
  })
  await runToEnd(agent({ name: 'a', model, tools: [named('plain'), strict] }))
  expect(modelCalls[0]?.tools).toEqual([
    { type: 'function', name: 'plain', description: 'The plain.', inputSchema: { type: 'object', properties: {} } },
    {
      type: 'function',
      name: 'strict',
      description: 'The strict.',
      strict: true,
      inputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    },
  ])
})

test('executes calls with the tools of their own step', async () => {
  const { model, modelCalls } = recordingModel([
    { calls: [{ name: 'early', input: {}, id: 'a' }] },
    { calls: [{ name: 'early', input: {}, id: 'b' }] },
    { text: 'Done.' },
  ])
  const changing = agent({ name: 'changing', model, tools: ({ step }) => [named(step === 1 ? 'early' : 'late')] })
  const { result } = await runToEnd(changing)
  expect(modelCalls.map(toolNames)).toEqual([['early'], ['late'], ['late']])
  // The model may call a tool that it knows from an earlier step, and gets an error.
  expect(callsOf(result.message)).toMatchObject([
    { toolCallId: 'a', output: 'early' },
    { toolCallId: 'b', state: 'output-error', errorText: 'there is no tool early, expected one of late' },
  ])
})

/** Makes a call in a process that crashes, and continues in another with these tools. */
async function takenOver(tools: readonly AnyTool[]) {
  const cluster = new VirtualCluster()
  const keys: string[] = []
  const { model } = recordingModel([{ calls: [{ name: 'pay', input: {}, id: 'a' }] }, { text: 'Done.' }])
  const pay = tool({
    name: 'pay',
    inputSchema: input,
    execute(_input, { idempotencyKey }) {
      keys.push(idempotencyKey)
      return new Promise(() => {})
    },
  })
  const owner = cluster.process(() => [agent({ name: 'payer', model, tools: [pay] })])
  await owner.runtime.start({ agent: 'payer', session: 's', runId: 'r', input: 'Go.' })
  await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'checkpoint-created')
  await cluster.clock.advance(1)
  owner.kill()
  cluster.process(() => [agent({ name: 'payer', model, tools })])
  expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
  const view = await cluster.view('s')
  return { keys, calls: callsOf(view.messages.at(-1)) }
}

test('reports a call of a removed tool to the model', async () => {
  const { keys, calls } = await takenOver([named('other')])
  expect(keys).toEqual(['s/r/a'])
  expect(calls).toMatchObject([
    { state: 'output-error', code: 'tool_execution_failed', errorText: 'the tool pay does not exist any more' },
  ])
})

test('retries an interrupted call with the same key', async () => {
  const again: string[] = []
  const pay = tool({
    name: 'pay',
    inputSchema: input,
    execute(_input, { idempotencyKey }) {
      again.push(idempotencyKey)
      return 'paid'
    },
  })
  const { keys, calls } = await takenOver([pay])
  expect(again).toEqual(keys)
  expect(calls).toMatchObject([{ state: 'output-available', output: 'paid' }])
})

test.each<[string, unknown, string]>([
  [
    'two tools with one name',
    [named('x'), named('x')],
    'agent broken: tools: expected different names, found x twice: rename one tool',
  ],
  ['undefined as tools', undefined, 'agent broken: tools: expected an array, found undefined'],
])('fails with the reason for an agent that computes %s', async (_, tools, message) => {
  const { model } = recordingModel([{ text: 'Done.' }])
  const { result } = await runToEnd(agent({ name: 'broken', model, tools: () => tools as [] }))
  expect(result).toMatchObject({ status: 'failed', error: { code: 'validation_failed', message } })
})

test('fails with a reason if the model function returns no model', async () => {
  const { result } = await runToEnd(agent({ name: 'broken', model: () => undefined as never }))
  expect(result).toMatchObject({ status: 'failed', error: { code: 'validation_failed' } })
  expect(result.error?.message).toMatch(/^agent broken: model: expected a model .*found undefined$/)
})

test("hides errors of an agent's functions and fails the run", async () => {
  const secret = new Error('password=hunter2')
  const { model } = recordingModel([{ text: 'Done.' }])
  const throwing = agent({
    name: 'throwing',
    model,
    instructions() {
      throw secret
    },
  })
  const { result, log, logged } = await runToEnd(throwing)
  expect(result).toMatchObject({ status: 'failed', error: { code: 'agent_failed', message: 'the agent failed' } })
  expect(JSON.stringify(log)).not.toContain('hunter2')
  expect(logged).toMatchObject([{ level: 'error', cause: secret }])
})

test('stopWhen completes the run after a step', async () => {
  const { model, modelCalls } = recordingModel(({ answers }) => ({
    text: `${answers}. `,
    calls: [
      { name: answers === 2 ? 'last' : 'more', input: {}, id: `c${answers}` },
      { name: 'unknown', input: {}, id: `u${answers}` },
    ],
  }))
  const seen: unknown[] = []
  const stopping = agent({
    name: 'stopping',
    model,
    tools: [named('more'), named('last')],
    maxSteps: 3,
    async stopWhen({ step, toolNames, message }) {
      seen.push([step, toolNames, callsOf(message).length])
      return toolNames.includes('last')
    },
  })
  const { result, log } = await runToEnd(stopping)
  expect(result).toMatchObject({ status: 'completed', text: '0. 1. 2. ', output: undefined })
  expect(seen).toEqual([
    [1, ['more', 'unknown'], 2],
    [2, ['more', 'unknown'], 4],
    [3, ['last', 'unknown'], 6],
  ])
  expect(modelCalls).toHaveLength(3)
  expect(chunksOf(log, 'finish')).toEqual([{ type: 'finish', finishReason: 'tool-calls' }])
})

/** Changes everything in a value that can be changed. */
function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null || value instanceof URL) return
  for (const item of Object.values(value)) spoil(item)
  if (Array.isArray(value)) value.push('spoiled')
  else Object.assign(value, { spoiled: true })
}

test('passes copies to user code: changes affect neither the session nor the model', async () => {
  const played = async (write: (value: unknown) => void) => {
    const received: unknown[] = []
    const take = tool({
      name: 'take',
      inputSchema: z.any(),
      jsonSchema: { type: 'object' },
      execute(input) {
        write(input)
        return { taken: [1] }
      },
    })
    const taker = agent({
      name: 'taker',
      model: scriptedModel(({ options, answers }) => {
        received.push(structuredClone(options.prompt))
        write(options.prompt)
        if (received.length === 2) throw new ProviderError('provider_overloaded', 'try again', { retryable: true })
        return answers < 2 ? { calls: [{ name: 'take', input: { list: [{ n: 1 }] } }] } : { text: 'Done.' }
      }),
      tools: [take],
      trimHistory(messages, { data }) {
        const kept = structuredClone(messages)
        received.push(structuredClone(data))
        write(data)
        write(messages)
        return kept
      },
      stopWhen({ message }) {
        received.push(structuredClone(message.parts))
        write(message)
        return false
      },
    })
    const start = { runId: 'r', messageId: 'm', data: { list: [1] } }
    const { result, view } = await runToEnd(taker, {}, start)
    expect(result.status).toBe('completed')
    return { received, parts: view.messages.map(({ parts }) => parts) }
  }
  expect(await played(spoil)).toEqual(await played(() => {}))
})

test('sends only the messages of trimHistory to the model, and logs all', async () => {
  const { model, modelCalls } = recordingModel(({ lastText }) => ({ text: `You said ${lastText}.` }))
  const brief = agent({
    name: 'brief',
    model,
    instructions: 'Be brief.',
    trimHistory: async (messages, { step }) => (step === 1 ? messages.slice(-3) : messages),
  })
  const { runtime } = await runToEnd(brief, {}, { input: 'one' })
  for (const word of ['two', 'three']) {
    await (await runtime.start({ agent: brief, session: 's', input: word })).result()
  }
  const texts = modelCalls.map(({ prompt }) => prompt.map(({ content }) => content))
  const text = (content: string) => [expect.objectContaining({ type: 'text', text: content })]
  expect(texts[2]).toEqual(['Be brief.', text('two'), text('You said two.'), text('three')])
  expect((await runtime.view('s')).view.messages).toHaveLength(6)
})

test('continues with the next step if no call could run', async () => {
  const { model, modelCalls } = recordingModel([
    { calls: [{ name: 'unknown', input: {}, id: 'a' }] },
    { text: 'Done.' },
  ])
  const { result, log } = await runToEnd(agent({ name: 'a', model, tools: [named('known')] }))
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(resultsIn(modelCalls[1] as never)).toEqual({
    a: { type: 'error-text', value: 'there is no tool unknown, expected one of known' },
  })
  expect(chunksOf(log, 'checkpoint-created').map(({ closesStep }) => closesStep)).toEqual([true, true])
})
