import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { FailedSchedule, Played } from '../faults/campaign.ts'

/** What a nightly run has done of one campaign. */
export type CampaignProgress = Played & {
  /** The seed that the next batch begins with. */
  nextSeed: number
  /** Time spent on it, in ms. */
  ms: number
  failed: FailedSchedule[]
  /** Batches that failed without naming a schedule, such as a server that did not start, by the end of their output. */
  broken: string[]
}

/** What a nightly run has done, kept in a file so that the next one continues. */
export class Progress {
  readonly #file: string
  readonly #campaigns: Record<string, CampaignProgress>

  constructor(file: string) {
    this.#file = file
    this.#campaigns = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  }

  of(name: string): CampaignProgress {
    this.#campaigns[name] ??= {
      nextSeed: FIRST_SEED,
      schedules: 0,
      faults: 0,
      deaths: 0,
      ms: 0,
      failed: [],
      broken: [],
    }
    return this.#campaigns[name]
  }

  /** Written aside and moved into place, so that a killed run leaves a whole file. */
  save(): void {
    mkdirSync(dirname(this.#file), { recursive: true })
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.#campaigns, null, 2))
    renameSync(`${this.#file}.new`, this.#file)
  }
}

/** Above the seeds that `npm test` plays. */
const FIRST_SEED = 100_000
