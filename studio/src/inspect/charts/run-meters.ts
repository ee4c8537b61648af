import type { SessionLog } from '@millrace/client/log'
import type { Entry } from '@millrace/protocol'
import { useLogState } from '@millrace/react/log'
import { RunMeter, type UsageByModel } from './run-meter.ts'

/** Measures the runs of a growing log. Reads each entry once. */
export class RunMeters {
  readonly #runs: RunMeter[] = []
  readonly #byId = new Map<string, RunMeter>()
  readonly #requestedAt = new Map<string, number>()
  /** Token usage of all runs. */
  readonly usage: UsageByModel = new Map()
  #count = 0

  /** Oldest first. The array grows in place. */
  get runs(): readonly RunMeter[] {
    return this.#runs
  }

  /** The run with an id, else the latest. */
  runOf(runId: string | undefined): RunMeter | undefined {
    return (runId === undefined ? undefined : this.#byId.get(runId)) ?? this.#runs.at(-1)
  }

  /** Reads new entries up to `count`. */
  take(entries: readonly Entry[], count: number): void {
    for (; this.#count < count; this.#count++) {
      const entry = entries[this.#count]
      if (entry) this.#take(entry)
    }
  }

  #take(entry: Entry): void {
    const { chunk, origin, timestamp } = entry
    if (chunk.type === 'run-requested') this.#requestedAt.set(chunk.runId, timestamp)
    const { runId } = origin
    if (runId === undefined) return
    let run = this.#byId.get(runId)
    if (run === undefined) {
      // Requests to run or stop come from a guest, not from the run.
      if (origin.guest !== undefined) return
      run = new RunMeter(runId, this.#runs.length + 1, entry, this.usage, this.#requestedAt.get(runId))
      this.#requestedAt.delete(runId)
      this.#byId.set(runId, run)
      this.#runs.push(run)
    }
    run.take(entry)
  }
}

const metersByLog = new WeakMap<readonly Entry[], RunMeters>()

/** The measured runs of a log. Renders again as it grows. */
export function useRunMeters(log: SessionLog): RunMeters {
  const { count } = useLogState(log)
  const { entries } = log
  const runMeters = metersByLog.get(entries) ?? new RunMeters()
  metersByLog.set(entries, runMeters)
  runMeters.take(entries, count)
  return runMeters
}
