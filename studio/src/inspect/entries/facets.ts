import { type Entry, isGuest } from '@millrace/protocol'

/** A run, as entries name it. */
export interface RunFacet {
  readonly runId: string
  /** The how manyth of the session it is. */
  readonly number: number
  readonly program: string
  /** When its first entry was written. */
  readonly start: number
}

/** No more lanes than these can be chosen from. */
const MOST_LANES = 300

/** The runs and lanes of a log, as they come. */
export class Facets {
  readonly runs = new Map<string, RunFacet>()
  /** Who works on a lane, by its name. */
  readonly lanes = new Map<string, string>()
  #count = 0
  #last: unknown

  take(entries: readonly Entry[], count: number): void {
    for (; this.#count < count; this.#count++) this.#take(entries[this.#count] as Entry)
  }

  #take({ origin, chunk, timestamp }: Entry): void {
    // Most entries come from the same writer as the one before.
    if (origin === this.#last || isGuest(origin)) return
    this.#last = origin
    const { runId, lane, agentType } = origin
    if (!this.runs.has(runId)) {
      const program = chunk.type === 'run-started' ? chunk.program : agentType
      this.runs.set(runId, { runId, number: this.runs.size + 1, program, start: timestamp })
    }
    // The one that opens a lane is not who works there.
    if (this.lanes.size < MOST_LANES || this.lanes.has(lane)) this.lanes.set(lane, agentType)
  }
}
