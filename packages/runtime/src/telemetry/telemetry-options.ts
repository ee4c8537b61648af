import type { Attributes, MeterProvider, TracerProvider } from '@opentelemetry/api'
import type { Operation } from './semantic-conventions.ts'

/** Describes a span, for the callback that adds attributes to it. */
export interface SpanDescription {
  /** The measured operation, such as `invoke_agent`, `chat` or `execute_tool`. */
  readonly operation: Operation
  /** Id of the session. */
  readonly sessionId: string
  /** Id of the run. */
  readonly runId: string
  /** Id of the agent in the run. For the root agent it is the run id. */
  readonly agentId: string
  /** Name of the agent's or workflow's definition. */
  readonly agentType: string
  /** Number of the step or of the node execution, from 1. Only for spans in one. */
  readonly step?: number
  /** Id of the node. Only for spans of nodes. */
  readonly node?: string
  /** Name of the hook, such as `useStep`. Only for spans of hooks. */
  readonly hook?: string
  /** Number of the attempt, from 1. Only for spans of model calls and nodes. */
  readonly attempt?: number
  /** Id of the model. Only for spans of model calls. */
  readonly model?: string
  /** Name of the tool. Only for spans of tools. */
  readonly toolName?: string
  /** Id of the call. Only for spans of tools. */
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
  /** Returns additional attributes of a span. Called synchronously when it starts. @default none */
  readonly attributes?: (span: SpanDescription) => Attributes
}
