// Tells OpenTelemetry what runs do. It only watches: whatever a provider, an exporter or the application's own attributes throw, a run does not notice.

import type { BatchLike, Writer } from '@millrace/log'
import { type Attributes, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api'
import { AgentSpan, type AgentStatus, type AgentTelemetry, programHeading, type TracedAgent } from './agent-span.ts'
import { contextUnder, spanContextOf } from './guarded-span.ts'
import type { Logger } from './logger.ts'
import type { ModelCallTelemetry } from './model-span.ts'
import { Scope } from './scope.ts'
import { attribute, OTHER_ERROR } from './semantic-conventions.ts'
import type { TelemetryOptions } from './telemetry-options.ts'
import type { ToolCallTelemetry } from './tool-span.ts'

/** Of how many runs it is known where they were asked for or driven before. */
const MAX_REMEMBERED_RUNS = 1000

export interface RunTelemetryOptions {
  readonly writer: Pick<Writer, 'streamId' | 'main' | 'ticket'>
  /** `agent:name@version`, or that of a workflow. */
  readonly program: string
  /** None of a workflow, or where the run is taken only to be ended. */
  readonly agent: TracedAgent | undefined
  /** The store's clock now. */
  readonly clock: () => number
}

/** A run that is driven here. */
export interface RunTelemetry {
  readonly agent: AgentTelemetry
  /** It was decided that the run ends, or waits. */
  decided(batch: BatchLike): void
  /** The run is not this process's any more. */
  lose(cause: unknown): void
  /** It is not driven here any more; tells when it started, by the store's clock, if that is known. */
  end(startedAt: number | undefined): void
}

export class Telemetry {
  readonly #scope: Scope
  /** The spans in which runs were asked for, or answered. */
  readonly #asked = new SpansByRun(MAX_REMEMBERED_RUNS)
  /** The spans of drives after which runs were to go on. */
  readonly #driven = new SpansByRun(MAX_REMEMBERED_RUNS)

  constructor(options: TelemetryOptions = {}, logger: Logger) {
    this.#scope = new Scope(options, logger)
  }

  /** A run is asked for, or given what it waits for: what is driven of it here next is told under the span that is active now. */
  asked(runId: string): void {
    if (!this.#scope.isTracing) return
    const active = this.#scope.guard.attempt('getActiveSpan', () => spanContextOf(trace.getActiveSpan()))
    if (active) this.#asked.set(runId, active)
  }

  /** A run begins to be driven here. */
  drive({ writer, program, agent, clock }: RunTelemetryOptions): RunTelemetry {
    if (!this.#scope.isEnabled) return noopRunTelemetry
    const { streamId: sessionId, main, ticket } = writer
    const { runId } = main.origin
    const isTakeover = ticket.run !== null && !ticket.run.paused
    const agentType = program.slice(program.indexOf(':') + 1, program.lastIndexOf('@'))
    const asked = this.#asked.take(runId)
    const before = this.#driven.take(runId)
    const place = { context: contextUnder(asked), sessionId, runId, agentId: runId, agentType }
    const taken = isTakeover ? { [attribute.isTakeover]: true } : {}
    const heading = programHeading(program, taken, before && [{ context: before }])
    const work = new AgentSpan(this.#scope, place, { heading, agent })
    const labels = { [attribute.agentName]: agentType }
    if (isTakeover) this.#scope.instruments.count('takeovers', labels)
    // Who ends without a word hands the run over.
    let ending: RunOutcome = { status: 'left' }
    return {
      agent: work,
      decided: batch => {
        ending = outcomeOf(batch) ?? ending
      },
      lose: failure => {
        // Of a run that is at its end nothing can be lost.
        if (ending.status === 'left') ending = { status: 'lost', failure }
      },
      end: startedAt => {
        const { status, failure } = ending
        const { spanContext } = work
        work.end(status, failure)
        if (FINAL_STATUSES.has(status))
          this.#measure(labels, status, startedAt === undefined ? undefined : clock() - startedAt)
        else if (spanContext) this.#driven.set(runId, spanContext)
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

/** How a drive ended, and why it failed. */
interface RunOutcome {
  readonly status: AgentStatus
  readonly failure?: unknown
}

const FINAL_STATUSES: ReadonlySet<AgentStatus> = new Set(['completed', 'failed', 'interrupted', 'aborted'])

/** How a run ends by what was decided; undefined where it says nothing of that. */
function outcomeOf(batch: BatchLike): RunOutcome | undefined {
  let failure: string | undefined
  for (const said of batch) {
    const chunk = 'chunk' in said ? said.chunk : said
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
