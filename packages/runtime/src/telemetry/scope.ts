import {
  type Attributes,
  type Context,
  type Link,
  type ProxyTracerProvider,
  type SpanKind,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { Guard } from './guard.ts'
import { GuardedSpan } from './guarded-span.ts'
import { Instruments } from './instruments.ts'
import type { Logger } from './logger.ts'
import { attribute, type Operation, SCHEMA_URL, SCOPE } from './semantic-conventions.ts'
import type { SpanDescription, TelemetryOptions } from './telemetry-options.ts'

/** The parent context and the identity of a span. */
export interface SpanOrigin {
  readonly context: Context
  readonly sessionId: string
  readonly runId: string
  readonly agentId: string
  readonly agentType: string
}

/** Attributes and links of a span at its start. */
export interface SpanStart {
  readonly operation: Operation
  readonly attributes: Attributes
  readonly description: Partial<SpanDescription>
  readonly links?: Link[]
}

/** Arguments of `getTracer`. */
const TRACER_ARGS = [SCOPE, undefined, { schemaUrl: SCHEMA_URL }] as const

/** The providers and settings that all spans share. */
export class Scope {
  readonly guard: Guard
  readonly instruments: Instruments
  /** Whether spans contain messages and tool data. */
  readonly content: boolean
  readonly #provider: TracerProvider | undefined
  readonly #attributes: TelemetryOptions['attributes']

  constructor({ tracerProvider, meterProvider, content = false, attributes }: TelemetryOptions, logger: Logger) {
    this.guard = new Guard(logger)
    this.instruments = new Instruments(this.guard, meterProvider)
    this.content = content
    this.#provider = tracerProvider
    this.#attributes = attributes
  }

  /** Whether a provider records spans. The global one may be registered at any time. */
  get isTracing(): boolean {
    if (this.#provider) return true
    const provider: TracerProvider & Partial<ProxyTracerProvider> = trace.getTracerProvider()
    // The global default is a proxy that has no delegate until a provider is registered.
    if (provider.getDelegateTracer === undefined) return true
    return this.guard.attempt('getTracer', () => provider.getDelegateTracer?.(...TRACER_ARGS)) !== undefined
  }

  /** Whether a provider records spans or metrics. */
  get isEnabled(): boolean {
    return this.isTracing || this.instruments.isActive
  }

  startSpan(
    name: string,
    kind: SpanKind,
    origin: SpanOrigin,
    { operation, attributes, description, links }: SpanStart,
  ): GuardedSpan {
    const { context, ...identity } = origin
    const provider = this.#provider ?? trace
    const tracer = this.guard.attempt('getTracer', () => provider.getTracer(...TRACER_ARGS))
    const allAttributes = {
      ...attributes,
      [attribute.conversation]: origin.sessionId,
      [attribute.sessionId]: origin.sessionId,
      [attribute.runId]: origin.runId,
      [attribute.agentId]: origin.agentId,
      [attribute.agentName]: origin.agentType,
    }
    const span = new GuardedSpan(
      this.guard,
      tracer,
      name,
      { kind, attributes: allAttributes, ...(links && { links }) },
      context,
    )
    if (span.isRecording) span.set(this.#applicationAttributes({ ...identity, ...description, operation }))
    return span
  }

  /** The attributes of the application's callback. */
  #applicationAttributes(description: SpanDescription): Attributes {
    const attributes: unknown = this.guard.attempt('attributes', () => this.#attributes?.(description))
    if (typeof attributes !== 'object' || attributes === null) return {}
    if (!(attributes instanceof Promise)) return attributes as Attributes
    this.guard.warnOnce(
      'attributes',
      new TypeError('telemetry.attributes: expected an object, found a promise: return the attributes synchronously'),
    )
    attributes.catch(error => this.guard.warnOnce('attributes', error))
    return {}
  }
}
