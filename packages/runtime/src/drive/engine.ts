import { systemTimers, type Timers } from '@millrace/log'

/** What an engine drives: the sessions of one store. */
export interface Driving {
  /** The sessions in which something is due that can be driven here. */
  due(limit: number): Promise<readonly string[]>
  /** Drives a session as long as something is due in it; never throws. */
  drive(sessionId: string): Promise<void>
  /** From now on every run is handed over at its next commit. */
  leave(): void
  /** Lets go at once. */
  abandon(): void
}

/** Decides who drives a run, and when. What a run does, and what survives, is the log's: the same on every engine. */
export interface Engine {
  /** Begins to drive what is due. */
  start(driving: Driving): void
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
  /** How long a stop waits for runs to come to their next commit before it lets them go. */
  readonly graceMs?: number
  /** Whether the process stays alive just to look for what is due. */
  readonly keepsAlive?: boolean
  readonly timers?: Timers
}

/** Drives runs in this process; any number of processes on one store share them out by claims. */
export function inProcessEngine(options: InProcessOptions = {}): Engine {
  return new InProcess(options)
}

class InProcess implements Engine {
  readonly #options: Required<InProcessOptions>
  readonly #active = new Map<string, Promise<void>>()
  readonly #again = new Set<string>()
  #driving: Driving | undefined
  #cancel: (() => void) | undefined
  #looking: Promise<void> | undefined
  #isOver = false

  constructor(options: InProcessOptions) {
    this.#options = {
      pollMs: 1000,
      concurrency: 256,
      graceMs: 30_000,
      keepsAlive: false,
      timers: systemTimers,
      ...options,
    }
  }

  start(driving: Driving): void {
    this.#driving = driving
    void this.#look()
  }

  wake(sessionId: string): void {
    if (this.#driving === undefined || this.#isOver) return
    if (this.#active.has(sessionId)) this.#again.add(sessionId)
    else if (this.#active.size < this.#options.concurrency) this.#drive(sessionId)
  }

  async stop(): Promise<void> {
    this.#isOver = true
    this.#cancel?.()
    this.#driving?.leave()
    await this.#looking
    const { timers, graceMs } = this.#options
    const cancel = timers.after(graceMs, () => this.#driving?.abandon())
    await Promise.all(this.#active.values())
    cancel()
  }

  /** Looks for what is due, now and then again. */
  #look(): Promise<void> {
    this.#cancel = undefined
    this.#looking ??= this.#takeDue().finally(() => {
      this.#looking = undefined
      if (this.#isOver) return
      const { timers, pollMs, keepsAlive } = this.#options
      this.#cancel ??= timers.after(pollMs, () => void this.#look(), !keepsAlive)
    })
    return this.#looking
  }

  async #takeDue(): Promise<void> {
    const room = this.#options.concurrency - this.#active.size
    if (room <= 0) return
    // A store that is out of reach is asked again the next time.
    const due = await (this.#driving as Driving).due(Math.min(room, 1000)).catch(() => [])
    for (const sessionId of due) this.wake(sessionId)
  }

  #drive(sessionId: string): void {
    const driving = this.#driving as Driving
    const done = driving.drive(sessionId).finally(() => {
      this.#active.delete(sessionId)
      if (this.#isOver) return
      if (this.#again.delete(sessionId)) this.wake(sessionId)
      // There is room again for what waits.
      else if (this.#active.size === this.#options.concurrency - 1) void this.#look()
    })
    this.#active.set(sessionId, done)
  }
}
