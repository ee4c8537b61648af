// Reports runs to OpenTelemetry. Errors of a provider, an exporter or the application's attributes never affect a run.

import type { Writer } from '@millrace/log'
import type { BatchLike } from '@millrace/log/internal'
import { type Attributes, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api'
import { AgentSpan, type AgentStatus, type AgentTelemetry, programHeading, type TracedAgent } from './agent-span.ts'
import { contextUnder, spanContextOf } from './guarded-span.ts'
import type { Logger } from './logger.ts'
import type { ModelCallTelemetry } from './model-span.ts'
import { Scope } from './scope.ts'
import { attribute, OTHER_ERROR } from './semantic-conventions.ts'
import type { TelemetryOptions } from './telemetry-options.ts'
import type { ToolCallTelemetry } from './tool-span.ts'

/** Maximum number of runs whose spans are remembered for links and parents. */
const MAX_REMEMBERED_RUNS = 1000

export interface RunTelemetryOptions {
  readonly writer: Pick<Writer, 'streamId' | 'main' | 'ticket'>
  /** `agent:name@version` or `workflow:name@version` */
  readonly program: string
  /** Undefined for a workflow, and for a run that is taken over only to be ended. */
  readonly agent: TracedAgent | undefined
  /** The current time of the store, in ms. */
  readonly clock: () => number
}

/** Telemetry of a run while this process drives it. */
export interface RunTelemetry {
  readonly agent: AgentTelemetry
  /** Records a batch that may end or pause the run. */
  decided(batch: BatchLike): void
  /** Records that another process took the run over. */
  lose(cause: unknown): void
  /** Ends the span. `startedAt` is the start of the run by the store's clock, in ms, if known. */
  end(startedAt: number | undefined): void
}

export class Telemetry {
  readonly #scope: Scope
  /** The active spans in which runs were requested or answered. */
  readonly #requestSpans = new SpansByRun(MAX_REMEMBERED_RUNS)
  /** The spans of runs that were paused or handed over. */
  readonly #previousSpans = new SpansByRun(MAX_REMEMBERED_RUNS)

  constructor(options: TelemetryOptions = {}, logger: Logger) {
    this.#scope = new Scope(options, logger)
  }

  /** Remembers the active span as the parent of the run, which is requested or answered in it. */
  onRequest(runId: string): void {
    if (!this.#scope.isTracing) return
    const active = this.#scope.guard.attempt('getActiveSpan', () => spanContextOf(trace.getActiveSpan()))
    if (active) this.#requestSpans.set(runId, active)
  }

  /** Starts the span of a run that this process drives. */
  drive({ writer, program, agent, clock }: RunTelemetryOptions): RunTelemetry {
    if (!this.#scope.isEnabled) return noopRunTelemetry
    const { streamId: sessionId, main, ticket } = writer
    const { runId } = main.origin
    const isTakeover = ticket.run !== null && !ticket.run.paused
    const agentType = program.slice(program.indexOf(':') + 1, program.lastIndexOf('@'))
    const requestSpan = this.#requestSpans.take(runId)
    const previousSpan = this.#previousSpans.take(runId)
    const place = { context: contextUnder(requestSpan), sessionId, runId, agentId: runId, agentType }
    const takeoverAttributes = isTakeover ? { [attribute.isTakeover]: true } : {}
    const heading = programHeading(program, takeoverAttributes, previousSpan && [{ context: previousSpan }])
    const span = new AgentSpan(this.#scope, place, { heading, agent })
    const labels = { [attribute.agentName]: agentType }
    if (isTakeover) this.#scope.instruments.count('takeovers', labels)
    // A driver that stops without a decision hands the run over.
    let outcome: RunOutcome = { status: 'left' }
    return {
      agent: span,
      decided: batch => {
        outcome = outcomeOf(batch) ?? outcome
      },
      lose: failure => {
        // A run that has ended or paused cannot be lost.
        if (outcome.status === 'left') outcome = { status: 'lost', failure }
      },
      end: startedAt => {
        const { status, failure } = outcome
        const { spanContext } = span
        span.end(status, failure)
        if (FINAL_STATUSES.has(status))
          this.#measure(labels, status, startedAt === undefined ? undefined : clock() - startedAt)
        else if (spanContext) this.#previousSpans.set(runId, spanContext)
        if (status === 'paused') this.#scope.instruments.count('pauses', labels)
      },
    }
  }

  #measure(labels: Attributes, status: AgentStatus, ms: number | undefined): void {
    const { instruments } = this.#scope
    const ended = { ...labels, [attribute.status]: status }
    instruments.count('runs', ended)
    if (ms !== undefined) instruments.record('run', Math.max(0, ms) / 1000, ended)
  }
}

/** The end of a run in this process, and the reason of a failure. */
interface RunOutcome {
  readonly status: AgentStatus
  readonly failure?: unknown
}

const FINAL_STATUSES: ReadonlySet<AgentStatus> = new Set(['completed', 'failed', 'interrupted', 'aborted'])

/** The outcome of a run by a batch; undefined if the batch neither ends nor pauses it. */
function outcomeOf(batch: BatchLike): RunOutcome | undefined {
  let failure: string | undefined
  for (const item of batch) {
    const chunk = 'chunk' in item ? item.chunk : item
    if (chunk.type === 'run-paused') return { status: 'paused' }
    if (chunk.type === 'error') failure = chunk.code ?? OTHER_ERROR
    if (chunk.type === 'run-finished') return { status: chunk.status, failure }
  }
  return undefined
}

/** The span of each run, for the `max` most recently added runs. */
class SpansByRun {
  readonly #spans = new Map<string, SpanContext>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  set(runId: string, span: SpanContext): void {
    this.#spans.delete(runId)
    this.#spans.set(runId, span)
    if (this.#spans.size > this.#max) this.#spans.delete(this.#spans.keys().next().value as string)
  }

  /** Returns the span of a run and removes it. */
  take(runId: string): SpanContext | undefined {
    const span = this.#spans.get(runId)
    this.#spans.delete(runId)
    return span
  }
}

const ignore = (): void => {}
const within = <T>(code: () => T): T => code()

const modelCall: ModelCallTelemetry = { within, received: ignore, end: ignore }
const toolCall: ToolCallTelemetry = { context: ROOT_CONTEXT, within, executed: ignore, settle: ignore, suspend: ignore }
const noopAgent: AgentTelemetry = {
  within,
  modelCall: () => modelCall,
  toolCall: () => toolCall,
  agent: () => noopAgent,
  node: () => noopAgent,
  hook: () => noopAgent,
  end: ignore,
}

/** Used while no provider is registered: records nothing, at no cost. */
const noopRunTelemetry: RunTelemetry = { agent: noopAgent, decided: ignore, lose: ignore, end: ignore }
