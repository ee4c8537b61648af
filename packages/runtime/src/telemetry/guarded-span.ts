import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { Guard } from './guard.ts'
import { attribute } from './semantic-conventions.ts'

/** A context whose spans are children of `parent`. */
export const contextUnder = (parent: SpanContext | undefined): Context =>
  parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT

/** The context of a span; undefined if it is not valid, because no provider records the span. */
export function spanContextOf(span: Span | undefined): SpanContext | undefined {
  const spanContext = span?.spanContext()
  return spanContext && trace.isSpanContextValid(spanContext) ? spanContext : undefined
}

/** A span that never throws: failures of the provider are ignored and logged once. */
export class GuardedSpan {
  /** The context for children. */
  readonly context: Context
  readonly isRecording: boolean
  readonly #guard: Guard
  readonly #span: Span | undefined
  #isEnded = false

  constructor(guard: Guard, tracer: Tracer | undefined, name: string, options: SpanOptions, parent: Context) {
    this.#guard = guard
    const span = guard.attempt('startSpan', () => tracer?.startSpan(name, options, parent))
    this.#span = span ?? undefined
    this.context = guard.attempt('setSpan', () => span && trace.setSpan(parent, span)) ?? parent
    this.isRecording = guard.attempt('isRecording', () => span?.isRecording()) === true
  }

  get spanContext(): SpanContext | undefined {
    return this.#guard.attempt('spanContext', () => spanContextOf(this.#span))
  }

  set(attributes: Attributes): void {
    if (!this.isRecording) return
    this.#guard.attempt('setAttributes', () => this.#span?.setAttributes(attributes))
  }

  /** Runs code exactly once with this span as the active one, also if the context manager fails. */
  within<T>(code: () => T): T {
    let done: { readonly value: T } | { readonly error: unknown } | undefined
    const run = () => {
      if (done) return
      // Set before the call: a context manager may call it twice.
      done = { error: undefined }
      try {
        done = { value: code() }
      } catch (error) {
        done = { error }
      }
    }
    this.#guard.attempt('context.with', () => context.with(this.context, run))
    run()
    const { value, error } = done as unknown as { readonly value: T; readonly error?: unknown }
    if (done && 'error' in done) throw error
    return value
  }

  /** Ends the span once, as failed if there is an `errorType`. `endedAt` is a time of `performance.now()`. */
  end(errorType?: string, message?: string, endedAt?: number): void {
    if (this.#isEnded) return
    this.#isEnded = true
    if (errorType !== undefined) {
      this.set({ [attribute.errorType]: errorType })
      const status = { code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) }
      this.#guard.attempt('setStatus', () => this.#span?.setStatus(status))
    }
    this.#guard.attempt('end', () => this.#span?.end(endedAt))
  }
}
