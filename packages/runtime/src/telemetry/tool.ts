// One execution of a tool: `execute_tool {name}`.

import type { Chunk, ToolPart } from '@millrace/protocol'
import { type Attributes, type Context, SpanKind } from '@opentelemetry/api'
import type { Callable } from '../tool/tool.ts'
import { CUT_OFF } from './failure.ts'
import { attribute, OTHER_ERROR } from './names.ts'
import type { Place, Scope } from './scope.ts'
import { shortened } from './shorten.ts'
import type { GuardedSpan } from './span.ts'

export interface ToolCallAbout {
  readonly call: ToolPart
  /** What is called, if there is any by the name. */
  readonly tool: Callable | undefined
  readonly step: number
}

/** What came of a call: an output, or an error by its code. */
export interface ToolCallEnd {
  readonly output?: unknown
  readonly code?: string | undefined
  readonly errorText?: string | undefined
}

/** One execution of a tool, for who executes it. */
export interface ToolCall {
  /** What is told under the call. */
  readonly context: Context
  /** Runs the tool's code so that the spans that it begins are under its own. */
  within<T>(code: () => T): T
  /** Says what came of it, as it is said in the log. */
  settle(chunk: Chunk): void
  /** Says what came of it. */
  end(end: ToolCallEnd): void
}

export class ToolSpan implements ToolCall {
  readonly #scope: Scope
  readonly #span: GuardedSpan
  readonly #labels: Attributes
  readonly #startedAt = performance.now()
  readonly #onEnd: () => void
  #isEnded = false

  constructor(scope: Scope, place: Place, { call, tool, step }: ToolCallAbout, onEnd: () => void) {
    const { toolName, toolCallId } = call
    const description = tool && 'description' in tool ? tool.description : undefined
    this.#scope = scope
    this.#onEnd = onEnd
    this.#labels = { [attribute.toolName]: toolName, [attribute.toolType]: 'function' }
    this.#span = scope.begin(`execute_tool ${toolName}`, SpanKind.INTERNAL, place, {
      operation: 'execute_tool',
      attributes: {
        [attribute.operation]: 'execute_tool',
        ...this.#labels,
        [attribute.toolCallId]: toolCallId,
        ...(description !== undefined && { [attribute.toolDescription]: description }),
        [attribute.step]: step,
      },
      about: { step, toolName, toolCallId },
    })
    this.#labels[attribute.agentName] = place.agentType
    this.#tell(attribute.toolArguments, call.input)
  }

  get context(): Context {
    return this.#span.context
  }

  within<T>(code: () => T): T {
    return this.#span.within(code)
  }

  settle(chunk: Chunk): void {
    if (chunk.type === 'tool-output-available') this.end({ output: chunk.output })
    if (chunk.type === 'tool-output-error') this.end({ code: chunk.code ?? OTHER_ERROR, errorText: chunk.errorText })
  }

  end({ output, code, errorText }: ToolCallEnd): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#onEnd()
    const { content, instruments } = this.#scope
    if (code === undefined) this.#tell(attribute.toolResult, output)
    this.#span.end(code, content ? errorText : undefined)
    instruments.record('tool', (performance.now() - this.#startedAt) / 1000, {
      ...this.#labels,
      ...(code !== undefined && { [attribute.errorType]: code }),
    })
  }

  /** Ends it because what it belongs to has ended. */
  cut(): void {
    this.end({ code: CUT_OFF })
  }

  #tell(name: string, value: unknown): void {
    if (!this.#scope.content || !this.#span.isRecording || value === undefined) return
    this.#scope.guard.attempt('content', () => {
      const { json, isShortened } = shortened(value)
      this.#span.set({ [name]: json, ...(isShortened && { [attribute.isShortened]: true }) })
    })
  }
}
