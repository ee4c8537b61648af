import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { type AgentContext, agent } from '../../define/agent.ts'
import { type AnyTool, type ToolContext, tool } from '../../define/tool.ts'
import { VirtualCluster } from '../../drive/virtual-processes.fixture.ts'
import { ProviderError } from '../../error/error.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { callsOf, chunksOf, heardModel, play, resultsIn } from './play.fixture.ts'

const input = z.object({})
const named = (name: string) => tool({ name, inputSchema: input, description: `The ${name}.`, execute: () => name })
const toolNames = ({ tools = [] }: LanguageModelV4CallOptions): string[] => tools.map(({ name }) => name)
const system = ({ prompt }: LanguageModelV4CallOptions): unknown =>
  prompt.filter(({ role }) => role === 'system').map(({ content }) => content)

test('model, instructions and tools may be computed, afresh in each step, from where the agent stands', async () => {
  const contexts: AgentContext[] = []
  const one = heardModel([{ calls: [{ name: 'count', input: {}, id: 'a' }] }])
  const two = heardModel([{}, { calls: [{ name: 'other', input: {}, id: 'b' }] }, { text: 'Done.' }])
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
  const { result } = await play(computed, {}, { runId: 'r', context: { user: 'ann' }, data: 'hi' })
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
  const heard = [...one.heard, ...two.heard]
  expect(heard.map(system)).toEqual([
    ['Step 1 for ann, who said hi: 0.'],
    ['Step 2 for ann, who said hi: 1.'],
    ['Step 3 for ann, who said hi: 1.'],
  ])
  expect(heard.map(toolNames)).toEqual([['count'], ['other'], ['other']])
  const [first] = contexts
  expect(first).toMatchObject({ sessionId: 's', runId: 'r', agentId: 'r', agentType: 'computed', step: 1 })
  expect(first?.abortSignal).toBeInstanceOf(AbortSignal)
})

test('what an agent’s code does to the state that it is given changes nothing', async () => {
  const { model } = heardModel([{ calls: [{ name: 'see', input: {} }] }, { text: 'Done.' }])
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
  const { result, view } = await play(writer)
  expect(callsOf(result.message)).toMatchObject([{ output: { list: [] } }])
  expect(view.state).toEqual({ list: [] })
})

test('the model is told of its tools: names, what they do, and their JSON Schemas', async () => {
  const { model, heard } = heardModel([{ text: 'Done.' }])
  const strict = tool({
    name: 'strict',
    description: 'The strict.',
    strict: true,
    inputSchema: z.object({ n: z.number() }),
    execute: () => 1,
  })
  await play(agent({ name: 'a', model, tools: [named('plain'), strict] }))
  expect(heard[0]?.tools).toEqual([
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

test('calls run with the tools of their own step, though the next has others', async () => {
  const { model, heard } = heardModel([
    { calls: [{ name: 'early', input: {}, id: 'a' }] },
    { calls: [{ name: 'early', input: {}, id: 'b' }] },
    { text: 'Done.' },
  ])
  const changing = agent({ name: 'changing', model, tools: ({ step }) => [named(step === 1 ? 'early' : 'late')] })
  const { result } = await play(changing)
  expect(heard.map(toolNames)).toEqual([['early'], ['late'], ['late']])
  // The model may still call by a name that it knows from before: it is told that there is none.
  expect(callsOf(result.message)).toMatchObject([
    { toolCallId: 'a', output: 'early' },
    { toolCallId: 'b', state: 'output-error', errorText: 'there is no tool early, expected one of late' },
  ])
})

/** Makes a call in a process that dies meanwhile, and lets another go on with these tools. */
async function takenOver(tools: readonly AnyTool[]) {
  const stage = new VirtualCluster()
  const keys: string[] = []
  const { model } = heardModel([{ calls: [{ name: 'pay', input: {}, id: 'a' }] }, { text: 'Done.' }])
  const pay = tool({
    name: 'pay',
    inputSchema: input,
    execute(_input, { idempotencyKey }) {
      keys.push(idempotencyKey)
      return new Promise(() => {})
    },
  })
  const owner = stage.process(() => [agent({ name: 'payer', model, tools: [pay] })])
  await owner.runtime.start({ agent: 'payer', session: 's', runId: 'r', input: 'Go.' })
  await stage.seen('s', ({ chunk }) => chunk.type === 'checkpoint-created')
  await stage.clock.advance(1)
  owner.kill()
  stage.process(() => [agent({ name: 'payer', model, tools })])
  expect(await stage.ended('s', 'r')).toBe('completed')
  const view = await stage.view('s')
  return { keys, calls: callsOf(view.messages.at(-1)) }
}

test('a call whose tool is gone when it is to run is an error for the model', async () => {
  const { keys, calls } = await takenOver([named('other')])
  expect(keys).toEqual(['s/r/a'])
  expect(calls).toMatchObject([
    { state: 'output-error', code: 'tool_execution_failed', errorText: 'there is no tool pay any more' },
  ])
})

test('a call that was cut off is tried again under the same key', async () => {
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
  ['two tools of one name', [named('x'), named('x')], 'agent broken: tools: duplicate name x'],
  ['no tools at all', undefined, 'agent broken: tools: expected an array, found undefined'],
])('an agent that computes %s fails, and says why', async (_, tools, message) => {
  const { model } = heardModel([{ text: 'Done.' }])
  const { result } = await play(agent({ name: 'broken', model, tools: () => tools as [] }))
  expect(result).toMatchObject({ status: 'failed', error: { code: 'validation_failed', message } })
})

test('an agent that computes no model fails, and says why', async () => {
  const { result } = await play(agent({ name: 'broken', model: () => undefined as never }))
  expect(result).toMatchObject({ status: 'failed', error: { code: 'validation_failed' } })
  expect(result.error?.message).toMatch(/^agent broken: model: expected a model .*found undefined$/)
})

test('what an agent’s own code throws is hidden, and ends the run', async () => {
  const secret = new Error('password=hunter2')
  const { model } = heardModel([{ text: 'Done.' }])
  const throwing = agent({
    name: 'throwing',
    model,
    instructions() {
      throw secret
    },
  })
  const { result, log, told } = await play(throwing)
  expect(result).toMatchObject({ status: 'failed', error: { code: 'agent_failed', message: 'the agent failed' } })
  expect(JSON.stringify(log)).not.toContain('hunter2')
  expect(told).toMatchObject([{ level: 'error', cause: secret }])
})

test('stopWhen ends the run after a step that it names, as completed', async () => {
  const { model, heard } = heardModel(({ answers }) => ({
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
  const { result, log } = await play(stopping)
  expect(result).toMatchObject({ status: 'completed', text: '0. 1. 2. ', output: undefined })
  expect(seen).toEqual([
    [1, ['more', 'unknown'], 2],
    [2, ['more', 'unknown'], 4],
    [3, ['last', 'unknown'], 6],
  ])
  expect(heard).toHaveLength(3)
  expect(chunksOf(log, 'finish')).toEqual([{ type: 'finish', finishReason: 'tool-calls' }])
})

/** Writes into all of something that can be written into. */
function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null || value instanceof URL) return
  for (const item of Object.values(value)) spoil(item)
  if (Array.isArray(value)) value.push('spoiled')
  else Object.assign(value, { spoiled: true })
}

test('what code is given it may write into: the session, and what the model is told of it, stay as they are', async () => {
  const played = async (write: (value: unknown) => void) => {
    const told: unknown[] = []
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
        told.push(structuredClone(options.prompt))
        write(options.prompt)
        if (told.length === 2) throw new ProviderError('provider_overloaded', 'try again', { retryable: true })
        return answers < 2 ? { calls: [{ name: 'take', input: { list: [{ n: 1 }] } }] } : { text: 'Done.' }
      }),
      tools: [take],
      trimHistory(messages, { data }) {
        const kept = structuredClone(messages)
        told.push(structuredClone(data))
        write(data)
        write(messages)
        return kept
      },
      stopWhen({ message }) {
        told.push(structuredClone(message.parts))
        write(message)
        return false
      },
    })
    const start = { runId: 'r', messageId: 'm', data: { list: [1] } }
    const { result, view } = await play(taker, {}, start)
    expect(result.status).toBe('completed')
    return { told, parts: view.messages.map(({ parts }) => parts) }
  }
  expect(await played(spoil)).toEqual(await played(() => {}))
})

test('trimHistory decides what of the conversation the model is sent; the log keeps all of it', async () => {
  const { model, heard } = heardModel(({ lastText }) => ({ text: `You said ${lastText}.` }))
  const brief = agent({
    name: 'brief',
    model,
    instructions: 'Be brief.',
    trimHistory: async (messages, { step }) => (step === 1 ? messages.slice(-3) : messages),
  })
  const { runtime } = await play(brief, {}, { input: 'one' })
  for (const word of ['two', 'three']) {
    await (await runtime.start({ agent: brief, session: 's', input: word })).result()
  }
  const texts = heard.map(({ prompt }) => prompt.map(({ content }) => content))
  const text = (said: string) => [expect.objectContaining({ type: 'text', text: said })]
  expect(texts[2]).toEqual(['Be brief.', text('two'), text('You said two.'), text('three')])
  expect((await runtime.view('s')).view.messages).toHaveLength(6)
})

test('a step in which no call could run is followed by the next', async () => {
  const { model, heard } = heardModel([{ calls: [{ name: 'unknown', input: {}, id: 'a' }] }, { text: 'Done.' }])
  const { result, log } = await play(agent({ name: 'a', model, tools: [named('known')] }))
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(resultsIn(heard[1] as never)).toEqual({
    a: { type: 'error-text', value: 'there is no tool unknown, expected one of known' },
  })
  expect(chunksOf(log, 'checkpoint-created').map(({ closesStep }) => closesStep)).toEqual([true, true])
})
