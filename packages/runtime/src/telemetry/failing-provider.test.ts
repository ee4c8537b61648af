import { type Attributes, context, type MeterProvider, type Span, type TracerProvider } from '@opentelemetry/api'
import { expect, onTestFinished, test } from 'vitest'
import { agent } from '../define/agent.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { collector, driveOf, outputChunk } from './collector.fixture.ts'
import type { Logger } from './logger.ts'
import { Telemetry } from './telemetry.ts'
import type { TelemetryOptions } from './telemetry-options.ts'

const model = scriptedModel([])
const helper = agent({ name: 'helper', model })

/** Uses all of telemetry, some of it twice. Returns the logged warnings. */
function exercise(options: TelemetryOptions): string[] {
  const collected: string[] = []
  const take: Logger['warn'] = (_, { operation }) => void collected.push(String(operation))
  const telemetry = new Telemetry(options, { warn: take, error: take })
  for (let run = 1; run <= 2; run++) {
    telemetry.onRequest('r')
    const { work, end } = driveOf(telemetry, helper, { isTakeover: true })
    const call = work.modelCall({ model, options: { prompt: [] }, step: 1, attempt: 1 })
    expect(call.within(() => 'called')).toBe('called')
    expect(() => call.within(() => { throw new RangeError('its own') })).toThrow('its own') // biome-ignore format: one line
    call.received({ type: 'text-delta', id: 't', delta: 'a' })
    call.received({ type: 'response-metadata', id: 'x', modelId: 'y' })
    call.end()
    const tool = work.toolCall({
      call: { toolCallId: 'c', toolName: 'look', input: {} } as never,
      tool: undefined,
      step: 1,
    })
    expect(tool.within(() => 1)).toBe(1)
    work.agent(helper, 'child', tool).end('completed')
    tool.settle(outputChunk({}))
    work.within(() => {})
    end({ status: 'paused' })
    driveOf(telemetry, helper, { isTakeover: true }).end({ status: 'failed', code: 'x', ms: 1 })
  }
  return collected
}

const hostile = (): never => {
  throw new Error('the hostile function throws')
}

/** Providers of which one method throws. */
function throwing(method: string): TelemetryOptions {
  const wrap = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(inner, key) {
        if (key === method) return hostile
        const value = Reflect.get(inner, key)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          const returned: unknown = value.apply(inner, args)
          return typeof returned === 'object' && returned !== null && returned !== inner ? wrap(returned) : returned
        }
      },
    })
  const { tracerProvider, meterProvider } = collector()
  return { tracerProvider: wrap<TracerProvider>(tracerProvider), meterProvider: wrap<MeterProvider>(meterProvider) }
}

test.each([
  'getTracer',
  'startSpan',
  'isRecording',
  'spanContext',
  'setAttributes',
  'setStatus',
  'end',
  'getMeter',
  'createHistogram',
  'createCounter',
  'record',
  'add',
])('logs an error of %s once and does not rethrow it', method => {
  const collected = exercise({ content: true, ...throwing(method) })
  expect(collected).toContain(method)
  expect(new Set(collected).size).toBe(collected.length)
})

test('ignores a tracer that returns no span', () => {
  for (const span of [undefined, null, 7, {}, { isRecording: () => true }]) {
    const tracerProvider = {
      getTracer: () => ({ startSpan: () => span as unknown as Span }),
    } as unknown as TracerProvider
    expect(() => exercise({ tracerProvider, content: true })).not.toThrow()
  }
})

test('ignores a meter that returns no instruments', () => {
  const meterProvider = { getMeter: () => ({ createHistogram: () => undefined, createCounter: () => null }) }
  expect(exercise({ meterProvider: meterProvider as unknown as MeterProvider })).toEqual([])
})

test.each<[string, () => unknown]>([
  ['throws', hostile],
  ['returns a promise that rejects', () => Promise.reject(new Error('later'))],
  ['returns an object that throws when it is read', () => new Proxy({}, { ownKeys: hostile })],
])('logs one warning if attributes() %s', (_, attributes) => {
  const { tracerProvider } = collector()
  const collected = exercise({ tracerProvider, attributes: attributes as () => Attributes })
  expect(collected).toHaveLength(1)
})

test('ignores attributes() that does not return an object', () => {
  const { tracerProvider } = collector()
  for (const attributes of [undefined, null, 'text', 7]) {
    expect(exercise({ tracerProvider, attributes: () => attributes as unknown as Attributes })).toEqual([])
  }
})

const managers: Record<string, (run: () => unknown) => unknown> = {
  'throws before it runs the code': hostile,
  'throws after it has run the code': run => {
    run()
    hostile()
  },
  'runs the code twice': run => {
    run()
    return run()
  },
  'never runs the code': () => undefined,
  'returns another value': run => {
    run()
    return 'something else'
  },
}

test.each(Object.entries(managers))('runs the code exactly once with a context manager that %s', (_, run) => {
  context.setGlobalContextManager({
    active: () => ({ getValue: () => undefined }) as never,
    with: (_context, code, self, ...args) => run(() => code.apply(self as never, args as never)) as never,
    bind: (_context, target) => target,
    enable: () => undefined as never,
    disable: () => undefined as never,
  })
  onTestFinished(() => context.disable())
  const { work } = driveOf(new Telemetry(collector(), { warn() {}, error() {} }), helper)
  let runs = 0
  expect(work.within(() => ++runs)).toBe(1)
  expect(() => work.within(hostile)).toThrow('the hostile function throws')
  expect(runs).toBe(1)
})

test('ignores a malformed stream part', () => {
  const { work } = driveOf(new Telemetry(collector(), { warn() {}, error() {} }), helper)
  const call = work.modelCall({ model, options: { prompt: [] }, step: 1, attempt: 1 })
  for (const part of [undefined, null, {}, { type: 'finish' }, { type: 'response-metadata', id: {} }]) {
    expect(() => call.received(part as never)).not.toThrow()
  }
  expect(() => call.end(new Proxy(new Error('x'), { get: hostile }))).not.toThrow()
})
