import { systemTimers, type Timers } from '@millrace/log'
import { MAX_TIMER_MS } from '@millrace/log/internal'
import { ValidationError } from '../error/error.ts'

/** Drives the sessions of one store. The engine calls it. */
export interface EngineDriver {
  /**
   * Sessions with due work that can be driven here and have no driver, oldest first. Rejects if the store is
   * unavailable.
   */
  due(limit: number): Promise<readonly string[]>
  /**
   * Drives a session while it has due work. Rejects on errors that are not in the log: wait before driving that session
   * again.
   */
  drive(sessionId: string): Promise<void>
  /** Hands every run over at its next commit from now on. */
  handOver(): void
  /** Aborts all drives now. They end soon, even if their code ignores the abort. */
  abandon(): void
}

/**
 * Decides when this process drives which session. The behaviour and durability of runs depend on the log alone, not on
 * the engine.
 */
export interface Engine {
  /**
   * Starts to drive due sessions. Call it once.
   * @throws {ValidationError} if it was started or stopped before.
   */
  start(driver: EngineDriver): void
  /** Reports that a session may have due work. */
  wake(sessionId: string): void
  /** Takes no new sessions, and resolves when all drives are handed over or aborted. */
  stop(): Promise<void>
}

/** Options of `inProcessEngine`. */
export interface InProcessOptions {
  /** Interval of polling for due sessions, in ms. @default 250 */
  readonly pollMs?: number
  /** Maximum number of sessions that are driven at the same time. @default 256 */
  readonly concurrency?: number
  /** How long `stop` waits for runs to reach their next commit before it aborts them, in ms. @default 20_000 */
  readonly graceMs?: number
  /** Whether polling keeps the process alive. @default false */
  readonly keepsAlive?: boolean
  /** Clock and timers, for tests. @default the system timers */
  readonly timers?: Timers
}

export const POLL_MS = 250
export const CONCURRENCY = 256
/** With the other steps of a shutdown it is less than the 30 seconds that Kubernetes waits. */
export const GRACE_MS = 20_000
/** Backoff of a session that could not be driven, in ms: first delay, doubled each time, and maximum. */
export const FIRST_BACKOFF_MS = 1000
export const MAX_BACKOFF_MS = 60_000

/** Maximum number of sessions per query. */
const MAX_DUE_SESSIONS = 1000

/**
 * Drives runs in this process. Processes that share a store coordinate by leases.
 * @throws {ValidationError} if an option is not an integer in its range.
 */
export function inProcessEngine(options: InProcessOptions = {}): Engine {
  const { pollMs = POLL_MS, concurrency = CONCURRENCY, graceMs = GRACE_MS } = options
  const { keepsAlive = false, timers = systemTimers } = options
  checkInteger('pollMs', pollMs, 1)
  checkInteger('concurrency', concurrency, 1)
  checkInteger('graceMs', graceMs, 0)
  return new InProcess({ pollMs, concurrency, graceMs, keepsAlive, timers })
}

function checkInteger(name: string, value: number, min: number): void {
  if (Number.isInteger(value) && value >= min && value <= MAX_TIMER_MS) return
  throw new ValidationError(
    `engine: ${name}: expected a whole number from ${min} to ${MAX_TIMER_MS}, found ${String(value)}`,
  )
}

/** The backoff of a session that could not be driven. */
interface SessionBackoff {
  readonly ms: number
  /** Ends the backoff early. Undefined when it is over. */
  cancel: (() => void) | undefined
}

class InProcess implements Engine {
  readonly #options: Required<InProcessOptions>
  readonly #active = new Map<string, Promise<void>>()
  /** Sessions that were woken while they were driven: they may have newer work. */
  readonly #wokenWhileActive = new Set<string>()
  readonly #backoffs = new Map<string, SessionBackoff>()
  #driver: EngineDriver | undefined
  #cancelPoll: (() => void) | undefined
  #polling: Promise<void> | undefined
  #isPollRequested = false
  #stopping: Promise<void> | undefined

  constructor(options: Required<InProcessOptions>) {
    this.#options = options
  }

  start(driver: EngineDriver): void {
    if (this.#driver !== undefined || this.#stopping !== undefined) {
      throw new ValidationError('engine: it was already started or stopped: create one for each runtime')
    }
    this.#driver = driver
    this.#poll()
  }

  wake(sessionId: string): void {
    if (this.#driver === undefined || this.#stopping !== undefined) return
    if (this.#active.has(sessionId)) this.#wokenWhileActive.add(sessionId)
    // Without a free slot, or during a backoff, the session stays due and is found by a later poll.
    else if (this.#active.size < this.#options.concurrency && !this.#backoffs.get(sessionId)?.cancel) {
      this.#drive(this.#driver, sessionId)
    }
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    const { timers, graceMs } = this.#options
    this.#cancelPoll?.()
    for (const { cancel } of this.#backoffs.values()) cancel?.()
    this.#driver?.handOver()
    const cancel = timers.after(graceMs, () => this.#driver?.abandon())
    await Promise.all([this.#polling, ...this.#active.values()])
    cancel()
  }

  /** Polls for due sessions and schedules the next poll. */
  #poll(): void {
    if (this.#driver === undefined || this.#stopping !== undefined) return
    if (this.#polling !== undefined) {
      this.#isPollRequested = true
      return
    }
    this.#cancelPoll?.()
    this.#cancelPoll = undefined
    this.#isPollRequested = false
    this.#polling = this.#driveDue(this.#driver).then(() => {
      this.#polling = undefined
      const { timers, pollMs, keepsAlive } = this.#options
      if (this.#stopping !== undefined) return
      if (this.#isPollRequested) this.#poll()
      else this.#cancelPoll = timers.after(pollMs, () => this.#poll(), !keepsAlive)
    })
  }

  async #driveDue(driver: EngineDriver): Promise<void> {
    const freeSlots = this.#options.concurrency - this.#active.size
    if (freeSlots <= 0) return
    // Active sessions and those in backoff must not hide others.
    const limit = Math.min(freeSlots + this.#active.size + this.#backoffs.size, MAX_DUE_SESSIONS)
    // An unavailable store is polled again.
    const due = await driver.due(limit).catch(() => [])
    for (const sessionId of due) if (!this.#active.has(sessionId)) this.wake(sessionId)
  }

  #drive(driver: EngineDriver, sessionId: string): void {
    const done = driver.drive(sessionId).then(
      () => void this.#backoffs.delete(sessionId),
      () => this.#backOff(sessionId),
    )
    this.#active.set(
      sessionId,
      done.then(() => this.#onDriven(sessionId)),
    )
  }

  #onDriven(sessionId: string): void {
    const wasFull = this.#active.size === this.#options.concurrency
    this.#active.delete(sessionId)
    const isWoken = this.#wokenWhileActive.delete(sessionId)
    // A slot is free: the session that waited longest is first.
    if (wasFull) this.#poll()
    else if (isWoken) this.wake(sessionId)
  }

  /** Starts or doubles the backoff of a session. */
  #backOff(sessionId: string): void {
    if (this.#stopping !== undefined) return
    const { timers, keepsAlive } = this.#options
    const ms = Math.min((this.#backoffs.get(sessionId)?.ms ?? FIRST_BACKOFF_MS / 2) * 2, MAX_BACKOFF_MS)
    const backoff: SessionBackoff = {
      ms,
      cancel: timers.after(
        ms,
        () => {
          backoff.cancel = undefined
          // Without a free slot, a later poll finds it and its backoff starts again.
          if (this.#active.size >= this.#options.concurrency) this.#backoffs.delete(sessionId)
          this.wake(sessionId)
        },
        !keepsAlive,
      ),
    }
    this.#backoffs.set(sessionId, backoff)
  }
}
