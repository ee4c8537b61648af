// The last full measurement of the standings, from which the documentation is generated.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../harness/environment.ts'
import type { StandingResult } from '../harness/standing.ts'

/** Folder of all measurements. */
export const RESULTS: string = join(import.meta.dirname, '../results')

const FILE = join(RESULTS, 'standings.json')

export interface Results {
  environment: Environment
  standings: StandingResult[]
}

/** Loads the saved results. */
export function load(): Results {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Results
}

/** Saves the results. */
export function save(results: Results): void {
  writeFileSync(FILE, `${JSON.stringify(results, rounded, 2)}\n`)
}

/** Rounds to four digits: more would only be noise in the file's history. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value
}
