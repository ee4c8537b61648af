// Spans of calls and agents have the outcome that is in the log.

import { memoryStore } from '@millrace/log'
import type { ToolPart } from '@millrace/protocol'
import { SpanStatusCode, trace } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { approve, call, callsIn, counted, scripted, startRun, subAgentCall } from '../api/pendings.fixture.ts'
import type { RuntimeOptions } from '../api/runtime-options.ts'
import { echo, gate, quiet, testRuntime, until } from '../api/test-runtime.fixture.ts'
import { type Agent, agent } from '../define/agent.ts'
import { type AnyTool, tool } from '../define/tool.ts'
import { MillraceError, ToolError } from '../error/error.ts'
import { type ErrorCode, errorCodes } from '../error/error-codes.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import {
  type Collector,
  collector,
  driveOf,
  outputChunk,
  registerContextManager,
  registerGlobally,
  spanOf,
  textOf,
  treeOf,
} from './collector.fixture.ts'
import { errorTypeOf } from './span-error.ts'
import { Telemetry } from './telemetry.ts'

const watched = (collected: Collector, testAgent: Agent, options: Partial<RuntimeOptions> = {}) =>
  startRun(testAgent, { telemetry: collected, ...options })

/** Measured calls: the tool, its error and the count. */
async function measuredBy(collected: Collector): Promise<[unknown, unknown, number][]> {
  const { points = [] } = (await collected.metrics())['gen_ai.execute_tool.duration'] ?? {}
  return points.map(({ attributes, count }) => [attributes['gen_ai.tool.name'], attributes['error.type'], count])
}

/** A parent with two parallel calls: a child whose payment needs approval, and another tool. */
function family(siblingTool: AnyTool): Agent {
  const pay = counted('pay', true)
  const payer = scripted('payer', [{ calls: [call('pay', 'p1', { n: 1 })] }, { text: 'Paid.' }], { tools: [pay.tool] })
  const middle = scripted('middle', [{ calls: [subAgentCall('payer', 'm1')] }, { text: 'So it is.' }], {
    subAgents: [payer.agent],
  })
  const parent = scripted(
    'parent',
    [{ calls: [subAgentCall('middle', 'c1'), call(siblingTool.name, 'c2', { n: 1 })] }, { text: 'Done.' }],
    {
      subAgents: [middle.agent],
      tools: [siblingTool],
    },
  )
  return parent.agent
}

const chat = { 'chat scripted': {} }

test('records the committed error if the log rejects the output of a tool', async () => {
  const collected = collector()
  const large = 'large '.repeat(50_000)
  const tools = [
    tool({ name: 'fine', inputSchema: z.object({}), execute: () => 'secret' }),
    tool({ name: 'huge', inputSchema: z.object({}), execute: () => large }),
    tool({
      name: 'state',
      inputSchema: z.object({}),
      execute(_, { updateState }) {
        updateState(() => ({ n: 'no number' }) as never)
        return 'secret'
      },
    }),
  ]
  const child = scripted('child', [{ text: large }])
  const calls = [...tools.map(({ name }) => call(name, name)), subAgentCall('child', 'child')]
  const scriptedAgent = scripted('own', [{ calls }, { text: 'Done.' }], {
    tools,
    subAgents: [child.agent],
    stateSchema: z.object({ n: z.number() }),
    initialState: { n: 1 },
  })
  const { runtime, run } = await watched(collected, scriptedAgent.agent, { log: { maxBlobBytes: 200_000 } })
  expect((await run.result()).status).toBe('completed')
  const committed = Object.values(await callsIn(runtime)).map(({ toolName, code }: ToolPart) => [toolName, code])
  await runtime.close()
  expect(committed).toEqual([
    ['fine', undefined],
    ['huge', 'tool_output_too_large'],
    ['state', 'tool_state_refused'],
    ['child', 'tool_output_too_large'],
  ])
  const spans = collected.spans()
  for (const [name, code] of committed) {
    expect(spanOf(spans, `execute_tool ${name}`)).toMatchObject({
      status: { code: code === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
      attributes: code === undefined ? {} : { 'error.type': code },
    })
  }
  expect(spanOf(spans, 'invoke_agent child').attributes).toMatchObject({
    'millrace.status': 'failed',
    'error.type': 'tool_output_too_large',
  })
  expect(await measuredBy(collected)).toEqual(expect.arrayContaining(committed.map(labels => [...labels, 1])))
  expect(await measuredBy(collected)).toHaveLength(committed.length)
})

test('measures the time of the tool’s code without its commit', async () => {
  const collected = collector()
  const look = { toolCallId: 'c1', toolName: 'look', input: {} } as ToolPart
  const drive = driveOf(new Telemetry(collected, quiet), echo)
  const before = performance.now()
  const tool = drive.work.toolCall({ call: look, tool: undefined, step: 1 })
  tool.executed()
  const longest = performance.now() - before
  const after = performance.now()
  while (performance.now() - after < longest + 10);
  tool.settle(outputChunk(1))
  drive.end({ status: 'completed' })
  const [seconds = 0, nanoseconds = 0] = spanOf(collected.spans(), 'execute_tool look').duration
  // Times of spans are rounded.
  expect(seconds * 1000 + nanoseconds / 1e6).toBeLessThanOrEqual(longest + 1)
  const [measured] = (await collected.metrics())['gen_ai.execute_tool.duration']?.points ?? []
  expect((measured?.sum ?? Number.NaN) * 1000).toBeLessThanOrEqual(longest)
})

test('starts no second span for a waiting sub-agent, and measures it once when it ends', async () => {
  const collected = collector()
  const opened = gate()
  const slow = tool({ name: 'slow', inputSchema: z.object({}), execute: () => opened.opened })
  const { runtime, run } = await watched(collected, family(slow))
  // The others wait, and are checked again when this one is done.
  await until(run, 'tool-approval-request')
  opened.open()
  expect(await run.result()).toMatchObject({ status: 'paused' })
  await approve(runtime, 'p1')
  expect(await run.result()).toMatchObject({ status: 'completed' })
  await runtime.close()
  const spans = collected.spans()
  expect(treeOf(spans)).toEqual({
    'invoke_agent parent': {
      'step 1': {
        ...chat,
        'execute_tool slow': {},
        'execute_tool middle': {
          'invoke_agent middle': {
            'step 1': { ...chat, 'execute_tool payer': { 'invoke_agent payer': { 'step 1': chat } } },
          },
        },
      },
    },
    'invoke_agent parent (2)': {
      'step 1': {
        'execute_tool middle': {
          'invoke_agent middle': {
            'step 1': {
              'execute_tool payer': { 'invoke_agent payer': { 'step 1': { 'execute_tool pay': {} }, 'step 2': chat } },
            },
            'step 2': chat,
          },
        },
      },
      'step 2': chat,
    },
  })
  const statuses = spans
    .filter(({ name }) => name === 'execute_tool middle' || name === 'execute_tool payer')
    .map(({ attributes }) => attributes['millrace.status'])
  expect(statuses).toEqual(['paused', 'paused', undefined, undefined])
  expect((await measuredBy(collected)).sort()).toEqual([
    ['middle', undefined, 1],
    ['pay', undefined, 1],
    ['payer', undefined, 1],
    ['slow', undefined, 1],
  ])
})

test('starts no span for a sub-agent that keeps waiting', async () => {
  const collected = collector()
  const other = counted('other', true)
  const { runtime, run } = await watched(collected, family(other.tool))
  expect(await run.result()).toMatchObject({ status: 'paused', pendings: [{}, {}] })
  await approve(runtime, 'c2', false)
  let result = await run.result()
  while (result.status === 'paused' && result.pendings.length === 2) result = await run.result()
  expect(result).toMatchObject({ status: 'paused', pendings: [{ id: 'r::p1' }] })
  await runtime.close()
  const { 'invoke_agent parent (2)': second } = treeOf(collected.spans())
  expect(second).toEqual({})
})

test('starts a span each time a sub-agent continues, and measures it once', async () => {
  const collected = collector()
  const opened = gate()
  const slow = tool({ name: 'slow', inputSchema: z.object({}), execute: () => opened.opened })
  const { runtime, run } = await watched(collected, family(slow))
  await until(run, 'tool-approval-request')
  await approve(runtime, 'p1')
  await until(run, 'subagent-end')
  opened.open()
  expect(await run.result()).toMatchObject({ status: 'completed' })
  await runtime.close()
  const spans = collected.spans().filter(({ name }) => name === 'execute_tool middle')
  // It may have been answered before it waited.
  expect(spans.map(({ attributes }) => attributes['millrace.status'])).toEqual([
    ...spans.slice(1).map(() => 'paused'),
    undefined,
  ])
  expect(spans.length).toBeLessThanOrEqual(2)
  expect(await measuredBy(collected)).toContainEqual(['middle', undefined, 1])
})

test('links a continued run to its previous span, under the span of the request', () => {
  registerContextManager()
  const collected = collector()
  registerGlobally(collected)
  const telemetry = new Telemetry({}, quiet)
  trace.getTracer('app').startActiveSpan('POST /runs', request => {
    telemetry.onRequest('r')
    request.end()
  })
  driveOf(telemetry, echo).end({ status: 'paused' })
  driveOf(telemetry, echo).end({ status: 'completed' })
  driveOf(telemetry, echo, { runId: 'other' }).end({ status: 'completed' })
  driveOf(telemetry, echo).end({ status: 'completed' })
  const [request, first, second, other, again] = collected.spans()
  expect(first?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId)
  expect(first?.links).toEqual([])
  expect(second?.parentSpanContext).toBe(undefined)
  expect(second?.links.map(({ context }) => context.spanId)).toEqual([first?.spanContext().spanId])
  for (const span of [other, again]) expect(span?.links).toEqual([])
})

test('parents only the answered run, not later runs of the session', async () => {
  registerContextManager()
  const collected = collector()
  const store = memoryStore()
  const pay = counted('pay', true)
  const scriptedAgent = scripted('own', [{ calls: [call('pay', 'c1', { n: 1 })] }, { text: 'Done.' }], {
    tools: [pay.tool],
  })
  // One process drives the run. Another accepts the answer and drives other runs.
  const driver = testRuntime({ store, agents: [scriptedAgent.agent] })
  const otherRuntime = testRuntime({ store, agents: [echo], telemetry: collected })
  const run = await driver.start({ agent: scriptedAgent.agent, input: 'go', session: 's', runId: 'r' })
  expect(await run.result()).toMatchObject({ status: 'paused' })
  await collected.tracerProvider
    .getTracer('app')
    .startActiveSpan('POST /answers', span => approve(otherRuntime, 'c1').finally(() => span.end()))
  expect(await run.result()).toMatchObject({ status: 'completed' })
  const later = await driver.start({ agent: echo.program, input: 'something else', session: 's' })
  expect(await later.result()).toMatchObject({ status: 'completed' })
  await otherRuntime.close()
  expect(treeOf(collected.spans())).toEqual({
    'POST /answers': {},
    'invoke_agent echo': { 'step 1': chat },
  })
})

test('records a known error code, and _OTHER for any other', async () => {
  for (const code of Object.values(errorCodes)) expect(errorTypeOf(code)).toBe(code)
  for (const code of ['secret', 'tool_secret', '', undefined, 'toString']) expect(errorTypeOf(code)).toBe('_OTHER')
  const collected = collector()
  const code = 'tool_secret' as ErrorCode
  const careless = tool({
    name: 'careless',
    inputSchema: z.object({}),
    execute() {
      throw new ToolError('secret', { code })
    },
  })
  const calls = [call('careless', 'c1')]
  const testAgent = agent({
    name: 'own',
    tools: [careless],
    maxRetries: 0,
    model: scriptedModel(({ turnAnswers }) => {
      if (turnAnswers === 0) return { calls }
      throw new MillraceError(code, 'secret')
    }),
  }) as Agent
  const { runtime, run } = await watched(collected, testAgent)
  expect(await run.result()).toMatchObject({ status: 'failed' })
  // The log has it as it is.
  expect((await callsIn(runtime))['c1']).toMatchObject({ code })
  await runtime.close()
  const spans = collected.spans()
  const types = spans.flatMap(({ name, attributes: { 'error.type': type } }) => (type ? [[name, type]] : []))
  expect(types).toEqual([
    ['invoke_agent own', '_OTHER'],
    ['execute_tool careless', '_OTHER'],
    ['chat scripted', '_OTHER'],
  ])
  expect(textOf(spans)).not.toContain('secret')
  expect(JSON.stringify(await collected.metrics())).not.toContain('secret')
})
