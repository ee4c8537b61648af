// Work that never has to wait would let nobody else go on: no timer, no stop, no other session.

import type { Timers } from '@millrace/log'

/** As long may a process work without a pause, in milliseconds. */
const LONGEST_MS = 10

/** When the work of this turn of the event loop began, as far as anybody has asked. */
const begun = new WeakMap<Timers, number>()

/** A pause for others, where it is time for one; asked between pieces of work that may follow each other at once. */
export function breath(timers: Timers): Promise<void> | undefined {
  const since = begun.get(timers)
  if (since === undefined) {
    begun.set(timers, timers.now())
    setImmediate(() => begun.delete(timers))
    return undefined
  }
  return timers.now() - since < LONGEST_MS ? undefined : new Promise(resolve => setImmediate(resolve))
}
