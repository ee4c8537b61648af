import type { SessionLog } from '@millrace/client/log'

/** Duration of a bar in ms. */
export const TICK_MS = 250
/** Number of bars: 30 s. */
export const TICKS = 120

/** Number of entries received in each of the last ticks. */
export class Arrivals {
  readonly #counts = new Map<number, number>()

  add(entries: number, now: number): void {
    const tick = Math.floor(now / TICK_MS)
    this.#counts.set(tick, (this.#counts.get(tick) ?? 0) + entries)
    if (this.#counts.size <= TICKS) return
    for (const old of this.#counts.keys()) if (old <= tick - TICKS) this.#counts.delete(old)
  }

  /** Counts per tick, oldest first. */
  bars(now: number): number[] {
    const last = Math.floor(now / TICK_MS)
    return Array.from({ length: TICKS }, (_, i) => this.#counts.get(last - TICKS + 1 + i) ?? 0)
  }
}

const arrivalsByLog = new WeakMap<SessionLog, Arrivals>()

/** Arrival counts of a log, from the first call on. */
export function arrivalsOf(log: SessionLog): Arrivals {
  const existing = arrivalsByLog.get(log)
  if (existing) return existing
  const arrivals = new Arrivals()
  arrivalsByLog.set(log, arrivals)
  let { count } = log.state
  log.subscribe(() => {
    const gained = log.state.count - count
    count = log.state.count
    if (gained > 0) arrivals.add(gained, performance.now())
  })
  return arrivals
}
