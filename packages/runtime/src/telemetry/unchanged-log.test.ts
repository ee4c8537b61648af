// Hostile telemetry providers in whole runs: the logs are the same as without telemetry.

import { trace } from '@opentelemetry/api'
import { BasicTracerProvider, SimpleSpanProcessor, type SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { logOf, testRuntime } from '../api/test-runtime.fixture.ts'
import { agent } from '../define/agent.ts'
import { tool } from '../define/tool.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import type { TelemetryOptions } from './telemetry-options.ts'

const hostile = (): never => {
  throw new Error('the hostile function throws')
}

const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'seen' })
const bad = tool({ name: 'bad', inputSchema: z.object({}), execute: hostile })
const child = agent({ name: 'child', model: scriptedModel([{ text: 'I helped.' }]) })
const pay = tool({ name: 'pay', inputSchema: z.object({}), approval: true, execute: () => 'paid' })
const worker = agent({
  name: 'worker',
  tools: [look, bad, pay],
  subAgents: [child],
  model: scriptedModel([
    {
      text: 'Let me see.',
      calls: [
        { name: 'look', input: {}, id: 'c1' },
        { name: 'bad', input: {}, id: 'c2' },
        { name: 'child', input: { prompt: 'help' }, id: 'c3' },
        { name: 'pay', input: {}, id: 'c4' },
      ],
    },
    { text: 'Done.' },
  ]),
})

/** Runs everything that telemetry observes. Returns the log and the warnings. Calls run one at a time, so that the log is always the same. */
async function logAndWarningsOf(telemetry?: TelemetryOptions) {
  const warned: unknown[] = []
  const take = (message: string, fields: object) =>
    void (message.startsWith('telemetry') && warned.push('operation' in fields && fields.operation))
  const runtime = testRuntime({
    agents: [{ ...worker, parallelCalls: 1 }],
    logger: { warn: take, error() {} },
    ...(telemetry && { telemetry }),
  })
  const run = await runtime.start({ agent: worker, input: 'go', messageId: 'm', session: 's', runId: 'r' })
  expect(await run.result()).toMatchObject({ status: 'paused' })
  await runtime.answer('s', { kind: 'approval', id: 'r::c4', approved: true })
  const { status, text } = await run.result()
  expect(status).toBe('completed')
  await runtime.close()
  // How deltas are merged depends on the timing.
  const log = (await logOf(runtime, 's')).filter(({ chunk }) => !chunk.type.endsWith('-delta'))
  return { content: [text, ...log.map(({ chunk, origin }) => JSON.stringify({ chunk, origin }))], warned }
}

/** A provider whose objects throw on any use, or on one kind of use. */
function provider<T>(method?: string): T {
  const thing: object = new Proxy(() => thing, {
    get: (_, key) => {
      if (method === undefined || key === method) return hostile
      // Claims to record, so that all methods are called.
      return key === 'isRecording' ? () => true : thing
    },
    has: () => true,
    apply: () => thing,
  })
  return thing as T
}

const methods = ['startSpan', 'setAttributes', 'end', 'setStatus', 'isRecording', 'createHistogram', 'record', 'add']
const tracers = (processor: SpanProcessor) => ({
  tracerProvider: new BasicTracerProvider({ spanProcessors: [processor] }),
})
const nothing = async () => {}

/** Telemetry options, and the operations whose failure is logged. */
const FAILING: Record<string, readonly [TelemetryOptions, readonly string[]]> = {
  'everything throws': [{ tracerProvider: provider(), meterProvider: provider() }, ['getTracer', 'getMeter']],
  ...Object.fromEntries(
    methods.map(method => [
      `${method} throws`,
      [{ tracerProvider: provider(method), meterProvider: provider(method), content: true }, [method]],
    ]),
  ),
  // The SDK catches the error.
  'an exporter throws': [tracers(new SimpleSpanProcessor({ export: hostile, shutdown: nothing })), []],
  'a span processor throws': [
    tracers({ onStart: hostile, onEnd: hostile, forceFlush: nothing, shutdown: nothing }),
    ['startSpan'],
  ],
  'attributes() throws': [{ tracerProvider: new BasicTracerProvider(), attributes: hostile }, ['attributes']],
  'attributes() returns an invalid value': [
    { tracerProvider: new BasicTracerProvider(), attributes: () => ({ a: Symbol('a') as never, b: hostile as never }) },
    [],
  ],
}

test.each(Object.entries(FAILING))('writes the same log as without telemetry: %s', async (_, [telemetry, kinds]) => {
  const alone = await logAndWarningsOf()
  const watched = await logAndWarningsOf(telemetry)
  expect(watched.content).toEqual(alone.content)
  expect(alone.warned).toEqual([])
  expect(watched.warned).toEqual(kinds)
})

test('runs code under a failing tracer as without one', async () => {
  const seen: unknown[] = []
  const curious = agent({
    name: 'curious',
    tools: [tool({ name: 'look', inputSchema: z.object({}), execute: () => seen.push(trace.getActiveSpan()) })],
    model: scriptedModel([{ calls: [{ name: 'look', input: {} }] }, { text: 'Done.' }]),
  })
  const runtime = testRuntime({ agents: [curious], telemetry: { tracerProvider: provider() } })
  expect(await (await runtime.start({ agent: curious, input: 'go' })).result()).toMatchObject({ status: 'completed' })
  expect(seen).toEqual([undefined])
})
