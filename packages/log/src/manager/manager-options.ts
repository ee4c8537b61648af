// Checks of a manager's options and arguments. A message states what was expected and what was found.

import { LogError } from '../store/log-error.ts'
import type { LogStore } from '../store/log-store.ts'
import { systemTimers, type Timers } from '../store/timers.ts'
import { nameProblem } from '../ticket/name-problem.ts'
import { LeaseTerms } from '../write/lease-terms.ts'
import { MIN_ENTRY_BYTES } from '../write/slot.ts'
import type { WriterSettings } from '../write/writer.ts'

/** Options of `StreamManager`. */
export interface StreamManagerOptions {
  /** The store of the logs. */
  readonly store: LogStore
  /**
   * Name of this process in its leases.
   *
   * @default a random name
   */
  readonly owner?: string
  /**
   * Duration of a lease, in ms. It is renewed after a third of this time. Another process takes over after it.
   *
   * @default 3000 if the store has a heartbeat, otherwise 30000
   */
  readonly leaseMs?: number
  /**
   * How long the heartbeat of the store renews leases while the event loop is blocked, in ms. After it another process takes
   * over.
   *
   * @default 120000
   */
  readonly maxBlockedMs?: number
  /**
   * Called once if the heartbeat of the store cannot renew leases. The event loop renews them from then on.
   *
   * @default a warning of the process
   */
  readonly onHeartbeatFailed?: (error: Error) => void
  /**
   * Minimum time between two appends of deltas, in ms. Deltas that arrive meanwhile share the next append.
   *
   * @default 16
   */
  readonly coalesceMs?: number
  /**
   * How long calls to an unreachable store are retried, in ms.
   *
   * @default 30000
   */
  readonly retryTimeoutMs?: number
  /**
   * Maximum size of an entry, in bytes. A longer delta is split; any other larger entry is rejected (law 6).
   *
   * @default 1048576
   */
  readonly maxEntryBytes?: number
  /**
   * Tool outputs, files, hook results and contexts larger than this many bytes are stored as blobs.
   *
   * @default 65536
   */
  readonly blobBytes?: number
  /**
   * Maximum size of a blob, in bytes.
   *
   * @default 16777216
   */
  readonly maxBlobBytes?: number
  /**
   * Maximum number of bytes that a writer queues. Above it, the promise of `write` resolves after the next append (law 8).
   *
   * @default 1048576
   */
  readonly queueBytes?: number
  /** Clock and timers, for tests. @default systemTimers */
  readonly timers?: Timers
}

const DAY_MS = 86_400_000
const MAX_BYTES = 2 ** 31 - 1
const MIN_LEASE_MS = 100

type NumericOption = Exclude<keyof WriterSettings, 'store' | 'timers' | 'terms'> | 'maxBlockedMs'

const RANGES: { readonly [K in NumericOption]: readonly [initial: number, min: number, max: number] } = {
  maxBlockedMs: [120_000, 100, DAY_MS],
  coalesceMs: [16, 0, 60_000],
  retryTimeoutMs: [30_000, 0, DAY_MS],
  maxEntryBytes: [1024 * 1024, MIN_ENTRY_BYTES, MAX_BYTES],
  blobBytes: [64 * 1024, 1, MAX_BYTES],
  maxBlobBytes: [16 * 1024 * 1024, 1, MAX_BYTES],
  queueBytes: [1024 * 1024, 1, MAX_BYTES],
}

/** The settings of a manager, with defaults. */
export function settingsOf(options: StreamManagerOptions): WriterSettings {
  const amounts = Object.entries(RANGES).map(([name, [initial, min, max]]) => {
    const value = options[name as NumericOption] ?? initial
    checkInteger(name, value, min, max)
    return [name, value]
  })
  const { store, timers = systemTimers, leaseMs, onHeartbeatFailed = warnOfHeartbeat } = options
  if (leaseMs !== undefined) checkInteger('leaseMs', leaseMs, MIN_LEASE_MS, DAY_MS)
  const { maxBlockedMs, ...rest } = Object.fromEntries(amounts) as Record<NumericOption, number>
  const terms = new LeaseTerms({ store, timers, leaseMs, maxBlockedMs, onHeartbeatFailed })
  return { store, timers, terms, ...rest }
}

function warnOfHeartbeat({ message }: Error): void {
  process.emitWarning(`the event loop renews the leases of millrace, the heartbeat failed: ${message}`)
}

/** @throws LogError `invalid` if a number is not an integer in its range. */
export function checkInteger(field: string, value: unknown, min = 0, max = Number.MAX_SAFE_INTEGER): void {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return
  const range = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`
  throw new LogError('invalid', `${field}: expected a whole number ${range}, found ${describeValue(value)}`)
}

/**
 * Checks names that are not undefined: strings of 1 to 512 characters of well-formed Unicode.
 *
 * @throws LogError `invalid`
 */
export function checkNames(names: Readonly<Record<string, unknown>>): void {
  for (const [field, name] of Object.entries(names)) {
    if (name === undefined) continue
    if (typeof name !== 'string')
      throw new LogError('invalid', `${field}: expected a name, found ${describeValue(name)}`)
    const problem = nameProblem(field, name)
    if (problem !== undefined) throw new LogError('invalid', problem)
    if (!name.isWellFormed()) {
      throw new LogError('invalid', `${field}: expected well-formed Unicode, found a lone surrogate`)
    }
  }
}

/** @throws LogError `invalid` if a stream id is not a valid name. */
export function checkStreamId(streamId: unknown): void {
  checkNames({ streamId: streamId ?? null })
}

const describeValue = (value: unknown): string =>
  typeof value === 'number' || value === null
    ? String(value)
    : `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`

/** Maximum number of logs in one page of a list. */
export const MAX_LISTED = 1000
/** Maximum number of logs in one answer of `due`. */
export const MAX_DUE = 100_000
