// The SDK of OpenTelemetry, with exporters that keep spans and metrics in memory.

import type { Lane, Ticket } from '@millrace/log'
import type { Chunk, Json, RunStatus } from '@millrace/protocol'
import { type Attributes, context, metrics, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type Span,
} from '@opentelemetry/sdk-trace-base'
import { onTestFinished } from 'vitest'
import type { Agent } from '../define/agent.ts'
import type { Telemetry } from './telemetry.ts'

interface Point {
  readonly attributes: Attributes
  /** The value of a counter, or how many values a histogram has. */
  readonly count: number
  readonly sum: number | undefined
  readonly buckets: readonly number[] | undefined
}

interface Metric {
  readonly unit: string
  readonly points: readonly Point[]
}

export interface Collector {
  readonly tracerProvider: BasicTracerProvider
  readonly meterProvider: MeterProvider
  /** The ended spans, in the order of their start. */
  spans(): ReadableSpan[]
  /** The ended spans, in the order of their end. */
  ended(): ReadableSpan[]
  /** Metrics by name. */
  metrics(): Promise<Record<string, Metric>>
}

/** Collects spans and metrics. */
export function collector(): Collector {
  const exporter = new InMemorySpanExporter()
  // Start times are too coarse to order spans by them.
  const startedIds: string[] = []
  class StartRecorder extends SimpleSpanProcessor {
    override onStart(span: Span): void {
      startedIds.push(span.spanContext().spanId)
    }
  }
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new StartRecorder(exporter)] })
  const startOrderOf = (span: ReadableSpan) => startedIds.indexOf(span.spanContext().spanId)
  const reader = new PeriodicExportingMetricReader({
    exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
    exportIntervalMillis: 2 ** 30,
    exportTimeoutMillis: 2 ** 30,
  })
  const meterProvider = new MeterProvider({ readers: [reader] })
  onTestFinished(async () => {
    await meterProvider.shutdown()
    await tracerProvider.shutdown()
  })
  return {
    tracerProvider,
    meterProvider,
    spans: () => exporter.getFinishedSpans().toSorted((a, b) => startOrderOf(a) - startOrderOf(b)),
    ended: () => exporter.getFinishedSpans(),
    async metrics() {
      const { resourceMetrics } = await reader.collect()
      const byName: Record<string, Metric> = {}
      for (const { metrics: all } of resourceMetrics.scopeMetrics) {
        for (const metric of all) {
          const points =
            metric.dataPointType === DataPointType.HISTOGRAM
              ? metric.dataPoints.map(({ attributes, value }) => ({
                  attributes,
                  count: value.count,
                  sum: value.sum,
                  buckets: value.buckets.boundaries,
                }))
              : metric.dataPoints.map(({ attributes, value }) => ({
                  attributes,
                  count: value as number,
                  sum: undefined,
                  buckets: undefined,
                }))
          byName[metric.descriptor.name] = { unit: metric.descriptor.unit, points }
        }
      }
      return byName
    },
  }
}

/** Registers a context manager that follows `await`, for one test. */
export function registerContextManager(): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  onTestFinished(() => context.disable())
}

/** Names of spans, each with the names of its children. */
export interface Tree {
  readonly [name: string]: Tree
}

/** The names of spans as a tree, in the order of their start. Siblings with the same name are numbered from the second on. */
export function treeOf(spans: readonly ReadableSpan[], parentId?: string): Tree {
  const tree: Record<string, Tree> = {}
  const ids = new Set(spans.map(span => span.spanContext().spanId))
  const isChild = ({ parentSpanContext }: ReadableSpan) => {
    const id = parentSpanContext?.spanId
    return parentId === undefined ? id === undefined || !ids.has(id) : id === parentId
  }
  for (const span of spans.filter(isChild)) {
    let name = span.name
    for (let count = 2; name in tree; count++) name = `${span.name} (${count})`
    tree[name] = treeOf(spans, span.spanContext().spanId)
  }
  return tree
}

/** The span with this name. Throws unless there is exactly one. */
export function spanOf(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  const [span, ...more] = spans.filter(span => span.name === name)
  if (span && more.length === 0) return span
  throw new Error(`expected one span ${name}, found ${spans.map(span => span.name).join(', ')}`)
}

/** Everything that spans contain, as text. */
export const textOf = (spans: readonly ReadableSpan[]): string =>
  JSON.stringify(
    spans.map(({ name, attributes, events, links, status }) => ({ name, attributes, events, links, status })),
  )

/** Registers the providers of a collector globally, for one test. */
export function registerGlobally({ tracerProvider, meterProvider }: Collector): void {
  trace.setGlobalTracerProvider(tracerProvider)
  metrics.setGlobalMeterProvider(meterProvider)
  onTestFinished(() => {
    trace.disable()
    metrics.disable()
  })
}

/** The committed chunk of a successful call. */
export const outputChunk = (output: Json): Chunk => ({
  type: 'tool-output-available',
  toolCallId: 'c1',
  output,
  executor: 'server',
})

/** The committed chunk of a failed call. */
export const errorChunk = (code: string, errorText: string): Chunk => ({
  type: 'tool-output-error',
  toolCallId: 'c1',
  errorText,
  code,
  executor: 'server',
})

/** Starts the telemetry of an agent's run. `end` ends the run with a status, `ms` after its start. */
export function driveOf(
  telemetry: Telemetry,
  agent: Agent,
  { runId = 'r', isTakeover = false }: { readonly runId?: string; readonly isTakeover?: boolean } = {},
) {
  const { program } = agent
  const ticket = { run: isTakeover ? { runId, paused: false } : null } as unknown as Ticket
  const writer = { streamId: 's', main: { origin: { runId } } as Lane, ticket }
  const now = 10_000
  const drive = telemetry.drive({ writer, program, agent, clock: () => now })
  return {
    work: drive.agent,
    end({ status, code, ms }: { status: RunStatus | 'paused'; code?: string; ms?: number }): void {
      const error: Chunk[] = code === undefined ? [] : [{ type: 'error', message: 'secret', code } as Chunk]
      const last: Chunk = status === 'paused' ? { type: 'run-paused', awaits: [] } : { type: 'run-finished', status }
      drive.decided([...error, last])
      drive.end(ms === undefined ? undefined : now - ms)
    },
  }
}
