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
import type { SpanAbout, TelemetryOptions } from './telemetry-options.ts'

/** Where something happens: what it is told under, and whose it is. */
export interface SpanPlace {
  readonly context: Context
  readonly sessionId: string
  readonly runId: string
  readonly agentId: string
  readonly agentType: string
}

/** What a span begins with. */
export interface SpanStart {
  readonly operation: Operation
  readonly attributes: Attributes
  readonly about: Partial<SpanAbout>
  readonly links?: Link[]
}

/** By what name spans are told. */
const SCOPED = [SCOPE, undefined, { schemaUrl: SCHEMA_URL }] as const

/** What everything that is told of needs: who is told, and of how much. */
export class Scope {
  readonly guard: Guard
  readonly instruments: Instruments
  /** Whether what was said is told too. */
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

  /** Whether anybody is told of spans; the provider of the process may be registered at any time. */
  get isTracing(): boolean {
    if (this.#provider) return true
    const provider: TracerProvider & Partial<ProxyTracerProvider> = trace.getTracerProvider()
    // Until one is registered a proxy stands there that has nobody to pass anything on to.
    if (provider.getDelegateTracer === undefined) return true
    return this.guard.attempt('getTracer', () => provider.getDelegateTracer?.(...SCOPED)) !== undefined
  }

  /** Whether anybody is told of anything. */
  get isEnabled(): boolean {
    return this.isTracing || this.instruments.isActive
  }

  startSpan(
    name: string,
    kind: SpanKind,
    place: SpanPlace,
    { operation, attributes, about, links }: SpanStart,
  ): GuardedSpan {
    const { context, ...whose } = place
    const provider = this.#provider ?? trace
    const tracer = this.guard.attempt('getTracer', () => provider.getTracer(...SCOPED))
    const named = {
      ...attributes,
      [attribute.conversation]: place.sessionId,
      [attribute.sessionId]: place.sessionId,
      [attribute.runId]: place.runId,
      [attribute.agentId]: place.agentId,
      [attribute.agentName]: place.agentType,
    }
    const span = new GuardedSpan(
      this.guard,
      tracer,
      name,
      { kind, attributes: named, ...(links && { links }) },
      context,
    )
    if (span.isRecording) span.set(this.#own({ ...whose, ...about, operation }))
    return span
  }

  /** The attributes that the application adds. */
  #own(about: SpanAbout): Attributes {
    const own: unknown = this.guard.attempt('attributes', () => this.#attributes?.(about))
    if (typeof own !== 'object' || own === null) return {}
    if (!(own instanceof Promise)) return own as Attributes
    this.guard.warnOnce(
      'attributes',
      new TypeError('telemetry.attributes: expected attributes, found a promise of them'),
    )
    own.catch(error => this.guard.warnOnce('attributes', error))
    return {}
  }
}
