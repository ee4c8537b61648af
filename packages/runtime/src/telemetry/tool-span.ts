// The span of one execution of a tool: `execute_tool {name}`.

import type { Chunk, ToolPart } from '@millrace/protocol'
import { type Attributes, type Context, SpanKind } from '@opentelemetry/api'
import type { GuardedSpan } from './guarded-span.ts'
import type { Scope, SpanOrigin } from './scope.ts'
import { attribute } from './semantic-conventions.ts'
import { errorTypeOf, INTERRUPTED } from './span-error.ts'
import { truncateJson } from './truncate-json.ts'

export interface ToolSpanOptions {
  readonly call: ToolPart
  /** The definition of the tool; undefined if there is none with this name. */
  readonly tool: { readonly description?: string } | object | undefined
  readonly step: number
}

/** Telemetry of one execution of a tool. */
export interface ToolCallTelemetry {
  /** The parent context for spans under the call. */
  readonly context: Context
  /** Runs the tool's code with this span as the active one. */
  within<T>(code: () => T): T
  /** Marks the end of the tool's code. The time of the commit does not count as the tool's. */
  executed(): void
  /** Ends the span by the committed chunk, which may be an error if the log rejected the output. */
  settle(committed: Chunk): void
  /** Ends the span without an outcome: the call continues later or in another process. */
  suspend(status: 'paused' | 'left'): void
}

export class ToolSpan implements ToolCallTelemetry {
  readonly #scope: Scope
  readonly #span: GuardedSpan
  readonly #labels: Attributes
  readonly #startedAt = performance.now()
  readonly #onEnd: () => void
  #executedAt: number | undefined
  #isEnded = false

  constructor(scope: Scope, origin: SpanOrigin, { call, tool, step }: ToolSpanOptions, onEnd: () => void) {
    const { toolName, toolCallId } = call
    const description = tool && 'description' in tool ? (tool.description as string | undefined) : undefined
    this.#scope = scope
    this.#onEnd = onEnd
    this.#labels = { [attribute.toolName]: toolName, [attribute.toolType]: 'function' }
    this.#span = scope.startSpan(`execute_tool ${toolName}`, SpanKind.INTERNAL, origin, {
      operation: 'execute_tool',
      attributes: {
        [attribute.operation]: 'execute_tool',
        ...this.#labels,
        [attribute.toolCallId]: toolCallId,
        ...(description !== undefined && { [attribute.toolDescription]: description }),
        [attribute.step]: step,
      },
      description: { step, toolName, toolCallId },
    })
    this.#labels[attribute.agentName] = origin.agentType
    this.#setContent(attribute.toolArguments, call.input)
  }

  get context(): Context {
    return this.#span.context
  }

  within<T>(code: () => T): T {
    return this.#span.within(code)
  }

  executed(): void {
    this.#executedAt = performance.now()
  }

  settle(committed: Chunk): void {
    if (this.#isEnded) return
    if (committed.type === 'tool-output-available') {
      this.#setContent(attribute.toolResult, committed.output)
      this.#measure()
    }
    if (committed.type === 'tool-output-error') this.#measure(errorTypeOf(committed.code), committed.errorText)
  }

  suspend(status: 'paused' | 'left'): void {
    if (this.#isEnded) return
    this.#span.set({ [attribute.status]: status })
    this.#end()
  }

  /** Ends the span because its parent ended. */
  interrupt(): void {
    if (!this.#isEnded) this.#measure(INTERRUPTED)
  }

  #measure(errorType?: string, errorText?: string): void {
    const { instruments } = this.#scope
    const ms = (this.#executedAt ?? performance.now()) - this.#startedAt
    this.#end(errorType, errorText)
    instruments.record('tool', ms / 1000, {
      ...this.#labels,
      ...(errorType !== undefined && { [attribute.errorType]: errorType }),
    })
  }

  #end(errorType?: string, errorText?: string): void {
    this.#isEnded = true
    this.#onEnd()
    this.#span.end(errorType, this.#scope.content ? errorText : undefined, this.#executedAt)
  }

  #setContent(name: string, value: unknown): void {
    if (!this.#scope.content || !this.#span.isRecording || value === undefined) return
    this.#scope.guard.attempt('content', () => {
      const { json, isTruncated } = truncateJson(value)
      this.#span.set({ [name]: json, ...(isTruncated && { [attribute.isTruncated]: true }) })
    })
  }
}
