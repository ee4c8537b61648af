// Whole runs, recorded by the SDK of OpenTelemetry.

import { APICallError } from '@ai-sdk/provider'
import { memoryStore } from '@millrace/log'
import { SpanStatusCode } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { RunResult } from '../api/result.ts'
import { createRuntime, type Runtime } from '../api/runtime.ts'
import type { RuntimeOptions } from '../api/runtime-options.ts'
import { codeOf, gate, patient, testRuntime, until } from '../api/test-runtime.fixture.ts'
import { type Agent, agent } from '../define/agent.ts'
import { tool } from '../define/tool.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { type Collector, collector, registerContextManager, spanOf, textOf, treeOf } from './collector.fixture.ts'

interface Told extends Collector {
  readonly runtime: Runtime
  /** Runs an agent to its end or pause, and lets the drive end too. */
  run(agent: Agent, input?: string): Promise<RunResult>
}

function watched(agents: readonly Agent[], options: Partial<RuntimeOptions> = {}): Told {
  const collected = collector()
  const { telemetry, ...rest } = options
  const runtime = testRuntime({ agents, telemetry: { ...collected, ...telemetry }, ...rest })
  return {
    ...collected,
    runtime,
    async run(agent, input = 'secret question') {
      const run = await runtime.start({ agent, input, session: 's', runId: 'r' })
      const result = await run.result()
      await runtime.close()
      return result
    },
  }
}

const overloaded = (): APICallError =>
  new APICallError({
    message: 'overloaded by secret words',
    url: 'https://example.com',
    requestBodyValues: {},
    statusCode: 529,
    isRetryable: true,
  })

const weather = tool({
  name: 'weather',
  description: 'The weather of a city',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `secret: 21 degrees in ${city}`,
})
const broken = tool({
  name: 'broken',
  inputSchema: z.object({}),
  execute: () => {
    throw new Error('secret failure')
  },
})

/** An agent whose first attempt fails, that calls two tools of which one fails, and then answers. */
function busy(): Agent {
  let attempts = 0
  const model = scriptedModel(({ turnAnswers }) => {
    if (turnAnswers > 0) return { text: 'It is secret.', usage: { input: 20, output: 3 } }
    if (++attempts === 1) throw overloaded()
    const calls = [
      { name: 'weather', input: { city: 'Secretville' }, id: 'c1' },
      { name: 'broken', input: {}, id: 'c2' },
    ]
    return { reasoning: 'secret thought', calls, usage: { input: 10, output: 2 } }
  })
  const settings = { temperature: 0.2, maxOutputTokens: 50 }
  return agent({ name: 'busy', model, tools: [weather, broken], settings, instructions: 'Be secret.' }) as Agent
}

const typesOf = (spans: readonly ReadableSpan[]) =>
  Object.fromEntries(spans.flatMap(({ name, attributes: { 'error.type': type } }) => (type ? [[name, type]] : [])))

test('records each step, failed attempts and failed tools, and no content', async () => {
  const collected = watched([busy()])
  expect(await collected.run(busy())).toMatchObject({ status: 'completed' })
  const spans = collected.spans()
  expect(treeOf(spans)).toEqual({
    'invoke_agent busy': {
      'step 1': { 'chat scripted': {}, 'chat scripted (2)': {}, 'execute_tool weather': {}, 'execute_tool broken': {} },
      'step 2': { 'chat scripted': {} },
    },
  })
  expect(typesOf(spans)).toEqual({
    'chat scripted': 'provider_overloaded',
    'execute_tool broken': 'tool_execution_failed',
  })
  const chats = spans.filter(({ name }) => name === 'chat scripted')
  expect(chats.map(({ status }) => status)).toEqual([
    { code: SpanStatusCode.ERROR },
    { code: SpanStatusCode.UNSET },
    { code: SpanStatusCode.UNSET },
  ])
  expect(chats.map(({ attributes }) => attributes['millrace.attempt'])).toEqual([1, 2, 1])
  expect(chats[1]?.attributes).toMatchObject({
    'gen_ai.request.temperature': 0.2,
    'gen_ai.request.max_tokens': 50,
    'gen_ai.response.finish_reasons': ['tool_call'],
    'gen_ai.usage.input_tokens': 10,
  })
  expect(spanOf(spans, 'invoke_agent busy').attributes).toMatchObject({
    'gen_ai.conversation.id': 's',
    'millrace.run.id': 'r',
    'millrace.program': 'agent:busy@1',
    'millrace.status': 'completed',
    'gen_ai.usage.input_tokens': 30,
    'gen_ai.usage.output_tokens': 5,
  })
  expect(spanOf(spans, 'execute_tool weather').attributes['gen_ai.tool.description']).toBe('The weather of a city')
  for (const { attributes } of spans)
    expect(attributes).toMatchObject({ 'gen_ai.conversation.id': 's', 'millrace.run.id': 'r' })
  // Not in any name, attribute, event, link or status.
  expect(textOf(spans)).not.toMatch(/secret/i)
  const metrics = await collected.metrics()
  expect(JSON.stringify(metrics)).not.toMatch(/secret/i)
  expect(metrics['gen_ai.client.operation.duration']?.points.map(({ count }) => count)).toEqual([1, 2])
  expect(metrics['millrace.runs']?.points).toMatchObject([{ attributes: { 'millrace.status': 'completed' }, count: 1 }])
  expect(metrics['millrace.run.duration']?.points[0]?.sum).toBeGreaterThanOrEqual(0)
  expect(metrics['millrace.pauses']).toBe(undefined)
})

test('records messages and tool data with content: true', async () => {
  const collected = watched([busy()], { telemetry: { content: true } })
  await collected.run(busy())
  const spans = collected.spans()
  const [, first, last] = spans.filter(({ name }) => name === 'chat scripted')
  const json = (span: ReadableSpan | undefined, name: string) => JSON.parse(String(span?.attributes[name]))
  expect(json(first, 'gen_ai.system_instructions')).toEqual([{ type: 'text', content: 'Be secret.' }])
  expect(json(first, 'gen_ai.input.messages')).toEqual([
    { role: 'user', parts: [{ type: 'text', content: 'secret question' }] },
  ])
  expect(json(first, 'gen_ai.output.messages')).toEqual([
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', content: 'secret thought' },
        { type: 'tool_call', id: 'c1', name: 'weather', arguments: { city: 'Secretville' } },
        { type: 'tool_call', id: 'c2', name: 'broken', arguments: {} },
      ],
      finish_reason: 'tool_call',
    },
  ])
  expect(json(last, 'gen_ai.input.messages').at(-1)).toEqual({
    role: 'tool',
    parts: [
      { type: 'tool_call_response', id: 'c1', response: 'secret: 21 degrees in Secretville' },
      { type: 'tool_call_response', id: 'c2', response: 'broken failed' },
    ],
  })
  expect(json(last, 'gen_ai.output.messages')).toMatchObject([{ parts: [{ type: 'text', content: 'It is secret.' }] }])
  expect(json(spanOf(spans, 'execute_tool weather'), 'gen_ai.tool.call.arguments')).toEqual({ city: 'Secretville' })
  expect(json(spanOf(spans, 'execute_tool weather'), 'gen_ai.tool.call.result')).toBe(
    'secret: 21 degrees in Secretville',
  )
  // The error of a tool is only logged.
  expect(textOf(spans)).not.toContain('secret failure')
})

const payer = agent({
  name: 'payer',
  tools: [tool({ name: 'pay', inputSchema: z.object({}), approval: true, execute: () => 'paid' })],
  model: scriptedModel([{ calls: [{ name: 'pay', input: {}, id: 'c1' }] }, { text: 'Done.' }]),
})

test('starts a new span when a paused run continues, linked to the first, under the span of the answer', async () => {
  registerContextManager()
  const collected = watched([payer])
  const app = collected.tracerProvider.getTracer('app')
  const within = <T>(name: string, code: () => Promise<T>) =>
    app.startActiveSpan(name, span => code().finally(() => span.end()))
  const run = await within('POST /runs', () =>
    collected.runtime.start({ agent: payer, input: 'go', session: 's', runId: 'r' }),
  )
  expect(await run.result()).toMatchObject({ status: 'paused' })
  await within('POST /answers', () => collected.runtime.answer('s', { kind: 'approval', id: 'r::c1', approved: true }))
  expect(await run.result()).toMatchObject({ status: 'completed' })
  await collected.runtime.close()
  const spans = collected.spans()
  expect(treeOf(spans)).toEqual({
    'POST /runs': { 'invoke_agent payer': { 'step 1': { 'chat scripted': {} } } },
    'POST /answers': {
      'invoke_agent payer': { 'step 1': { 'execute_tool pay': {} }, 'step 2': { 'chat scripted': {} } },
    },
  })
  const [first, second] = spans.filter(({ name }) => name === 'invoke_agent payer')
  expect(first?.attributes['millrace.status']).toBe('paused')
  expect(second?.attributes['millrace.status']).toBe('completed')
  expect(second?.links.map(({ context }) => context)).toEqual([first?.spanContext()])
  for (const drive of [first, second]) {
    expect(drive?.attributes).toMatchObject({ 'millrace.run.id': 'r', 'gen_ai.conversation.id': 's' })
    expect(drive?.attributes).not.toHaveProperty('millrace.takeover')
  }
  const metrics = await collected.metrics()
  expect(metrics['millrace.pauses']?.points).toMatchObject([{ attributes: { 'gen_ai.agent.name': 'payer' }, count: 1 }])
  expect(metrics['millrace.runs']?.points).toMatchObject([{ count: 1 }])
  expect(metrics['millrace.takeovers']).toBe(undefined)
})

test('nests sub-agents under their calls, also waiting and failed ones', async () => {
  const fine = agent({ name: 'fine', model: scriptedModel([{ text: 'secret result' }]) })
  const failing = agent({
    name: 'failing',
    maxRetries: 0,
    model: scriptedModel(() => {
      throw overloaded()
    }),
  })
  const parent = agent({
    name: 'parent',
    subAgents: [fine, failing, payer],
    model: scriptedModel(({ turnAnswers }) => {
      const calls = ['fine', 'failing', 'payer'].map(name => ({ name, input: { prompt: `secret ${name}` }, id: name }))
      return turnAnswers === 0 ? { calls } : { text: 'Done.' }
    }),
  })
  const collected = watched([parent])
  expect(await collected.run(parent)).toMatchObject({ status: 'paused' })
  const spans = collected.spans()
  const chat = { 'step 1': { 'chat scripted': {} } }
  expect(treeOf(spans)).toEqual({
    'invoke_agent parent': {
      'step 1': {
        'chat scripted': {},
        'execute_tool fine': { 'invoke_agent fine': chat },
        'execute_tool failing': { 'invoke_agent failing': chat },
        'execute_tool payer': { 'invoke_agent payer': chat },
      },
    },
  })
  const statusOf = (name: string) => spanOf(spans, `invoke_agent ${name}`).attributes['millrace.status']
  expect(['fine', 'failing', 'payer', 'parent'].map(statusOf)).toEqual(['completed', 'failed', 'paused', 'paused'])
  expect(typesOf(spans)).toEqual({
    'chat scripted': 'provider_overloaded',
    'invoke_agent failing': 'provider_overloaded',
    'execute_tool failing': 'subagent_failed',
  })
  expect(spanOf(spans, 'invoke_agent fine').attributes).toMatchObject({
    'millrace.agent.id': 'fine:fine',
    'millrace.run.id': 'r',
    'gen_ai.agent.name': 'fine',
  })
  expect(textOf(spans)).not.toMatch(/secret/i)
})

test('records a stopped run and its interrupted children', async () => {
  const slow = patient(gate())
  const collected = watched([slow])
  const run = await collected.runtime.start({ agent: slow, input: 'go', session: 's', runId: 'r' })
  await until(run, 'text-delta')
  await run.stop({ mode: 'abort' })
  expect((await run.result()).status).toBe('aborted')
  await collected.runtime.close()
  const spans = collected.spans()
  expect(treeOf(spans)).toEqual({ 'invoke_agent patient': { 'step 1': { 'chat patient': {} } } })
  expect(typesOf(spans)).toEqual({ 'chat patient': 'interrupted' })
  expect(spanOf(spans, 'invoke_agent patient')).toMatchObject({
    status: { code: SpanStatusCode.UNSET },
    attributes: { 'millrace.status': 'aborted' },
  })
})

test('records the error code of a failed run', async () => {
  const failing = agent({
    name: 'failing',
    maxRetries: 0,
    model: scriptedModel(() => {
      throw overloaded()
    }),
  })
  const collected = watched([failing])
  expect((await collected.run(failing)).status).toBe('failed')
  expect(spanOf(collected.spans(), 'invoke_agent failing')).toMatchObject({
    status: { code: SpanStatusCode.ERROR },
    attributes: { 'millrace.status': 'failed', 'error.type': 'provider_overloaded' },
  })
  expect((await collected.metrics())['millrace.runs']?.points).toMatchObject([
    { attributes: { 'millrace.status': 'failed' } },
  ])
})

test('records a handover and a takeover in the spans of both drivers', async () => {
  const store = memoryStore()
  const opened = gate()
  const slow = patient(opened)
  const [first, second] = [collector(), collector()]
  const one = testRuntime({ store, agents: [slow], telemetry: first, engine: { pollMs: 10, graceMs: 0 } })
  const run = await one.start({ agent: slow, input: 'go', session: 's', runId: 'r' })
  await until(run, 'text-delta')
  // There is no commit soon, so the work in flight is aborted.
  await one.close()
  opened.open()
  const two = testRuntime({ store, agents: [slow], telemetry: second })
  expect((await two.run('s', 'r').result()).status).toBe('completed')
  await two.close()
  expect(spanOf(first.spans(), 'invoke_agent patient').attributes).toMatchObject({
    'millrace.status': 'lost',
    'error.type': 'closed',
  })
  expect(spanOf(second.spans(), 'invoke_agent patient').attributes).toMatchObject({
    'millrace.status': 'completed',
    'millrace.takeover': true,
  })
  expect((await second.metrics())['millrace.takeovers']?.points).toMatchObject([{ count: 1 }])
  expect((await first.metrics())['millrace.takeovers']).toBe(undefined)
})

test.each([
  ['telemetry', 7, 'telemetry: expected an object, found a number'],
  [
    'tracerProvider',
    { tracerProvider: {} },
    'telemetry.tracerProvider: expected an OpenTelemetry provider, found an object',
  ],
  ['content', { content: 'yes' }, 'telemetry.content: expected true or false, found a string'],
  ['attributes', { attributes: {} }, 'telemetry.attributes: expected a function, found an object'],
])('rejects an invalid option: %s', async (_, telemetry, message) => {
  const make = async () => createRuntime({ store: memoryStore(), telemetry: telemetry as never })
  await expect(make()).rejects.toThrow(message)
  expect(await codeOf(make())).toBe('validation_failed')
})
