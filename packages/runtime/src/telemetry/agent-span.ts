// An agent at work: `invoke_agent {name}`, with its steps, model calls and tools below it; or a workflow: `invoke_workflow {name}`, with its nodes, and below them
// their hooks, which work as agents do.

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
import type { Scope, SpanPlace, SpanStart } from './scope.ts'
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

/** What is told first of what begins. */
type SpanHeading = SpanStart & { readonly name: string }

/** How the work of an agent ended here: with its end, or because it waits, was handed over, or was taken away. */
export type AgentStatus = RunStatus | 'paused' | 'left' | 'lost'

export interface AgentSpanOptions {
  readonly heading: SpanHeading
  /** None of a workflow, or where the run is taken only to be ended. */
  readonly agent?: TracedAgent | undefined
  /** What of it is a node or a hook: it waits, and is handed over, with what it is a part of, and what it uses is of that. */
  readonly partOf?: AgentSpan
  readonly onEnd?: () => void
}

/** One try at an execution of a node. */
export interface NodeSpanOptions {
  readonly node: string
  readonly step: number
  readonly attempt: number
}

/** What a hook is, and who works for it, if it is an agent. */
export interface HookSpanOptions {
  readonly hook: string
  readonly id: string | undefined
  readonly agent?: TracedAgent | undefined
}

/** An agent at work, for who works for it. */
export interface AgentTelemetry {
  /** Runs code so that the spans that it begins are under the agent's. */
  within<T>(code: () => T): T
  /** A model call begins: one attempt of it. */
  modelCall(about: ModelSpanOptions): ModelCallTelemetry
  /** A tool begins to be executed. */
  toolCall(about: ToolSpanOptions): ToolCallTelemetry
  /** An agent that this one has called begins, or goes on, under the call. */
  agent(program: TracedProgram, agentId: string, call: Pick<ToolCallTelemetry, 'context'>): AgentTelemetry
  /** A node of the workflow begins, or begins again. */
  node(about: NodeSpanOptions): AgentTelemetry
  /** A hook of the node begins, or goes on. */
  hook(about: HookSpanOptions): AgentTelemetry
  /** Says how the work ended here; whatever is still open in it was cut off. */
  end(status: AgentStatus, failure?: unknown): void
}

export class AgentSpan implements AgentTelemetry {
  readonly #scope: Scope
  readonly #place: SpanPlace
  readonly #span: GuardedSpan
  #step: { readonly number: number; readonly span: GuardedSpan } | undefined
  /** What has begun and not ended: it ends with the agent. */
  readonly #open = new Set<{ cut(): void }>()
  readonly #partOf: AgentSpan | undefined
  readonly #onEnd: (() => void) | undefined
  #isModelTold = false
  #isEnded = false
  #usage: Usage = {}
  #finishReason: string | undefined

  constructor(scope: Scope, place: SpanPlace, { heading, agent, partOf, onEnd }: AgentSpanOptions) {
    this.#scope = scope
    this.#partOf = partOf
    this.#onEnd = onEnd
    const attributes = { ...fixedModelAttributes(agent), ...heading.attributes }
    this.#span = scope.startSpan(heading.name, SpanKind.INTERNAL, place, { ...heading, attributes })
    this.#isModelTold = typeof agent?.model === 'object'
    this.#place = { ...place, context: this.#span.context }
  }

  get spanContext(): SpanContext | undefined {
    return this.#span.spanContext
  }

  within<T>(code: () => T): T {
    return this.#span.within(code)
  }

  modelCall(about: ModelSpanOptions): ModelSpan {
    if (!this.#isModelTold) {
      this.#isModelTold = true
      this.#span.set(modelAttributes(about.model))
    }
    const call = new ModelSpan(this.#scope, this.#placeIn(about.step), about, heard => {
      this.#open.delete(call)
      this.#note(heard)
    })
    this.#open.add(call)
    return call
  }

  toolCall(about: ToolSpanOptions): ToolSpan {
    const call = new ToolSpan(this.#scope, this.#placeIn(about.step), about, () => this.#open.delete(call))
    this.#open.add(call)
    return call
  }

  agent(own: TracedProgram, agentId: string, call: Pick<ToolCallTelemetry, 'context'>): AgentSpan {
    const place = { ...this.#place, context: call.context, agentId, agentType: own.name }
    return this.#begin(place, { heading: programHeading(own.program), agent: own.kind === 'agent' ? own : undefined })
  }

  node({ node, step, attempt }: NodeSpanOptions): AgentSpan {
    const attributes = { [attribute.node]: node, [attribute.step]: step, [attribute.attempt]: attempt }
    const heading = { name: `node ${node}`, operation: 'node', attributes, about: { node, step, attempt } } as const
    return this.#begin(this.#place, { heading, partOf: this })
  }

  hook({ hook, id, agent }: HookSpanOptions): AgentSpan {
    if (agent) {
      const place = { ...this.#place, agentType: agent.name }
      return this.#begin(place, { heading: programHeading(agent.program), agent, partOf: this })
    }
    // Code may make ids of what people said.
    const named = this.#scope.content && id !== undefined && { [attribute.hookId]: id }
    const attributes = { [attribute.hook]: hook, ...named }
    const heading = { name: hook, operation: 'hook', attributes, about: { hook } } as const
    return this.#begin(this.#place, { heading, partOf: this })
  }

  #begin(place: SpanPlace, about: Omit<AgentSpanOptions, 'onEnd'>): AgentSpan {
    const work = new AgentSpan(this.#scope, place, { ...about, onEnd: () => this.#open.delete(work) })
    this.#open.add(work)
    return work
  }

  end(status: AgentStatus, failure?: unknown): void {
    if (this.#isEnded) return
    this.#isEnded = true
    // The latest first: an agent before the call that it works for.
    for (const open of [...this.#open].reverse()) {
      if (SUSPENDED.has(status) && open instanceof AgentSpan && open.#partOf === this) open.end(status)
      else open.cut()
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

  /** Ends it because what it belongs to has ended. */
  cut(): void {
    this.end('interrupted', INTERRUPTED)
  }

  /** The place of a step, which begins when something in it does, and ends when another begins. */
  #placeIn(step: number): SpanPlace {
    if (this.#step?.number !== step) {
      this.#step?.span.end()
      const span = this.#scope.startSpan(`step ${step}`, SpanKind.INTERNAL, this.#place, {
        operation: 'step',
        attributes: { [attribute.step]: step },
        about: { step },
      })
      this.#step = { number: step, span }
    }
    return { ...this.#place, context: this.#step.span.context }
  }

  #note(heard: ModelCallResult): void {
    const { usage, finishReason } = heard
    if (this.#partOf) this.#partOf.#note(heard)
    this.#finishReason = finishReason
    const sum: Record<string, number> = { ...this.#usage }
    for (const [name, count] of Object.entries(usage ?? {})) sum[name] = (sum[name] ?? 0) + count
    this.#usage = sum
  }
}

/** How a drive ends after which the run goes on. */
const SUSPENDED: ReadonlySet<AgentStatus> = new Set(['paused', 'left'])

/** What is told first of a program at work. */
export function programHeading(program: string, attributes: Attributes = {}, links?: Link[]): SpanHeading {
  const [kind, rest = ''] = program.split(/:(.*)/s)
  const at = rest.lastIndexOf('@')
  const name = rest.slice(0, at)
  const operation = kind === 'workflow' ? 'invoke_workflow' : 'invoke_agent'
  const own =
    kind === 'workflow' ? { [attribute.workflowName]: name } : { [attribute.agentVersion]: rest.slice(at + 1) }
  return {
    name: `${operation} ${name}`,
    operation,
    attributes: { [attribute.operation]: operation, ...own, [attribute.program]: program, ...attributes },
    about: {},
    ...(links && { links }),
  }
}

/** The model of an agent, where it is always the same. */
const fixedModelAttributes = (agent: TracedAgent | undefined): Attributes =>
  typeof agent?.model === 'object' ? modelAttributes(agent.model) : {}

const modelAttributes = ({ provider, modelId }: TracedModel): Attributes => ({
  [attribute.provider]: providerName(provider),
  [attribute.requestModel]: modelId,
})
