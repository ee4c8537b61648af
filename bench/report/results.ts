// What the figures of the documentation are made from: the last time that all of the one table was measured.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Place } from '../harness/environment.ts'
import type { Stand } from '../harness/standing.ts'

/** Where every measurement is kept. */
export const RESULTS: string = join(import.meta.dirname, '../results')

const FILE = join(RESULTS, 'standings.json')

export interface Results {
  place: Place
  stands: Stand[]
}

/** What was kept the last time. */
export function load(): Results {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Results
}

/** Keeps all of the one table. */
export function save(results: Results): void {
  writeFileSync(FILE, `${JSON.stringify(results, rounded, 2)}\n`)
}

/** More digits than anybody can measure would only be noise in the history of the file. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value
}
