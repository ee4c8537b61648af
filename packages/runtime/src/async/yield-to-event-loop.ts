import type { Timers } from '@millrace/log'

/** Longest time that a task runs before it yields, in ms. */
const MAX_TASK_MS = 10

/** When the current task of the event loop first called `yieldToEventLoop`, in ms. */
const taskStarts = new WeakMap<Timers, number>()

/**
 * Yields to the event loop when the current task has run for 10 ms; returns undefined otherwise. Call it between pieces of work that may follow each other
 * without waiting, so that timers, stops and other sessions get their turn.
 */
export function yieldToEventLoop(timers: Timers): Promise<void> | undefined {
  const since = taskStarts.get(timers)
  if (since === undefined) {
    taskStarts.set(timers, timers.now())
    setImmediate(() => taskStarts.delete(timers))
    return undefined
  }
  return timers.now() - since < MAX_TASK_MS ? undefined : new Promise(resolve => setImmediate(resolve))
}
