import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { FailedSchedule, ScheduleCounts } from '../faults/campaign.ts'
import type { BatchResult } from './batch.ts'

/** Progress of nightly runs in one campaign. */
export type CampaignProgress = ScheduleCounts & {
  /** How many seeds were played. */
  seeds: number
  /** Time spent, in ms. */
  ms: number
  failed: FailedSchedule[]
  /** Outputs of batches that failed without naming a schedule, for example because a server did not start. */
  broken: string[]
}

/** Progress of nightly runs, saved in a file so that the next run continues. */
export class Progress {
  readonly #file: string
  readonly #campaigns: Record<string, CampaignProgress>

  constructor(file: string, fresh: boolean) {
    this.#file = file
    this.#campaigns = !fresh && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  }

  of(name: string): CampaignProgress {
    const nothing = { seeds: 0, schedules: 0, faults: 0, deaths: 0, ms: 0, failed: [], broken: [] }
    this.#campaigns[name] ??= nothing
    return this.#campaigns[name]
  }

  /** Adds a batch and saves. */
  add(name: string, batch: BatchResult & { seeds: number; ms: number }): void {
    const state = this.of(name)
    state.seeds += batch.seeds
    state.ms += batch.ms
    state.schedules += batch.schedules
    state.faults += batch.faults
    state.deaths += batch.deaths
    state.failed.push(...batch.failed)
    if (batch.broken !== undefined) state.broken.push(batch.broken)
    // Written to a temporary file and renamed, so that a killed run leaves a complete file.
    writeFileSync(`${this.#file}.${process.pid}`, JSON.stringify(this.#campaigns, null, 2))
    renameSync(`${this.#file}.${process.pid}`, this.#file)
  }

  /** How many schedules and batches have failed so far. */
  get failures(): number {
    return Object.values(this.#campaigns).reduce((sum, { failed, broken }) => sum + failed.length + broken.length, 0)
  }
}
