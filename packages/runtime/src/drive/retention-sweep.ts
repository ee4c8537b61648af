// Applies the retention rule to all sessions of a store. Every process that drives sweeps on its own: each removal and
// each trim is conditional on the state of its session, so several processes can do it at the same time.

import { LogError, type LogStore, type OldestStream, type StreamManager, type Timers } from '@millrace/log'
import { isAtRest } from '@millrace/log/internal'
import { backoffMs } from '@millrace/protocol/retry'
import { checkKeys, checkObject, describeType } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import type { Logger } from '../telemetry/logger.ts'

/** Which sessions and entries are removed. Each limit is off by default. */
export interface RetentionRule {
  /** Removes a session in which nothing happened for this time, in ms by the store's clock. @default no limit */
  readonly idleMs?: number
  /** Trims entries that are older than this, in ms by the store's clock. @default no limit */
  readonly maxAgeMs?: number
  /** Trims all entries of a session except the last ones, of this number. @default no limit */
  readonly maxEntries?: number
}

export interface RetentionSettings {
  readonly rule: RetentionRule
  /** Creates a manager of the store for one pass, which ends the retries of its calls at once. */
  readonly openManager: () => StreamManager
  readonly timers: Timers
  readonly logger: Logger
}

/** Minimum time between the starts of two passes, in ms. Jitter adds up to half of it. */
export const PASS_INTERVAL_MS = 60_000
/** Maximum number of sessions per page. */
export const PAGE_SIZE = 200
/** Time between two pages of a pass, in ms. */
export const PAGE_INTERVAL_MS = 1000
/** Maximum delay of the next pass while the store is unavailable, in ms. */
export const MAX_PASS_BACKOFF_MS = 900_000
/**
 * Minimum time between two trims of a session by one process, in ms. Each trim folds the session and stores a snapshot,
 * so a session must not be trimmed after every run.
 */
export const TRIM_INTERVAL_MS = 3_600_000
/** Maximum number of sessions whose last trim is remembered. */
const MAX_REMEMBERED_TRIMS = 10_000
/**
 * Added to `idleMs` for the expiry by the store itself, in ms: normally a pass removes the session first, which also
 * wakes its readers.
 */
export const EXPIRY_MARGIN_MS = 3_600_000

/** Log errors that mean that the session was changed or removed meanwhile. */
const EXPECTED_ERRORS: ReadonlySet<string> = new Set(['absent', 'truncated', 'regressed'])
/** Log errors that end the pass. */
const STORE_ERRORS: ReadonlySet<string> = new Set(['unavailable', 'closed'])

/** Removes idle sessions and trims entries, page by page. Starts a pass about once a minute. */
export class RetentionSweep {
  readonly #settings: RetentionSettings
  /** When a session was last trimmed here, by the local clock, least recent first. */
  readonly #trims = new Map<string, number>()
  #isStopped = false
  #cancelTimer: (() => void) | undefined
  #endPause: (() => void) | undefined
  #pass: Promise<void> | undefined
  #failedPasses = 0

  constructor(settings: RetentionSettings) {
    this.#settings = settings
  }

  /** Starts the first pass after half a minute to a minute: a process that starts has other work. */
  start(): void {
    this.#schedule((PASS_INTERVAL_MS * (1 + Math.random())) / 2)
  }

  /** Starts no more calls, and resolves when the one in flight has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer?.()
    this.#endPause?.()
    await this.#pass
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return
    const { timers } = this.#settings
    this.#cancelTimer = timers.after(
      delayMs,
      () => {
        const startedAt = timers.now()
        this.#pass = this.#run().then(() => {
          const firstMs = PASS_INTERVAL_MS * (1 + Math.random() / 2)
          const intervalMs = backoffMs({ firstMs, longestMs: MAX_PASS_BACKOFF_MS }, this.#failedPasses)
          this.#schedule(Math.max(0, intervalMs - (timers.now() - startedAt)))
        })
      },
      true,
    )
  }

  /** Runs one pass over all sessions. */
  async #run(): Promise<void> {
    const { logger } = this.#settings
    const failures: { sessionId: string; cause: unknown }[] = []
    try {
      await this.#sweep(failures)
      this.#failedPasses = 0
    } catch (error) {
      // Logged once, because it is repeated. A closed store ends the sweep.
      const isClosed = error instanceof LogError && error.code === 'closed'
      if (this.#failedPasses === 0 && !isClosed) logger.warn('failed to apply the retention rule', { cause: error })
      this.#failedPasses++
      this.#isStopped ||= isClosed
    }
    const [first] = failures
    if (first) logger.warn('failed to apply the retention rule to sessions', { count: failures.length, ...first })
  }

  /** @throws {LogError} if the store is unavailable or closed. */
  async #sweep(failures: { sessionId: string; cause: unknown }[]): Promise<void> {
    const { rule, openManager } = this.#settings
    // Its cache of folded sessions ends with the pass.
    const manager = openManager()
    const hasTrims = rule.maxAgeMs !== undefined || rule.maxEntries !== undefined
    for (let after: string | undefined; !this.#isStopped; ) {
      const page = await manager.listOldestStreams({ limit: PAGE_SIZE, ...(after !== undefined && { after }) })
      for (const stream of page.streams) {
        if (this.#isStopped) return
        const isIdle = rule.idleMs !== undefined && page.clock - stream.touchedAt >= rule.idleMs
        // All later sessions were touched later.
        if (!isIdle && !hasTrims) return
        try {
          if (isIdle && isAtRest(stream.ticket)) await manager.expireStream(stream.streamId, rule.idleMs)
          else if (hasTrims && this.#mayTrim(stream, page.clock)) await manager.trimStream(stream.streamId, rule)
        } catch (cause) {
          const code = cause instanceof LogError ? cause.code : ''
          if (STORE_ERRORS.has(code)) {
            this.#trims.delete(stream.streamId)
            throw cause
          }
          if (!EXPECTED_ERRORS.has(code)) failures.push({ sessionId: stream.streamId, cause })
        }
      }
      if (page.next === null) return
      after = page.next
      await this.#pause()
    }
  }

  /** Whether a session has entries that may be too many or too old, and was not trimmed here in the last hour. */
  #mayTrim({ streamId, head, floor, createdAt, lease }: OldestStream, clock: number): boolean {
    const { maxAgeMs, maxEntries } = this.#settings.rule
    const isLong = maxEntries !== undefined && head - floor > maxEntries
    const isOld = maxAgeMs !== undefined && head > floor && clock - createdAt > maxAgeMs
    if (!(isLong || isOld) || (lease !== null && lease.until > clock)) return false
    const now = this.#settings.timers.now()
    const trimmedAt = this.#trims.get(streamId)
    if (trimmedAt !== undefined && now - trimmedAt < TRIM_INTERVAL_MS) return false
    this.#trims.delete(streamId)
    this.#trims.set(streamId, now)
    const [oldest] = this.#trims.keys()
    if (oldest !== undefined && this.#trims.size > MAX_REMEMBERED_TRIMS) this.#trims.delete(oldest)
    return true
  }

  /** Waits before the next page, or until `stop`. */
  async #pause(): Promise<void> {
    if (this.#isStopped) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#settings.timers.after(PAGE_INTERVAL_MS, resolve, true)
    this.#endPause = resolve
    await promise
    this.#endPause = undefined
    cancel()
  }
}

/** @throws {ValidationError} if the rule is invalid, or if the store cannot list all logs. */
export function checkRetention(rule: RetentionRule | undefined, store: LogStore): void {
  if (rule === undefined) return
  const names = ['idleMs', 'maxAgeMs', 'maxEntries'] as const
  checkObject('retention', rule)
  checkKeys('retention', rule, names)
  const limits = names.filter(name => rule[name] !== undefined)
  if (limits.length === 0) {
    throw new ValidationError(`retention: expected at least one of ${names.join(', ')}, found none: set one or omit it`)
  }
  for (const name of limits) {
    const value: unknown = rule[name]
    if (Number.isSafeInteger(value) && (value as number) >= 1) continue
    const found = typeof value === 'number' ? value : describeType(value)
    throw new ValidationError(`retention.${name}: expected a whole number of at least 1, found ${found}`)
  }
  if (typeof store.listOldest === 'function') return
  throw new ValidationError('retention: expected a store with listOldest, found one without it: implement the method')
}

/** How long after its last run the store removes a session by itself, in ms. Undefined for never. */
export const storeExpiryMs = (rule: RetentionRule | undefined, store: LogStore): number | undefined =>
  rule?.idleMs === undefined || store.expireAfter === undefined
    ? undefined
    : Math.min(rule.idleMs + EXPIRY_MARGIN_MS, Number.MAX_SAFE_INTEGER)
