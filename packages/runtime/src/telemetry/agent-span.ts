// The span of an agent, `invoke_agent {name}`, with its steps, model calls and tools as children; or of a workflow,
// `invoke_workflow {name}`, with its nodes and their hooks as children.

import type { RunStatus, Usage } from '@millrace/protocol'
import { type Attributes, type Link, type SpanContext, SpanKind } from '@opentelemetry/api'
import type { GuardedSpan } from './guarded-span.ts'
import {
  type ModelCallResult,
  type ModelCallTelemetry,
  ModelSpan,
  type ModelSpanOptions,
  usageAttributes,
} from './model-span.ts'
import type { Scope, SpanOrigin, SpanStart } from './scope.ts'
import { attribute, finishReasonName, providerName } from './semantic-conventions.ts'
import { INTERRUPTED, spanErrorOf } from './span-error.ts'
import { type ToolCallTelemetry, ToolSpan, type ToolSpanOptions } from './tool-span.ts'

/** The fields of an agent definition that spans show. A model that a function chooses is known only when it is called. */
export interface TracedAgent {
  readonly kind: 'agent'
  readonly name: string
  /** `agent:name@version` */
  readonly program: string
  readonly model: TracedModel | ((...args: never) => unknown)
}

/** The fields of an agent or workflow definition that spans show. */
export type TracedProgram = TracedAgent | { readonly kind: 'workflow'; readonly name: string; readonly program: string }

interface TracedModel {
  readonly provider: string
  readonly modelId: string
}

/** Name and attributes of a span at its start. */
type SpanHeading = SpanStart & { readonly name: string }

/** Outcome of a span: the status of the run; or the run waits (`paused`), is handed over (`left`) or fenced off (`lost`). */
export type AgentStatus = RunStatus | 'paused' | 'left' | 'lost'

export interface AgentSpanOptions {
  readonly heading: SpanHeading
  /** Absent for a workflow, and for a run that is taken over only to be ended. */
  readonly agent?: TracedAgent | undefined
  /** The span that a node or hook is part of. It gets their usage, and they are paused and handed over with it. */
  readonly partOf?: AgentSpan
  readonly onEnd?: () => void
}

/** One attempt of a node. */
export interface NodeSpanOptions {
  readonly node: string
  readonly step: number
  readonly attempt: number
}

/** A hook, and the agent that executes it, if any. */
export interface HookSpanOptions {
  readonly hook: string
  readonly id: string | undefined
  readonly agent?: TracedAgent | undefined
}

/** Telemetry of an agent, a workflow, a node or a hook. */
export interface AgentTelemetry {
  /** Runs code with this span as the active one. */
  within<T>(code: () => T): T
  /** Starts the span of one attempt of a model call. */
  modelCall(spanOptions: ModelSpanOptions): ModelCallTelemetry
  /** Starts the span of a tool execution. */
  toolCall(spanOptions: ToolSpanOptions): ToolCallTelemetry
  /** Starts the span of a sub-agent under its call, also when it continues. */
  agent(program: TracedProgram, agentId: string, call: Pick<ToolCallTelemetry, 'context'>): AgentTelemetry
  /** Starts the span of an attempt of a node. */
  node(spanOptions: NodeSpanOptions): AgentTelemetry
  /** Starts the span of a hook, also when it continues. */
  hook(spanOptions: HookSpanOptions): AgentTelemetry
  /** Ends the span. Open children end as interrupted. */
  end(status: AgentStatus, failure?: unknown): void
}

export class AgentSpan implements AgentTelemetry {
  readonly #scope: Scope
  readonly #origin: SpanOrigin
  readonly #span: GuardedSpan
  #step: { readonly number: number; readonly span: GuardedSpan } | undefined
  /** Open children. They end with this span. */
  readonly #open = new Set<{ interrupt(): void }>()
  readonly #partOf: AgentSpan | undefined
  readonly #onEnd: (() => void) | undefined
  #hasModelAttributes = false
  #isEnded = false
  #usage: Usage = {}
  #finishReason: string | undefined

  constructor(scope: Scope, origin: SpanOrigin, { heading, agent, partOf, onEnd }: AgentSpanOptions) {
    this.#scope = scope
    this.#partOf = partOf
    this.#onEnd = onEnd
    const attributes = { ...fixedModelAttributes(agent), ...heading.attributes }
    this.#span = scope.startSpan(heading.name, SpanKind.INTERNAL, origin, { ...heading, attributes })
    this.#hasModelAttributes = typeof agent?.model === 'object'
    this.#origin = { ...origin, context: this.#span.context }
  }

  get spanContext(): SpanContext | undefined {
    return this.#span.spanContext
  }

  within<T>(code: () => T): T {
    return this.#span.within(code)
  }

  modelCall(spanOptions: ModelSpanOptions): ModelSpan {
    if (!this.#hasModelAttributes) {
      this.#hasModelAttributes = true
      this.#span.set(modelAttributes(spanOptions.model))
    }
    const call = new ModelSpan(this.#scope, this.#originIn(spanOptions.step), spanOptions, result => {
      this.#open.delete(call)
      this.#addResult(result)
    })
    this.#open.add(call)
    return call
  }

  toolCall(spanOptions: ToolSpanOptions): ToolSpan {
    const call = new ToolSpan(this.#scope, this.#originIn(spanOptions.step), spanOptions, () => this.#open.delete(call))
    this.#open.add(call)
    return call
  }

  agent(program: TracedProgram, agentId: string, call: Pick<ToolCallTelemetry, 'context'>): AgentSpan {
    const origin = { ...this.#origin, context: call.context, agentId, agentType: program.name }
    return this.#startChild(origin, {
      heading: programHeading(program.program),
      agent: program.kind === 'agent' ? program : undefined,
    })
  }

  node({ node, step, attempt }: NodeSpanOptions): AgentSpan {
    const attributes = { [attribute.node]: node, [attribute.step]: step, [attribute.attempt]: attempt }
    const heading = {
      name: `node ${node}`,
      operation: 'node',
      attributes,
      description: { node, step, attempt },
    } as const
    return this.#startChild(this.#origin, { heading, partOf: this })
  }

  hook({ hook, id, agent }: HookSpanOptions): AgentSpan {
    if (agent) {
      const origin = { ...this.#origin, agentType: agent.name }
      return this.#startChild(origin, { heading: programHeading(agent.program), agent, partOf: this })
    }
    // An id may contain text of a user.
    const idAttribute = this.#scope.content && id !== undefined && { [attribute.hookId]: id }
    const attributes = { [attribute.hook]: hook, ...idAttribute }
    const heading = { name: hook, operation: 'hook', attributes, description: { hook } } as const
    return this.#startChild(this.#origin, { heading, partOf: this })
  }

  #startChild(origin: SpanOrigin, spanOptions: Omit<AgentSpanOptions, 'onEnd'>): AgentSpan {
    const child = new AgentSpan(this.#scope, origin, { ...spanOptions, onEnd: () => this.#open.delete(child) })
    this.#open.add(child)
    return child
  }

  end(status: AgentStatus, failure?: unknown): void {
    if (this.#isEnded) return
    this.#isEnded = true
    // Latest first: a sub-agent before its call.
    for (const open of [...this.#open].reverse()) {
      if (SUSPENDED.has(status) && open instanceof AgentSpan && open.#partOf === this) open.end(status)
      else open.interrupt()
    }
    this.#step?.span.end()
    const reason = this.#finishReason
    this.#span.set({
      ...usageAttributes(this.#usage),
      ...(reason !== undefined && { [attribute.finishReasons]: [finishReasonName(reason)] }),
      [attribute.status]: status,
    })
    const failed = spanErrorOf(failure)
    this.#span.end(failed?.type, this.#scope.content ? failed?.message : undefined)
    this.#onEnd?.()
  }

  /** Ends the span because its parent ended. */
  interrupt(): void {
    this.end('interrupted', INTERRUPTED)
  }

  /** The parent for children of a step. The span of a step starts with its first child and ends with the next step. */
  #originIn(step: number): SpanOrigin {
    if (this.#step?.number !== step) {
      this.#step?.span.end()
      const span = this.#scope.startSpan(`step ${step}`, SpanKind.INTERNAL, this.#origin, {
        operation: 'step',
        attributes: { [attribute.step]: step },
        description: { step },
      })
      this.#step = { number: step, span }
    }
    return { ...this.#origin, context: this.#step.span.context }
  }

  #addResult(result: ModelCallResult): void {
    const { usage, finishReason } = result
    if (this.#partOf) this.#partOf.#addResult(result)
    this.#finishReason = finishReason
    const sum: Record<string, number> = { ...this.#usage }
    for (const [name, count] of Object.entries(usage ?? {})) sum[name] = (sum[name] ?? 0) + count
    this.#usage = sum
  }
}

/** Statuses after which the run continues later. */
const SUSPENDED: ReadonlySet<AgentStatus> = new Set(['paused', 'left'])

/** Name and attributes of the span of a program. */
export function programHeading(program: string, attributes: Attributes = {}, links?: Link[]): SpanHeading {
  const [kind, rest = ''] = program.split(/:(.*)/s)
  const at = rest.lastIndexOf('@')
  const name = rest.slice(0, at)
  const operation = kind === 'workflow' ? 'invoke_workflow' : 'invoke_agent'
  const programAttributes =
    kind === 'workflow' ? { [attribute.workflowName]: name } : { [attribute.agentVersion]: rest.slice(at + 1) }
  return {
    name: `${operation} ${name}`,
    operation,
    attributes: { [attribute.operation]: operation, ...programAttributes, [attribute.program]: program, ...attributes },
    description: {},
    ...(links && { links }),
  }
}

/** The attributes of an agent's model, unless a function chooses it for each call. */
const fixedModelAttributes = (agent: TracedAgent | undefined): Attributes =>
  typeof agent?.model === 'object' ? modelAttributes(agent.model) : {}

const modelAttributes = ({ provider, modelId }: TracedModel): Attributes => ({
  [attribute.provider]: providerName(provider),
  [attribute.requestModel]: modelId,
})
