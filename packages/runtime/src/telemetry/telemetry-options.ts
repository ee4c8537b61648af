import type { Attributes, MeterProvider, TracerProvider } from '@opentelemetry/api'
import type { Operation } from './semantic-conventions.ts'

/** What a span tells of, for who adds attributes to it. */
export interface SpanAbout {
  readonly operation: Operation
  readonly sessionId: string
  readonly runId: string
  readonly agentId: string
  readonly agentType: string
  readonly step?: number
  readonly node?: string
  readonly hook?: string
  readonly attempt?: number
  readonly model?: string
  readonly toolName?: string
  readonly toolCallId?: string
}

export interface TelemetryOptions {
  /** Who is told of spans; whoever is registered in the process, if nothing is said. */
  readonly tracerProvider?: TracerProvider
  /** Who is told of measures; whoever is registered in the process, if nothing is said. */
  readonly meterProvider?: MeterProvider
  /** Whether spans hold what was said: messages, instructions, what tools are given and give. They do not, if nothing is said. */
  readonly content?: boolean
  /** Attributes of one's own for each span. */
  readonly attributes?: (about: SpanAbout) => Attributes
}
