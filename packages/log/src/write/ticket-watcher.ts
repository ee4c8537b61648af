// How a writer learns that somebody else has moved the ticket. Its own appends wake it too, and prove by their places that nobody came between: the
// store gives sequences without gaps, and only guests write beside a writer. So it looks at once where a place shows that somebody did, and after its
// own appends only when they rest: a stream of words costs it no reads.

import { LogError } from '../store/log-error.ts'
import type { Timers } from '../store/timers.ts'
import type { Ticket } from '../ticket/ticket.ts'

/** For how long after an append of its own a writer takes what wakes it for that append, in milliseconds; the next one may show sooner that it was not. */
const OWN_MS = 200

export class TicketWatcher {
  readonly #timers: Timers
  readonly #look: () => Promise<unknown>
  readonly #listeners: ((ticket: Ticket) => void)[] = []
  readonly #stopWatch: () => void
  /** Whether something may have happened since the last look; it may have before the watch. */
  #isDirty = true
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

  /** An append of the writer goes out. */
  sent(): void {
    this.#ownUntil = this.#timers.now() + OWN_MS
  }

  /** It is in the log: next to the one before it, or with something of others in between. */
  appended(isNext: boolean): void {
    this.#ownUntil = isNext ? this.#timers.now() + OWN_MS : Number.NEGATIVE_INFINITY
    if (!isNext) this.#wake()
  }

  stop(): void {
    this.#isOver = true
    this.#cancel?.()
    this.#stopWatch()
  }

  #wake(): void {
    this.#isDirty = true
    this.#goOn()
  }

  /** Looks, now or when that is due, if there is something that is not accounted for. */
  #goOn(): void {
    if (this.#isOver || this.#isLooking || !this.#isDirty) return
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
    this.#isDirty = false
    try {
      await this.#look()
    } catch (error) {
      // A stop must not be missed because the store was away just then. What else is wrong the writer learns from its appends and its lease.
      if (error instanceof LogError && error.code === 'unavailable') {
        this.#isDirty = true
        this.#ownUntil = this.#timers.now() + OWN_MS
      }
    }
    this.#isLooking = false
    this.#goOn()
  }
}
