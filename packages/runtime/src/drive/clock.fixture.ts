import type { Timers } from '@millrace/log'

/** Resolves when all promises that can settle without time passing have settled. */
export const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

interface VirtualTimer {
  readonly at: number
  readonly owner: ProcessTimers
  readonly isIdle: boolean
  readonly call: () => void
}

/** Virtual time for all processes, each with its own timers. */
export class Clock {
  #now = 1_000_000
  readonly pendingTimers = new Set<VirtualTimer>()

  readonly now = (): number => this.#now

  /** The timers of one process. */
  timers(): ProcessTimers {
    return new ProcessTimers(this)
  }

  /** Advances time, timer by timer, with all effects of each. */
  async advance(ms: number): Promise<void> {
    const to = this.#now + ms
    await settled()
    while (await this.#next(to));
    this.#now = to
  }

  /** Advances time, timer by timer, until a promise settles. @throws if it does not. */
  async until<T>(promise: Promise<T>, withinMs = 600_000): Promise<T> {
    let isDone = false
    const done = () => {
      isDone = true
    }
    promise.then(done, done)
    const to = this.#now + withinMs
    await settled()
    while (!isDone) {
      if (await this.#next(to)) continue
      throw new Error(`the promise did not settle within ${withinMs} ms of virtual time`)
    }
    return promise
  }

  async #next(to: number): Promise<boolean> {
    let next: VirtualTimer | undefined
    for (const timer of this.pendingTimers) {
      if (timer.at <= to && !timer.owner.isFrozen && (next === undefined || timer.at < next.at)) next = timer
    }
    if (next === undefined) return false
    this.pendingTimers.delete(next)
    this.#now = Math.max(this.#now, next.at)
    next.call()
    await settled()
    return true
  }
}

/** The timers of one process, which may be frozen. */
export class ProcessTimers implements Timers {
  readonly #clock: Clock
  /** While frozen, no timer fires. */
  isFrozen = false
  /** Offset of its clock to the others, in ms. */
  behindMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    return this.#clock.now() - this.behindMs
  }

  after(ms: number, call: () => void, isIdle = false): () => void {
    const timer = { at: this.#clock.now() + ms, owner: this, isIdle, call }
    this.#clock.pendingTimers.add(timer)
    return () => this.#clock.pendingTimers.delete(timer)
  }

  /** Pending timers. */
  get pendingTimers(): readonly VirtualTimer[] {
    return [...this.#clock.pendingTimers].filter(({ owner }) => owner === this)
  }
}
