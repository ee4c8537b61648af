import { type Entry, isGuest } from '@millrace/protocol'

/** A run of the log. */
export interface RunFacet {
  readonly runId: string
  /** Number of the run in the session, from 1. */
  readonly number: number
  readonly program: string
  /** Timestamp of its first entry. */
  readonly start: number
}

/** Maximum number of lanes in the filter. */
const MAX_LANES = 300

/** The runs and lanes of a growing log. */
export class Facets {
  readonly runs = new Map<string, RunFacet>()
  /** The agent of each lane. */
  readonly lanes = new Map<string, string>()
  #count = 0
  #last: unknown

  take(entries: readonly Entry[], count: number): void {
    for (; this.#count < count; this.#count++) this.#take(entries[this.#count] as Entry)
  }

  #take({ origin, chunk, timestamp }: Entry): void {
    // Most entries have the same origin as the previous one.
    if (origin === this.#last || isGuest(origin)) return
    this.#last = origin
    const { runId, lane, agentType } = origin
    if (!this.runs.has(runId)) {
      const program = chunk.type === 'run-started' ? chunk.program : agentType
      this.runs.set(runId, { runId, number: this.runs.size + 1, program, start: timestamp })
    }
    // The last origin wins: the agent that opens a lane is not the one that works in it.
    if (this.lanes.size < MAX_LANES || this.lanes.has(lane)) this.lanes.set(lane, agentType)
  }
}
