import { systemTimers, type Timers } from '@millrace/log'
import { MAX_TIMER_MS } from '../async/max-timer-ms.ts'
import { ValidationError } from '../error/error.ts'

/** Drives the sessions of one store on an engine's behalf. */
export interface EngineDriver {
  /** The sessions in which something is due that can be driven here and that nobody drives, those due longest first; rejects where nobody can tell now. */
  due(limit: number): Promise<readonly string[]>
  /** Drives a session as long as something is due in it; rejects where something went wrong that no log tells: leave that session alone for a while. */
  drive(sessionId: string): Promise<void>
  /** From now on every run is handed over at its next commit. */
  leave(): void
  /** Lets go at once: what is driven ends soon, whatever its code does. */
  abandon(): void
}

/** Decides who drives a run, and when. What a run does, and what survives, is the log's: the same on every engine. */
export interface Engine {
  /** Begins to drive what is due; once, for one runtime. */
  start(driving: EngineDriver): void
  /** Says that something may be due in a session. */
  wake(sessionId: string): void
  /** Takes nothing more, and resolves when all that was under way is handed over or let go. */
  stop(): Promise<void>
}

export interface InProcessOptions {
  /** How often to look for what is due, in milliseconds. */
  readonly pollMs?: number
  /** How many sessions to drive at a time. */
  readonly concurrency?: number
  /** How long a stop waits for runs to come to their next commit before it lets them go, in milliseconds. */
  readonly graceMs?: number
  /** Whether the process stays alive just to look for what is due. */
  readonly keepsAlive?: boolean
  readonly timers?: Timers
}

/** How often to look for what is due, if nothing is said. */
export const POLL_MS = 250
/** How many sessions to drive at a time, if nothing is said. */
export const CONCURRENCY = 256
/** How long a stop waits before it lets go, if nothing is said. */
export const GRACE_MS = 30_000
/** How long a session is left alone that could not be driven: at first, doubled each time, and at most. */
export const FIRST_REST_MS = 1000
export const LONGEST_REST_MS = 60_000

/** The most sessions that are asked for at once. */
const MOST_DUE = 1000
/** Timers know no longer time. */

/** Drives runs in this process; any number of processes on one store share them out by claims. */
export function inProcessEngine(options: InProcessOptions = {}): Engine {
  const { pollMs = POLL_MS, concurrency = CONCURRENCY, graceMs = GRACE_MS } = options
  const { keepsAlive = false, timers = systemTimers } = options
  checkWhole('pollMs', pollMs, 1)
  checkWhole('concurrency', concurrency, 1)
  checkWhole('graceMs', graceMs, 0)
  return new InProcess({ pollMs, concurrency, graceMs, keepsAlive, timers })
}

function checkWhole(name: string, value: number, least: number): void {
  if (Number.isInteger(value) && value >= least && value <= MAX_TIMER_MS) return
  throw new ValidationError(
    `engine: ${name}: expected a whole number from ${least} to ${MAX_TIMER_MS}, found ${String(value)}`,
  )
}

/** A session that could not be driven. */
interface Rest {
  readonly ms: number
  /** Ends it early; undefined once it is over. */
  cancel: (() => void) | undefined
}

class InProcess implements Engine {
  readonly #options: Required<InProcessOptions>
  readonly #active = new Map<string, Promise<void>>()
  /** Sessions that were spoken of while they were driven: what is due there may be newer than what was looked at. */
  readonly #again = new Set<string>()
  readonly #rests = new Map<string, Rest>()
  #driving: EngineDriver | undefined
  #cancelPoll: (() => void) | undefined
  #looking: Promise<void> | undefined
  #isLookWanted = false
  #stopping: Promise<void> | undefined

  constructor(options: Required<InProcessOptions>) {
    this.#options = options
  }

  start(driving: EngineDriver): void {
    if (this.#driving !== undefined || this.#stopping !== undefined) {
      throw new ValidationError('engine: it was started or stopped before: make one for each runtime')
    }
    this.#driving = driving
    this.#look()
  }

  wake(sessionId: string): void {
    if (this.#driving === undefined || this.#stopping !== undefined) return
    if (this.#active.has(sessionId)) this.#again.add(sessionId)
    // What has no room, or is left alone, is due as long as nobody drives it: it is found again.
    else if (this.#active.size < this.#options.concurrency && !this.#rests.get(sessionId)?.cancel) {
      this.#drive(this.#driving, sessionId)
    }
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    const { timers, graceMs } = this.#options
    this.#cancelPoll?.()
    for (const { cancel } of this.#rests.values()) cancel?.()
    this.#driving?.leave()
    const cancel = timers.after(graceMs, () => this.#driving?.abandon())
    await Promise.all([this.#looking, ...this.#active.values()])
    cancel()
  }

  /** Looks for what is due, and later again. */
  #look(): void {
    if (this.#driving === undefined || this.#stopping !== undefined) return
    if (this.#looking !== undefined) {
      this.#isLookWanted = true
      return
    }
    this.#cancelPoll?.()
    this.#cancelPoll = undefined
    this.#isLookWanted = false
    this.#looking = this.#takeDue(this.#driving).then(() => {
      this.#looking = undefined
      const { timers, pollMs, keepsAlive } = this.#options
      if (this.#stopping !== undefined) return
      if (this.#isLookWanted) this.#look()
      else this.#cancelPoll = timers.after(pollMs, () => this.#look(), !keepsAlive)
    })
  }

  async #takeDue(driving: EngineDriver): Promise<void> {
    const room = this.#options.concurrency - this.#active.size
    if (room <= 0) return
    // Those that are driven or left alone must not hide the others.
    const limit = Math.min(room + this.#active.size + this.#rests.size, MOST_DUE)
    // A store that is out of reach is asked again the next time.
    const due = await driving.due(limit).catch(() => [])
    for (const sessionId of due) if (!this.#active.has(sessionId)) this.wake(sessionId)
  }

  #drive(driving: EngineDriver, sessionId: string): void {
    const done = driving.drive(sessionId).then(
      () => void this.#rests.delete(sessionId),
      () => this.#rest(sessionId),
    )
    this.#active.set(
      sessionId,
      done.then(() => this.#driven(sessionId)),
    )
  }

  #driven(sessionId: string): void {
    const wasFull = this.#active.size === this.#options.concurrency
    this.#active.delete(sessionId)
    const isWoken = this.#again.delete(sessionId)
    // There is room for one that waits, and whoever has waited longest is first.
    if (wasFull) this.#look()
    else if (isWoken) this.wake(sessionId)
  }

  /** Leaves a session alone for a while, longer each time. */
  #rest(sessionId: string): void {
    if (this.#stopping !== undefined) return
    const { timers, keepsAlive } = this.#options
    const ms = Math.min((this.#rests.get(sessionId)?.ms ?? FIRST_REST_MS / 2) * 2, LONGEST_REST_MS)
    const rest: Rest = {
      ms,
      cancel: timers.after(
        ms,
        () => {
          rest.cancel = undefined
          // Where there is no room it is found as any other, and begins anew.
          if (this.#active.size >= this.#options.concurrency) this.#rests.delete(sessionId)
          this.wake(sessionId)
        },
        !keepsAlive,
      ),
    }
    this.#rests.set(sessionId, rest)
  }
}
