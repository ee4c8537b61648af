// Detects changes of the ticket by others. A writer's own appends wake it too, but their sequences prove that no
// other append came between: sequences have no gaps, and only guests write beside a writer. A wake-up that names a
// head is compared with the writer's last entry. After another wake-up it reads the ticket at once when a sequence
// shows a foreign append, and otherwise only when its own appends pause. So a stream of deltas costs no reads.

import type { AppendListener, OwnAppend } from '../store/append-listener.ts'
import { LogError } from '../store/log-error.ts'
import type { Wake } from '../store/log-store.ts'
import type { Timers } from '../store/timers.ts'
import type { Ticket } from '../ticket/ticket.ts'

/**
 * How long after its own append a writer attributes a wake-up without a head to that append, in ms. Its next append may
 * show earlier that it was another's.
 */
const OWN_MS = 200

export class TicketWatcher implements AppendListener {
  readonly #timers: Timers
  readonly #look: () => Promise<unknown>
  readonly #listeners: ((ticket: Ticket) => void)[] = []
  readonly #stopWatch: () => void
  /** Whether the ticket may have changed since the last read. It may have before the watch. */
  #isDirty = true
  /** Until when wakes are attributed to the writer's own appends. */
  #ownUntil: number
  readonly #knownTo: () => number
  /** The highest head that a wake-up named. */
  #wokenHead = 0
  #isSending = false
  #cancel: (() => void) | undefined
  #isLooking = false
  #isStopped = false

  /**
   * `look` reads the ticket and calls `moved` if it has changed. `knownTo` returns the sequence up to which the writer
   * knows the log.
   */
  constructor(watch: (wake: Wake) => () => void, timers: Timers, knownTo: () => number, look: () => Promise<unknown>) {
    this.#timers = timers
    this.#look = look
    this.#knownTo = knownTo
    this.#ownUntil = timers.now() + OWN_MS
    this.#stopWatch = watch(to => this.#wake(to))
    this.#schedule()
  }

  /** Adds a listener. */
  add(listener: (ticket: Ticket) => void): void {
    this.#listeners.push(listener)
  }

  /** Another process has changed the ticket. */
  moved(ticket: Ticket): void {
    for (const listener of this.#isStopped ? [] : [...this.#listeners]) {
      try {
        listener(ticket)
      } catch (error) {
        // The listener's error must not fail the append that detected the change.
        this.#timers.after(0, () => {
          throw error
        })
      }
    }
  }

  sending(): void {
    this.#isSending = true
    this.#ownUntil = this.#timers.now() + OWN_MS
  }

  settled(append: OwnAppend | undefined): void {
    this.#isSending = false
    if (append?.isTicketKnown === false || this.#wokenHead > this.#knownTo()) this.#readSoon()
    else if (append) this.#ownUntil = this.#timers.now() + OWN_MS
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
    this.#stopWatch()
  }

  /** The head that a wake-up names shows whether the wake-up is the writer's own, once its append is settled. */
  #wake(head?: number): void {
    if (head === undefined) {
      this.#isDirty = true
      this.#schedule()
    } else if (head > this.#knownTo()) {
      this.#wokenHead = Math.max(this.#wokenHead, head)
      if (!this.#isSending) this.#readSoon()
    }
  }

  #readSoon(): void {
    this.#isDirty = true
    this.#ownUntil = Number.NEGATIVE_INFINITY
    this.#schedule()
  }

  /** Reads the ticket now or later, if there is an unexplained wake. */
  #schedule(): void {
    if (this.#isStopped || this.#isLooking || !this.#isDirty) return
    const delay = this.#ownUntil - this.#timers.now()
    if (delay <= 0) {
      this.#cancel?.()
      this.#cancel = undefined
      void this.#readTicket()
      return
    }
    this.#cancel ??= this.#timers.after(
      delay,
      () => {
        this.#cancel = undefined
        this.#schedule()
      },
      true,
    )
  }

  async #readTicket(): Promise<void> {
    this.#isLooking = true
    this.#isDirty = false
    try {
      await this.#look()
    } catch (error) {
      // A stop must not be missed because the store was unavailable. The writer learns of other errors from its
      // appends and its lease.
      if (error instanceof LogError && error.code === 'unavailable') {
        this.#isDirty = true
        this.#ownUntil = this.#timers.now() + OWN_MS
      }
    }
    this.#isLooking = false
    this.#schedule()
  }
}
