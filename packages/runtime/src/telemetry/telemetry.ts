// Tells OpenTelemetry what runs do. It only watches: whatever a provider, an exporter or the application's own attributes throw, a run does not notice.

import { type SpanContext, trace } from '@opentelemetry/api'
import type { Agent } from '../agent/agent.ts'
import type { Logger } from '../logger.ts'
import { type AgentStatus, AgentWork } from './agent.ts'
import { attribute } from './names.ts'
import type { TelemetryOptions } from './options.ts'
import { Recent } from './recent.ts'
import { Scope } from './scope.ts'
import { spanContextOf, under } from './span.ts'

/** Of how many runs it is known where they were asked for or driven before. */
const KNOWN_RUNS = 1000

export interface DriveAbout {
  readonly sessionId: string
  readonly runId: string
  /** `agent:name@version`. */
  readonly program: string
  /** None where the run is taken only to be ended. */
  readonly agent: Agent | undefined
  /** Whether another process had let the run go. */
  readonly isTakeover: boolean
}

/** How a drive ended. */
export interface DriveEnd {
  readonly status: AgentStatus
  readonly failure?: unknown
  /** When the run started, and when it ended, by the store's clock. */
  readonly ms?: number | undefined
}

const ENDS: ReadonlySet<AgentStatus> = new Set(['completed', 'failed', 'interrupted', 'aborted'])

export class Telemetry {
  readonly #scope: Scope
  /** The spans in which runs were asked for. */
  readonly #asked = new Recent<SpanContext>(KNOWN_RUNS)
  /** The spans of drives after which runs were to go on. */
  readonly #driven = new Recent<SpanContext>(KNOWN_RUNS)

  constructor(options: TelemetryOptions = {}, logger: Logger) {
    this.#scope = new Scope(options, logger)
  }

  /** A run is asked for, or given what it waits for: what drives it here next is told under the span that is active now. */
  asked(runId: string): void {
    const active = this.#scope.guard.attempt('getActiveSpan', () => spanContextOf(trace.getActiveSpan()))
    if (active) this.#asked.note(runId, active)
  }

  /** A run begins to be driven here. */
  drive(about: DriveAbout): DriveWork {
    const { sessionId, runId, program, agent, isTakeover } = about
    const agentType = program.slice(program.indexOf(':') + 1, program.lastIndexOf('@'))
    const place = { context: under(this.#asked.take(runId)), sessionId, runId, agentId: runId, agentType }
    const before = this.#driven.take(runId)
    const work = new AgentWork(this.#scope, place, {
      program,
      agent,
      ...(isTakeover && { attributes: { [attribute.isTakeover]: true } }),
      ...(before && { links: [{ context: before }] }),
    })
    const labels = { [attribute.agentName]: agentType }
    const { instruments } = this.#scope
    if (isTakeover) instruments.count('takeovers', labels)
    return {
      work,
      end: ({ status, failure, ms }) => {
        const { spanContext } = work
        work.end(status, failure)
        if (status === 'paused') instruments.count('pauses', labels)
        if (ENDS.has(status)) {
          const ended = { ...labels, [attribute.status]: status }
          instruments.count('runs', ended)
          if (ms !== undefined) instruments.record('run', ms / 1000, ended)
        } else if (spanContext) this.#driven.note(runId, spanContext)
      },
    }
  }
}

/** A run that is driven here. */
export interface DriveWork {
  readonly work: AgentWork
  end(end: DriveEnd): void
}
