// What a manager is told, checked once at its door: the message names what was expected and what was found.

import { LogError } from '../store/log-error.ts'
import type { LogStore } from '../store/log-store.ts'
import { systemTimers, type Timers } from '../store/timers.ts'
import { nameProblem } from '../ticket/name-problem.ts'
import { MIN_ENTRY_BYTES } from '../write/slot.ts'
import type { WriterSettings } from '../write/writer.ts'

export interface StreamManagerOptions {
  readonly store: LogStore
  /** Who holds the claims of this process, for people who look at a lease; a random name if none is given. */
  readonly owner?: string
  /** How long a claim lasts without renewal, in milliseconds; it is renewed three times in that time. */
  readonly leaseMs?: number
  /** How long deltas wait for others after an append, in milliseconds. */
  readonly coalesceMs?: number
  /** How long a store that cannot be reached is asked again before a call fails, in milliseconds. */
  readonly patienceMs?: number
  /** The largest entry; a longer delta is said in pieces, anything else is refused (law 6). */
  readonly maxEntryBytes?: number
  /** Larger tool outputs, files, hook results and contexts go to the store's blobs. */
  readonly blobBytes?: number
  /** The largest of these. */
  readonly maxBlobBytes?: number
  /** How much a writer may have waiting before `write` waits too (law 8). */
  readonly queueBytes?: number
  /** Time; the machine's own unless a test brings another. */
  readonly timers?: Timers
}

const DAY_MS = 86_400_000
const MOST_BYTES = 2 ** 31 - 1

type Amount = Exclude<keyof WriterSettings, 'store' | 'timers'>

const RANGES: { readonly [K in Amount]: readonly [usual: number, least: number, most: number] } = {
  leaseMs: [30_000, 100, DAY_MS],
  coalesceMs: [16, 0, 60_000],
  patienceMs: [30_000, 0, DAY_MS],
  maxEntryBytes: [1024 * 1024, MIN_ENTRY_BYTES, MOST_BYTES],
  blobBytes: [64 * 1024, 1, MOST_BYTES],
  maxBlobBytes: [16 * 1024 * 1024, 1, MOST_BYTES],
  queueBytes: [1024 * 1024, 1, MOST_BYTES],
}

/** What a manager works with: what it is told, or what is usual. */
export function settingsOf(options: StreamManagerOptions): WriterSettings {
  const amounts = Object.entries(RANGES).map(([name, [usual, least, most]]) => {
    const told = options[name as Amount] ?? usual
    checkWhole(name, told, least, most)
    return [name, told]
  })
  const { store, timers = systemTimers } = options
  return { store, timers, ...(Object.fromEntries(amounts) as Record<Amount, number>) }
}

/** Throws where a number is not whole, or not in its range. */
export function checkWhole(place: string, value: unknown, least = 0, most = Number.MAX_SAFE_INTEGER): void {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return
  const range = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`
  throw new LogError('invalid', `${place}: expected a whole number ${range}, found ${found(value)}`)
}

/** Throws where a name is none: a text of 1 to 512 characters, each of them whole; where it may be missing it may be undefined. */
export function checkNames(names: Readonly<Record<string, unknown>>): void {
  for (const [place, name] of Object.entries(names)) {
    if (name === undefined) continue
    if (typeof name !== 'string') throw new LogError('invalid', `${place}: expected a name, found ${found(name)}`)
    const problem = nameProblem(place, name)
    if (problem !== undefined) throw new LogError('invalid', problem)
    if (!name.isWellFormed()) {
      throw new LogError('invalid', `${place}: expected well-formed Unicode, found half a character`)
    }
  }
}

/** Throws where the id of a log is none. */
export function checkId(streamId: unknown): void {
  checkNames({ streamId: streamId ?? null })
}

const found = (value: unknown): string =>
  typeof value === 'number' || value === null
    ? String(value)
    : `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`

/** The longest list that is given at once. */
export const MOST_LISTED = 1000
/** The most logs that are told to be due at once. */
export const MOST_DUE = 100_000
