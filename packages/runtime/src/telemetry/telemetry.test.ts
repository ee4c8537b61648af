import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { Chunk, ToolPart } from '@millrace/protocol'
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AlwaysOffSampler, BasicTracerProvider } from '@opentelemetry/sdk-trace-base'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { quiet } from '../api/test-runtime.fixture.ts'
import { agent } from '../define/agent.ts'
import { tool } from '../define/tool.ts'
import { ProviderError } from '../error/error.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import type { AgentTelemetry } from './agent-span.ts'
import {
  collector,
  driveOf,
  errorChunk,
  outputChunk,
  registerContextManager,
  registerGlobally,
  spanOf,
  textOf,
  treeOf,
} from './collector.fixture.ts'
import { Telemetry } from './telemetry.ts'

const model = scriptedModel([])
const helper = agent({ name: 'helper', version: '7', model })
const child = agent({ name: 'child', model: () => model })
const call: ToolPart = {
  type: 'tool',
  toolCallId: 'c1',
  toolName: 'look',
  state: 'input-available',
  input: { where: 'secret place' },
} as unknown as ToolPart

const look = tool({ name: 'look', description: 'Looks', inputSchema: z.object({}), execute: () => 1 })

const parts: LanguageModelV4StreamPart[] = [
  { type: 'stream-start', warnings: [] },
  { type: 'response-metadata', id: 'resp-1', modelId: 'scripted-2' },
  { type: 'text-delta', id: 't', delta: 'secret ' },
  { type: 'text-delta', id: 't', delta: 'answer' },
  {
    type: 'finish',
    usage: {
      inputTokens: { total: 10, noCache: 6, cacheRead: 4, cacheWrite: 0 },
      outputTokens: { total: 5, text: 3, reasoning: 2 },
    },
    finishReason: { unified: 'tool-calls', raw: 'tool_use' },
  },
]

const options: LanguageModelV4CallOptions = {
  prompt: [
    { role: 'system', content: 'secret instructions' },
    { role: 'user', content: [{ type: 'text', text: 'secret question' }] },
  ],
  maxOutputTokens: 100,
  temperature: 0.5,
  topK: 3,
  seed: 42,
  stopSequences: ['END'],
  responseFormat: { type: 'json' },
}

/** Records a model call whose stream is received to its end. */
function recordModelCall(work: AgentTelemetry, step = 1): void {
  const call = work.modelCall({ model, options, step, attempt: 1 })
  for (const part of parts) call.received(part)
  call.end()
}

/** Records a tool call that is settled by a committed chunk. */
const recordToolCall = (work: AgentTelemetry, committed: Chunk, step = 1) =>
  work.toolCall({ call, tool: undefined, step }).settle(committed)

test('records the request, usage and finish reason of a model call', async () => {
  const collected = collector()
  const drive = driveOf(new Telemetry(collected, quiet), helper)
  recordModelCall(drive.work)
  drive.end({ status: 'completed', ms: 1500 })
  const chat = spanOf(collected.spans(), 'chat scripted')
  expect(chat.kind).toBe(SpanKind.CLIENT)
  expect(chat.status.code).toBe(SpanStatusCode.UNSET)
  expect(chat.attributes).toEqual({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'millrace',
    'gen_ai.request.model': 'scripted',
    'gen_ai.request.stream': true,
    'gen_ai.request.max_tokens': 100,
    'gen_ai.request.temperature': 0.5,
    'gen_ai.request.top_k': 3,
    'gen_ai.request.seed': 42,
    'gen_ai.request.stop_sequences': ['END'],
    'gen_ai.output.type': 'json',
    'gen_ai.conversation.id': 's',
    'gen_ai.agent.name': 'helper',
    'gen_ai.response.id': 'resp-1',
    'gen_ai.response.model': 'scripted-2',
    'gen_ai.response.time_to_first_chunk': expect.any(Number),
    'gen_ai.response.finish_reasons': ['tool_call'],
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 5,
    'gen_ai.usage.cache_read.input_tokens': 4,
    'gen_ai.usage.cache_creation.input_tokens': 0,
    'gen_ai.usage.reasoning.output_tokens': 2,
    'millrace.session.id': 's',
    'millrace.run.id': 'r',
    'millrace.agent.id': 'r',
    'millrace.step': 1,
    'millrace.attempt': 1,
  })
  expect(spanOf(collected.spans(), 'invoke_agent helper').attributes).toEqual({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': 'millrace',
    'gen_ai.request.model': 'scripted',
    'gen_ai.agent.name': 'helper',
    'gen_ai.agent.version': '7',
    'gen_ai.conversation.id': 's',
    'gen_ai.response.finish_reasons': ['tool_call'],
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 5,
    'gen_ai.usage.cache_read.input_tokens': 4,
    'gen_ai.usage.cache_creation.input_tokens': 0,
    'gen_ai.usage.reasoning.output_tokens': 2,
    'millrace.program': 'agent:helper@7',
    'millrace.session.id': 's',
    'millrace.run.id': 'r',
    'millrace.agent.id': 'r',
    'millrace.status': 'completed',
  })
  expect(chat.instrumentationScope).toMatchObject({
    name: '@millrace/runtime',
    schemaUrl: 'https://opentelemetry.io/schemas/1.41.0',
  })
})

test('records metrics with the names, units and buckets of the conventions', async () => {
  const collected = collector()
  const drive = driveOf(new Telemetry(collected, quiet), helper, { isTakeover: true })
  recordModelCall(drive.work)
  drive.work.modelCall({ model, options, step: 2, attempt: 1 }).end(new ProviderError('provider_overloaded', 'no'))
  recordToolCall(drive.work, outputChunk(1), 2)
  recordToolCall(drive.work, errorChunk('tool_timeout', 'late'), 2)
  drive.end({ status: 'failed', code: 'provider_overloaded', ms: 1500 })
  driveOf(new Telemetry(collected, quiet), helper).end({ status: 'paused' })
  const metrics = await collected.metrics()
  const requestAttributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'millrace',
    'gen_ai.request.model': 'scripted',
  }
  const labels = { ...requestAttributes, 'gen_ai.response.model': 'scripted-2' }
  expect(metrics['gen_ai.client.token.usage']).toMatchObject({
    unit: '{token}',
    points: [
      { attributes: { ...labels, 'gen_ai.token.type': 'input' }, count: 1, sum: 10 },
      { attributes: { ...labels, 'gen_ai.token.type': 'output' }, count: 1, sum: 5 },
    ],
  })
  expect(metrics['gen_ai.client.operation.duration']).toMatchObject({
    unit: 's',
    points: [
      { attributes: labels, count: 1 },
      { attributes: { ...requestAttributes, 'error.type': 'provider_overloaded' }, count: 1 },
    ],
  })
  const seconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
  expect(metrics['gen_ai.client.operation.duration']?.points[0]?.buckets).toEqual(seconds)
  // The model that answered is known only once it has begun to.
  expect(metrics['gen_ai.client.operation.time_to_first_chunk']).toMatchObject({
    unit: 's',
    points: [{ attributes: requestAttributes, count: 1, buckets: seconds }],
  })
  expect(metrics['gen_ai.client.operation.time_per_output_chunk']).toMatchObject({
    unit: 's',
    points: [{ attributes: labels, count: 2, buckets: seconds }],
  })
  const tool = { 'gen_ai.tool.name': 'look', 'gen_ai.tool.type': 'function', 'gen_ai.agent.name': 'helper' }
  expect(metrics['gen_ai.execute_tool.duration']).toMatchObject({
    unit: 's',
    points: [
      { attributes: tool, count: 1 },
      { attributes: { ...tool, 'error.type': 'tool_timeout' }, count: 1 },
    ],
  })
  const ended = { 'gen_ai.agent.name': 'helper', 'millrace.status': 'failed' }
  expect(metrics['millrace.run.duration']).toMatchObject({ unit: 's', points: [{ attributes: ended, sum: 1.5 }] })
  expect(metrics['millrace.runs']).toMatchObject({ unit: '{run}', points: [{ attributes: ended, count: 1 }] })
  const labelled = { attributes: { 'gen_ai.agent.name': 'helper' }, count: 1 }
  expect(metrics['millrace.takeovers']).toMatchObject({ unit: '{takeover}', points: [labelled] })
  expect(metrics['millrace.pauses']).toMatchObject({ unit: '{pause}', points: [labelled] })
})

test('nests steps, calls, tools and agents', () => {
  const collected = collector()
  const drive = driveOf(new Telemetry(collected, quiet), helper)
  recordModelCall(drive.work)
  const tool = drive.work.toolCall({ call, tool: look, step: 1 })
  const childTelemetry = drive.work.agent(child, 'child:c1', tool)
  recordModelCall(childTelemetry)
  childTelemetry.end('completed')
  tool.settle(outputChunk('seen'))
  recordModelCall(drive.work, 2)
  drive.end({ status: 'completed' })
  expect(treeOf(collected.spans())).toEqual({
    'invoke_agent helper': {
      'step 1': {
        'chat scripted': {},
        'execute_tool look': { 'invoke_agent child': { 'step 1': { 'chat scripted': {} } } },
      },
      'step 2': { 'chat scripted': {} },
    },
  })
  const spans = collected.spans()
  expect(spanOf(spans, 'execute_tool look')).toMatchObject({
    kind: SpanKind.INTERNAL,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'look',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.description': 'Looks',
      'gen_ai.tool.call.id': 'c1',
      'millrace.step': 1,
    },
  })
  // The model may differ in each step, so it is recorded when it is called.
  expect(spanOf(spans, 'invoke_agent child').attributes).toMatchObject({
    'gen_ai.request.model': 'scripted',
    'millrace.agent.id': 'child:c1',
    'millrace.run.id': 'r',
  })
  expect(spanOf(spans, 'invoke_agent helper').attributes['gen_ai.usage.input_tokens']).toBe(20)
})

test('interrupts open children when an agent ends', () => {
  const collected = collector()
  const drive = driveOf(new Telemetry(collected, quiet), helper)
  const tool = drive.work.toolCall({ call, tool: undefined, step: 1 })
  const childTelemetry = drive.work.agent(child, 'child:c1', tool)
  const modelCall = childTelemetry.modelCall({ model, options, step: 1, attempt: 1 })
  drive.end({ status: 'interrupted' })
  // A late end is ignored.
  modelCall.end()
  childTelemetry.end('completed')
  tool.settle(outputChunk(1))
  const types = collected
    .ended()
    .map(({ name, attributes }) => [name, attributes['error.type'], attributes['millrace.status']])
  expect(types).toEqual([
    ['chat scripted', 'interrupted', undefined],
    ['step 1', undefined, undefined],
    ['invoke_agent child', 'interrupted', 'interrupted'],
    ['execute_tool look', 'interrupted', undefined],
    ['step 1', undefined, undefined],
    ['invoke_agent helper', undefined, 'interrupted'],
  ])
})

test('records the code of a failure, not its message', () => {
  const collected = collector()
  const drive = driveOf(new Telemetry(collected, quiet), helper)
  drive.work.modelCall({ model, options, step: 1, attempt: 1 }).end(new ProviderError('provider_overloaded', 'secret'))
  recordToolCall(drive.work, errorChunk('tool_execution_failed', 'secret'))
  drive.end({ status: 'failed', code: 'agent_failed' })
  const types = collected.spans().map(({ name, status, attributes }) => [name, status, attributes['error.type']])
  expect(types).toEqual([
    ['invoke_agent helper', { code: SpanStatusCode.ERROR }, 'agent_failed'],
    ['step 1', { code: SpanStatusCode.UNSET }, undefined],
    ['chat scripted', { code: SpanStatusCode.ERROR }, 'provider_overloaded'],
    ['execute_tool look', { code: SpanStatusCode.ERROR }, 'tool_execution_failed'],
  ])
  expect(textOf(collected.spans())).not.toContain('secret')
})

test('records no content by default', () => {
  for (const content of [false, true]) {
    const collected = collector()
    const drive = driveOf(new Telemetry({ ...collected, content }, quiet), helper)
    recordModelCall(drive.work)
    recordToolCall(drive.work, outputChunk('secret output'))
    recordToolCall(drive.work, errorChunk('tool_execution_failed', 'secret error'))
    drive.end({ status: 'completed' })
    const text = textOf(collected.spans())
    if (!content) {
      expect(text).not.toContain('secret')
      continue
    }
    const spans = collected.spans()
    const chat = spanOf(spans, 'chat scripted').attributes
    expect(JSON.parse(String(chat['gen_ai.system_instructions']))).toEqual([
      { type: 'text', content: 'secret instructions' },
    ])
    expect(JSON.parse(String(chat['gen_ai.input.messages']))).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'secret question' }] },
    ])
    expect(JSON.parse(String(chat['gen_ai.output.messages']))).toEqual([
      { role: 'assistant', parts: [{ type: 'text', content: 'secret answer' }], finish_reason: 'tool_call' },
    ])
    const [good, bad] = spans.filter(({ name }) => name === 'execute_tool look')
    expect(good?.attributes).toMatchObject({
      'gen_ai.tool.call.arguments': '{"where":"secret place"}',
      'gen_ai.tool.call.result': '"secret output"',
    })
    expect(bad?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'secret error' })
  }
})

test('adds the attributes of the application', () => {
  const collected = collector()
  const telemetry = new Telemetry(
    { ...collected, attributes: about => ({ 'app.about': JSON.stringify(about) }) },
    quiet,
  )
  const drive = driveOf(telemetry, helper)
  recordModelCall(drive.work)
  recordToolCall(drive.work, outputChunk(1))
  drive.end({ status: 'completed' })
  const origin = { sessionId: 's', runId: 'r', agentId: 'r', agentType: 'helper' }
  expect(collected.spans().map(({ attributes }) => JSON.parse(String(attributes['app.about'])))).toEqual([
    { ...origin, operation: 'invoke_agent' },
    { ...origin, operation: 'step', step: 1 },
    { ...origin, operation: 'chat', step: 1, attempt: 1, model: 'scripted' },
    { ...origin, operation: 'execute_tool', step: 1, toolName: 'look', toolCallId: 'c1' },
  ])
})

test('uses a global provider as soon as it is registered', async () => {
  const collected = collector()
  const telemetry = new Telemetry({}, quiet)
  driveOf(telemetry, helper).end({ status: 'completed' })
  registerGlobally(collected)
  driveOf(telemetry, helper).end({ status: 'completed' })
  expect(collected.spans()).toHaveLength(1)
  expect((await collected.metrics())['millrace.runs']?.points[0]?.count).toBe(1)
})

test('reads neither content nor attributes without a provider', () => {
  const seen: string[] = []
  const spy = <T extends object>(name: string, target: T): T =>
    new Proxy(target, {
      get(inner, key) {
        seen.push(`${name}.${String(key)}`)
        return Reflect.get(inner, key)
      },
    })
  const attributes = () => {
    seen.push('attributes')
    return {}
  }
  const drive = driveOf(new Telemetry({ content: true, attributes }, quiet), helper)
  const modelCall = drive.work.modelCall({
    model,
    options: { prompt: spy('prompt', options.prompt) },
    step: 1,
    attempt: 1,
  })
  for (const part of parts) modelCall.received(spy('part', part))
  modelCall.end()
  const input = spy('input', { where: 'here' })
  drive.work.toolCall({ call: { ...call, input }, tool: undefined, step: 1 }).settle(outputChunk(spy('output', {})))
  drive.end({ status: 'completed' })
  expect(seen).toEqual([])
})

test('sets no attributes on an unsampled span, and passes its context on', () => {
  registerContextManager()
  const collected = collector()
  const unsampled = new BasicTracerProvider({ sampler: new AlwaysOffSampler(), spanProcessors: [] })
  const seen: string[] = []
  const telemetry = new Telemetry(
    {
      tracerProvider: unsampled,
      meterProvider: collected.meterProvider,
      content: true,
      attributes: () => ({ a: `${seen.push('x')}` }),
    },
    quiet,
  )
  const drive = driveOf(telemetry, helper)
  recordModelCall(drive.work)
  const within = drive.work.within(() => trace.getActiveSpan()?.spanContext())
  expect(within).toMatchObject({ traceId: expect.stringMatching(/^[0-9a-f]{32}$/), traceFlags: 0 })
  drive.end({ status: 'completed' })
  expect(seen).toEqual([])
})
