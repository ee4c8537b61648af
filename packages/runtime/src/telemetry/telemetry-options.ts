import type { Attributes, MeterProvider, TracerProvider } from '@opentelemetry/api'
import type { Operation } from './semantic-conventions.ts'

/** Describes a span, for the callback that adds attributes to it. */
export interface SpanDescription {
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

/** Options of the telemetry. */
export interface TelemetryOptions {
  /** Receives spans. @default the globally registered provider */
  readonly tracerProvider?: TracerProvider
  /** Receives metrics. @default the globally registered provider */
  readonly meterProvider?: MeterProvider
  /** Whether spans contain messages, instructions, and inputs and outputs of tools. @default false */
  readonly content?: boolean
  /** Returns additional attributes of a span. Called when it starts. */
  readonly attributes?: (about: SpanDescription) => Attributes
}
