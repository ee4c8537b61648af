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

/** A context in which the spans that begin are under the given one. */
export const contextUnder = (parent: SpanContext | undefined): Context =>
  parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT

/** The context of a span, if it is one that others can be told under; undefined of one that nobody records. */
export function spanContextOf(span: Span | undefined): SpanContext | undefined {
  const known = span?.spanContext()
  return known && trace.isSpanContextValid(known) ? known : undefined
}

/** A span that cannot harm what it tells of: whatever goes wrong in it is left out. */
export class GuardedSpan {
  /** The context of what happens within. */
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

  /** Runs code, exactly once, so that the spans that it begins are under this one. */
  within<T>(code: () => T): T {
    let done: { readonly value: T } | { readonly error: unknown } | undefined
    const run = () => {
      if (done) return
      // Also while it runs: who calls it twice calls it once.
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

  /** Ends it, as failed where an error is named; only once. Its end may have been before, at a time by `performance.now()`. */
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
