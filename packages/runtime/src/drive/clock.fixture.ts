import type { Timers } from '@millrace/log'

/** Lets everything happen that needs no time: all promises that can settle have, when it resolves. */
export const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

interface Alarm {
  readonly at: number
  readonly of: Ticking
  readonly isIdle: boolean
  readonly call: () => void
}

/** Time that stands still until a test moves it: one for all processes, each with timers of its own. */
export class Clock {
  #now = 1_000_000
  readonly alarms = new Set<Alarm>()

  readonly now = (): number => this.#now

  /** The timers of one process. */
  timers(): Ticking {
    return new Ticking(this)
  }

  /** Moves on, by one alarm after the other, each with all that follows from it. */
  async advance(ms: number): Promise<void> {
    const to = this.#now + ms
    await settled()
    while (await this.#next(to));
    this.#now = to
  }

  /** Moves on, alarm by alarm, until something has happened; throws where it does not. */
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
      throw new Error(`it did not happen in ${withinMs} ms`)
    }
    return promise
  }

  async #next(to: number): Promise<boolean> {
    let next: Alarm | undefined
    for (const alarm of this.alarms) {
      if (alarm.at <= to && !alarm.of.isFrozen && (next === undefined || alarm.at < next.at)) next = alarm
    }
    if (next === undefined) return false
    this.alarms.delete(next)
    this.#now = Math.max(this.#now, next.at)
    next.call()
    await settled()
    return true
  }
}

/** The timers of one process, which may stand still for a while, or for ever. */
export class Ticking implements Timers {
  readonly #clock: Clock
  /** While it is, no alarm goes off. */
  isFrozen = false
  /** How far its clock is behind that of the others, or ahead of it. */
  behindMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    return this.#clock.now() - this.behindMs
  }

  after(ms: number, call: () => void, isIdle = false): () => void {
    const alarm = { at: this.#clock.now() + ms, of: this, isIdle, call }
    this.#clock.alarms.add(alarm)
    return () => this.#clock.alarms.delete(alarm)
  }

  /** The alarms that are set. */
  get alarms(): readonly Alarm[] {
    return [...this.#clock.alarms].filter(({ of }) => of === this)
  }
}
