// How a writer learns that somebody else has moved the ticket. Its own appends wake it too, and prove by their places that nobody came between: the
// store gives sequences without gaps, and only guests write beside a writer. So it looks at once where a place shows that somebody did, and else only
// at what no append of its own accounts for in time: a stream of words costs it no reads.

import { LogError } from '../error.ts'
import type { Ticket } from '../ticket/ticket.ts'
import type { Timers } from './timers.ts'

/** How long after an append of its own a writer takes what wakes it for that append, in milliseconds, unless the next one shows that before. */
const OWN_MS = 200

export class Lookout {
  readonly #timers: Timers
  readonly #look: () => Promise<unknown>
  readonly #listeners: ((ticket: Ticket) => void)[] = []
  readonly #stopWatch: () => void
  /** How often something may have happened, what came before the watch included; and how many of those times are accounted for. */
  #wakes = 1
  #seen = 0
  /** Until when wakes are taken for the writer's own. */
  #ownUntil: number
  #cancel: (() => void) | undefined
  #isLooking = false
  #isOver = false

  /** `look` reads the ticket again, and leads to `moved` where it is another. */
  constructor(watch: (wake: () => void) => () => void, timers: Timers, look: () => Promise<unknown>) {
    this.#timers = timers
    this.#look = look
    this.#ownUntil = timers.now() + OWN_MS
    this.#stopWatch = watch(() => this.#wake())
    this.#goOn()
  }

  /** Tells this one too. */
  add(listener: (ticket: Ticket) => void): void {
    this.#listeners.push(listener)
  }

  /** Somebody else has moved the ticket. */
  moved(ticket: Ticket): void {
    for (const listener of this.#isOver ? [] : [...this.#listeners]) {
      try {
        listener(ticket)
      } catch (error) {
        // It is in the middle of somebody else's append, which is none of its business.
        this.#timers.after(0, () => {
          throw error
        })
      }
    }
  }

  /** An append of the writer goes out; gives the mark to bring back with its place. */
  sent(): number {
    this.#ownUntil = this.#timers.now() + OWN_MS
    return this.#wakes
  }

  /** It is in the log: next to the one before it, or with something of others in between. */
  appended(mark: number, isNext: boolean): void {
    this.#ownUntil = this.#timers.now() + OWN_MS
    if (isNext) {
      this.#seen = Math.max(this.#seen, mark)
      return
    }
    this.#ownUntil = Number.NEGATIVE_INFINITY
    this.#wake()
  }

  stop(): void {
    this.#isOver = true
    this.#cancel?.()
    this.#stopWatch()
  }

  #wake(): void {
    this.#wakes++
    this.#goOn()
  }

  /** Looks, now or when that is due, if there is something that is not accounted for. */
  #goOn(): void {
    if (this.#isOver || this.#isLooking || this.#wakes === this.#seen) return
    const left = this.#ownUntil - this.#timers.now()
    if (left <= 0) {
      this.#cancel?.()
      this.#cancel = undefined
      void this.#go()
      return
    }
    this.#cancel ??= this.#timers.after(
      left,
      () => {
        this.#cancel = undefined
        this.#goOn()
      },
      true,
    )
  }

  async #go(): Promise<void> {
    this.#isLooking = true
    const mark = this.#wakes
    try {
      await this.#look()
      this.#seen = Math.max(this.#seen, mark)
    } catch (error) {
      // A stop must not be missed because the store was away just then. What else is wrong the writer learns from its appends and its lease.
      if (error instanceof LogError && error.code === 'unavailable') this.#ownUntil = this.#timers.now() + OWN_MS
      else this.#seen = mark
    }
    this.#isLooking = false
    this.#goOn()
  }
}
