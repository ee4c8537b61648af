// An agent at work: `invoke_agent {name}`, with its steps, model calls and tools below it.

import type { RunStatus, Usage } from '@millrace/protocol'
import { type Attributes, type Link, type SpanContext, SpanKind } from '@opentelemetry/api'
import type { Agent } from '../agent/agent.ts'
import type { Program } from '../drive/program.ts'
import { CUT_OFF, failureOf } from './failure.ts'
import { type Heard, type ModelCall, type ModelCallAbout, ModelSpan, usageAttributes } from './model.ts'
import { attribute, finishReasonName, providerName } from './names.ts'
import type { Place, Scope } from './scope.ts'
import type { GuardedSpan } from './span.ts'
import { type ToolCall, type ToolCallAbout, ToolSpan } from './tool.ts'

/** How the work of an agent ended here: with its end, or because it waits, was handed over, or was taken away. */
export type AgentStatus = RunStatus | 'paused' | 'left' | 'lost'

export interface AgentAbout {
  /** `agent:name@version`. */
  readonly program: string
  /** None where the run is taken only to be ended. */
  readonly agent: Agent | undefined
  readonly attributes?: Attributes
  readonly links?: Link[]
  readonly onEnd?: () => void
}

/** An agent at work, for who works for it. */
export interface AgentWork {
  /** Runs code so that the spans that it begins are under the agent's. */
  within<T>(code: () => T): T
  /** A model call begins: one attempt of it. */
  modelCall(about: ModelCallAbout): ModelCall
  /** A tool begins to be executed. */
  toolCall(about: ToolCallAbout): ToolCall
  /** An agent that this one has called begins, or goes on, under the call. */
  agent(program: Program, agentId: string, call: Pick<ToolCall, 'context'>): AgentWork
  /** Says how the work ended here; whatever is still open in it was cut off. */
  end(status: AgentStatus, failure?: unknown): void
}

export class AgentSpan implements AgentWork {
  readonly #scope: Scope
  readonly #place: Place
  readonly #span: GuardedSpan
  #step: { readonly number: number; readonly span: GuardedSpan } | undefined
  /** What has begun and not ended: it ends with the agent. */
  readonly #open = new Set<{ cut(): void }>()
  readonly #onEnd: (() => void) | undefined
  #isModelTold = false
  #isEnded = false
  #usage: Usage = {}
  #finishReason: string | undefined

  constructor(scope: Scope, place: Place, { program, agent, attributes, links, onEnd }: AgentAbout) {
    this.#scope = scope
    this.#onEnd = onEnd
    this.#span = scope.begin(`invoke_agent ${place.agentType}`, SpanKind.INTERNAL, place, {
      operation: 'invoke_agent',
      attributes: {
        [attribute.operation]: 'invoke_agent',
        ...modelOf(agent),
        [attribute.agentVersion]: program.slice(program.lastIndexOf('@') + 1),
        [attribute.program]: program,
        ...attributes,
      },
      about: {},
      ...(links && { links }),
    })
    this.#isModelTold = typeof agent?.model === 'object'
    this.#place = { ...place, context: this.#span.context }
  }

  get spanContext(): SpanContext | undefined {
    return this.#span.spanContext
  }

  within<T>(code: () => T): T {
    return this.#span.within(code)
  }

  modelCall(about: ModelCallAbout): ModelSpan {
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

  toolCall(about: ToolCallAbout): ToolSpan {
    const call = new ToolSpan(this.#scope, this.#placeIn(about.step), about, () => this.#open.delete(call))
    this.#open.add(call)
    return call
  }

  agent(own: Program, agentId: string, call: Pick<ToolCall, 'context'>): AgentSpan {
    const place = { ...this.#place, context: call.context, agentId, agentType: own.name }
    const onEnd = () => this.#open.delete(work)
    const agent = own.kind === 'agent' ? own : undefined
    const work = new AgentSpan(this.#scope, place, { program: own.program, agent, onEnd })
    this.#open.add(work)
    return work
  }

  end(status: AgentStatus, failure?: unknown): void {
    if (this.#isEnded) return
    this.#isEnded = true
    // The latest first: an agent before the call that it works for.
    for (const open of [...this.#open].reverse()) open.cut()
    this.#step?.span.end()
    const reason = this.#finishReason
    this.#span.set({
      ...usageAttributes(this.#usage),
      ...(reason !== undefined && { [attribute.finishReasons]: [finishReasonName(reason)] }),
      [attribute.status]: status,
    })
    const failed = failureOf(failure)
    this.#span.end(failed?.name, this.#scope.content ? failed?.words : undefined)
    this.#onEnd?.()
  }

  /** Ends it because what it belongs to has ended. */
  cut(): void {
    this.end('interrupted', CUT_OFF)
  }

  /** The place of a step, which begins when something in it does, and ends when another begins. */
  #placeIn(step: number): Place {
    if (this.#step?.number !== step) {
      this.#step?.span.end()
      const span = this.#scope.begin(`step ${step}`, SpanKind.INTERNAL, this.#place, {
        operation: 'step',
        attributes: { [attribute.step]: step },
        about: { step },
      })
      this.#step = { number: step, span }
    }
    return { ...this.#place, context: this.#step.span.context }
  }

  #note({ usage, finishReason }: Heard): void {
    this.#finishReason = finishReason
    const sum: Record<string, number> = { ...this.#usage }
    for (const [name, count] of Object.entries(usage ?? {})) sum[name] = (sum[name] ?? 0) + count
    this.#usage = sum
  }
}

/** The model of an agent, where it is always the same. */
const modelOf = (agent: Agent | undefined): Attributes =>
  typeof agent?.model === 'object' ? modelAttributes(agent.model) : {}

const modelAttributes = ({ provider, modelId }: { provider: string; modelId: string }): Attributes => ({
  [attribute.provider]: providerName(provider),
  [attribute.requestModel]: modelId,
})
