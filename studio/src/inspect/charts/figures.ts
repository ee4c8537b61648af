import type { SessionLog } from '@millrace/client/log'
import type { Entry } from '@millrace/protocol'
import { useLogState } from '@millrace/react/log'
import { RunMeter, type UsedBy } from './run-meter.ts'

/** What can be measured of the runs of a log, from its entries as they come: each is looked at once. */
export class Figures {
  readonly #runs: RunMeter[] = []
  readonly #byId = new Map<string, RunMeter>()
  readonly #asked = new Map<string, number>()
  /** What all of them used. */
  readonly used: UsedBy = new Map()
  #taken = 0

  /** First to last; the array grows in place. */
  get runs(): readonly RunMeter[] {
    return this.#runs
  }

  /** The run of an id; the latest, if there is none of it. */
  runOf(runId: string | undefined): RunMeter | undefined {
    return (runId === undefined ? undefined : this.#byId.get(runId)) ?? this.#runs.at(-1)
  }

  /** Takes those that are new, up to a count. */
  take(entries: readonly Entry[], count: number): void {
    for (; this.#taken < count; this.#taken++) {
      const entry = entries[this.#taken]
      if (entry) this.#take(entry)
    }
  }

  #take(entry: Entry): void {
    const { chunk, origin, timestamp } = entry
    if (chunk.type === 'run-requested') this.#asked.set(chunk.runId, timestamp)
    const { runId } = origin
    if (runId === undefined) return
    let run = this.#byId.get(runId)
    if (run === undefined) {
      // Who asks for a run, or to stop it, is not at work in it.
      if (origin.guest !== undefined) return
      run = new RunMeter(runId, this.#runs.length + 1, entry, this.used, this.#asked.get(runId))
      this.#asked.delete(runId)
      this.#byId.set(runId, run)
      this.#runs.push(run)
    }
    run.take(entry)
  }
}

const known = new WeakMap<readonly Entry[], Figures>()

/** The figures of a log: renders again as it grows, and looks at what is new alone. */
export function useFigures(log: SessionLog): Figures {
  const { count } = useLogState(log)
  const { entries } = log
  const figures = known.get(entries) ?? new Figures()
  known.set(entries, figures)
  figures.take(entries, count)
  return figures
}
