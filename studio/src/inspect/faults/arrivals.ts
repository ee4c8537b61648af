import type { SessionLog } from '@millrace/client/log'

/** How much time a bar stands for, in milliseconds. */
export const TICK_MS = 250
/** How many bars there are: half a minute. */
export const TICKS = 120

/** How many entries came in each of the latest moments. */
export class Arrivals {
  readonly #counts = new Map<number, number>()

  note(entries: number, now: number): void {
    const tick = Math.floor(now / TICK_MS)
    this.#counts.set(tick, (this.#counts.get(tick) ?? 0) + entries)
    if (this.#counts.size <= TICKS) return
    for (const old of this.#counts.keys()) if (old <= tick - TICKS) this.#counts.delete(old)
  }

  /** The latest, oldest first. */
  bars(now: number): number[] {
    const last = Math.floor(now / TICK_MS)
    return Array.from({ length: TICKS }, (_, i) => this.#counts.get(last - TICKS + 1 + i) ?? 0)
  }
}

const known = new WeakMap<SessionLog, Arrivals>()

/** When the entries of a log came, from the first time that somebody asks. */
export function arrivalsOf(log: SessionLog): Arrivals {
  const already = known.get(log)
  if (already) return already
  const arrivals = new Arrivals()
  known.set(log, arrivals)
  let { count } = log.state
  log.subscribe(() => {
    const gained = log.state.count - count
    count = log.state.count
    if (gained > 0) arrivals.note(gained, performance.now())
  })
  return arrivals
}
