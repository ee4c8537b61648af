// Tells OpenTelemetry what runs do. It only watches: whatever a provider, an exporter or the application's own attributes throw, a run does not notice.

import type { BatchLike, Writer } from '@millrace/log'
import { type Attributes, type SpanContext, trace } from '@opentelemetry/api'
import { AgentSpan, type AgentStatus, type AgentWork, programHeading, type TracedAgent } from './agent-span.ts'
import { spanContextOf, under } from './guarded-span.ts'
import type { Logger } from './logger.ts'
import { unwatched } from './nobody.ts'
import { Recent } from './recent.ts'
import { Scope } from './scope.ts'
import { attribute, OTHER_ERROR } from './semantic-conventions.ts'
import type { TelemetryOptions } from './telemetry-options.ts'

/** Of how many runs it is known where they were asked for or driven before. */
const KNOWN_RUNS = 1000

export interface DriveAbout {
  readonly writer: Pick<Writer, 'streamId' | 'main' | 'ticket'>
  /** `agent:name@version`, or that of a workflow. */
  readonly program: string
  /** None of a workflow, or where the run is taken only to be ended. */
  readonly agent: TracedAgent | undefined
  /** The store's clock now. */
  readonly clock: () => number
}

/** A run that is driven here. */
export interface DriveWork {
  readonly work: AgentWork
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
  readonly #asked = new Recent<SpanContext>(KNOWN_RUNS)
  /** The spans of drives after which runs were to go on. */
  readonly #driven = new Recent<SpanContext>(KNOWN_RUNS)

  constructor(options: TelemetryOptions = {}, logger: Logger) {
    this.#scope = new Scope(options, logger)
  }

  /** A run is asked for, or given what it waits for: what is driven of it here next is told under the span that is active now. */
  asked(runId: string): void {
    if (!this.#scope.isTraced) return
    const active = this.#scope.guard.attempt('getActiveSpan', () => spanContextOf(trace.getActiveSpan()))
    if (active) this.#asked.note(runId, active)
  }

  /** A run begins to be driven here. */
  drive({ writer, program, agent, clock }: DriveAbout): DriveWork {
    if (!this.#scope.isHeard) return unwatched
    const { streamId: sessionId, main, ticket } = writer
    const { runId } = main.origin
    const isTakeover = ticket.run !== null && !ticket.run.paused
    const agentType = program.slice(program.indexOf(':') + 1, program.lastIndexOf('@'))
    const asked = this.#asked.take(runId)
    const before = this.#driven.take(runId)
    const place = { context: under(asked), sessionId, runId, agentId: runId, agentType }
    const taken = isTakeover ? { [attribute.isTakeover]: true } : {}
    const heading = programHeading(program, taken, before && [{ context: before }])
    const work = new AgentSpan(this.#scope, place, { heading, agent })
    const labels = { [attribute.agentName]: agentType }
    if (isTakeover) this.#scope.instruments.count('takeovers', labels)
    // Who ends without a word hands the run over.
    let ending: Ending = { status: 'left' }
    return {
      work,
      decided: batch => {
        ending = endingOf(batch) ?? ending
      },
      lose: failure => {
        // Of a run that is at its end nothing can be lost.
        if (ending.status === 'left') ending = { status: 'lost', failure }
      },
      end: startedAt => {
        const { status, failure } = ending
        const { spanContext } = work
        work.end(status, failure)
        if (ENDS.has(status)) this.#measure(labels, status, startedAt === undefined ? undefined : clock() - startedAt)
        else if (spanContext) this.#driven.note(runId, spanContext)
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
interface Ending {
  readonly status: AgentStatus
  readonly failure?: unknown
}

const ENDS: ReadonlySet<AgentStatus> = new Set(['completed', 'failed', 'interrupted', 'aborted'])

/** How a run ends by what was decided; undefined where it says nothing of that. */
function endingOf(batch: BatchLike): Ending | undefined {
  let failure: string | undefined
  for (const said of batch) {
    const chunk = 'chunk' in said ? said.chunk : said
    if (chunk.type === 'run-paused') return { status: 'paused' }
    if (chunk.type === 'error') failure = chunk.code ?? OTHER_ERROR
    if (chunk.type === 'run-finished') return { status: chunk.status, failure }
  }
  return undefined
}
