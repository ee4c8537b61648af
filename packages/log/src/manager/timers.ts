/** Time as a manager sees it: a monotonic clock and alarms. Tests bring their own. */
export interface Timers {
  /** Milliseconds since whenever; never goes back. */
  now(): number
  /** Calls back once, after so many milliseconds, unless cancelled. */
  after(ms: number, call: () => void): () => void
}

/** The machine's own time; alarms do not keep a process alive. */
export const systemTimers: Timers = {
  now: () => performance.now(),
  after(ms, call) {
    const timer = setTimeout(call, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/** Waits; the wait itself keeps a process alive no longer than what it waits for. */
export const wait = (timers: Timers, ms: number): Promise<void> => new Promise(done => timers.after(ms, done))
