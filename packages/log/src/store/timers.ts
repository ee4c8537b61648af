/** Time as a manager sees it: a monotonic clock and alarms. Tests bring their own. */
export interface Timers {
  /** Milliseconds since whenever; never goes back. */
  now(): number
  /** Calls back once, after so many milliseconds, unless cancelled; an idle alarm is one for which no process need stay alive. */
  after(ms: number, call: () => void, isIdle?: boolean): () => void
}

/** The machine's own time. */
export const systemTimers: Timers = {
  now: () => performance.now(),
  after(ms, call, isIdle = false) {
    const timer = setTimeout(call, ms)
    if (isIdle) timer.unref()
    return () => clearTimeout(timer)
  },
}

/** Waits. */
export const wait = (timers: Timers, ms: number): Promise<void> => new Promise(done => timers.after(ms, done))
