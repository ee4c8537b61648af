/** Longest delay of a timer, in ms (about 24.8 days). Node fires a timer with a longer delay at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/** Clock and timers of a manager. Tests pass their own. */
export interface Timers {
  /** Monotonic time in ms; the start is arbitrary. */
  now(): number
  /**
   * Calls `call` once after `ms` milliseconds unless cancelled. An idle timer does not keep the process alive.
   * Returns the function that cancels.
   */
  after(ms: number, call: () => void, isIdle?: boolean): () => void
}

/** The timers of Node. */
export const systemTimers: Timers = {
  now: () => performance.now(),
  after(ms, call, isIdle = false) {
    const timer = setTimeout(call, ms)
    if (isIdle) timer.unref()
    return () => clearTimeout(timer)
  },
}

export const wait = (timers: Timers, ms: number): Promise<void> => new Promise(done => timers.after(ms, done))
