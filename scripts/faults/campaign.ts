// A schedule is a sequence of faults that a seed determines. `npm run chaos` tells the suites which schedules to play, and they report back.
// Without it the suites play their default counts from their default seeds.
import { appendFileSync } from 'node:fs'

/** Environment variables by which `npm run chaos` reaches the suites. */
export const CAMPAIGN_VARIABLES = {
  /** How many schedules each suite plays. */
  schedules: 'MILLRACE_SCHEDULES',
  /** Multiplies the default counts of schedules and properties. */
  factor: 'MILLRACE_RUNS',
  /** The first seed. */
  seed: 'MILLRACE_SEED',
  /** The file that reports go to, a line of JSON each. */
  report: 'MILLRACE_CHAOS_REPORT',
} as const

/** Counts of schedules, of the faults injected into them, and of the processes and servers that the faults killed. */
export type ScheduleCounts = { schedules: number; faults: number; deaths: number }

/** A failed schedule. `again` is the command that replays it. `output` is the end of its output: not every failure is reproducible. */
export type FailedSchedule = { seed: number | string; again: string; output?: string }

/** How many schedules to play. */
export function scheduleCount(defaultCount: number): number {
  return Number(process.env[CAMPAIGN_VARIABLES.schedules] ?? multiplied(defaultCount))
}

/** A count of something that `npm run chaos -- <factor>` multiplies, rounded up. */
export function multiplied(defaultCount: number): number {
  return Math.ceil(defaultCount * Number(process.env[CAMPAIGN_VARIABLES.factor] ?? 1))
}

/** The first seed to play. */
export function firstSeed(defaultSeed = 1): number {
  return Number(process.env[CAMPAIGN_VARIABLES.seed] ?? defaultSeed)
}

/** Whether `npm run chaos` asked for a number of schedules, so that tests of other kinds need not run. */
export function isCampaign(): boolean {
  return process.env[CAMPAIGN_VARIABLES.schedules] !== undefined
}

/** Reports schedules that were played to their end. */
export function reportPlayed({ schedules = 1, faults = 0, deaths = 0 }: Partial<ScheduleCounts>): void {
  report({ schedules, faults, deaths })
}

/** Reports a schedule that failed. */
export function reportFailed(failed: FailedSchedule): void {
  report({ failed })
}

function report(line: object): void {
  const file = process.env[CAMPAIGN_VARIABLES.report]
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(line)}\n`)
}
