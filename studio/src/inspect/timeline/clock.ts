import { firstWhere } from './sorted.ts'

/** The reason of a gap: no open run, a paused run, or a working run. */
export type Silence = 'idle' | 'paused' | 'working'

/** A period without entries, drawn shorter than it was. */
export interface Gap {
  /** Start and length on the timeline. */
  readonly at: number
  readonly drawn: number
  /** Real duration in ms. */
  readonly ms: number
  readonly silence: Silence
}

/** Gaps over `over` ms are drawn as `drawn` ms. */
const SHORT: { readonly [S in Silence]: { readonly over: number; readonly drawn: number } } = {
  idle: { over: 1500, drawn: 600 },
  paused: { over: 4000, drawn: 1500 },
  working: { over: 60_000, drawn: 10_000 },
}

/** The time axis, in ms from the first entry, with long gaps shortened. */
export class Clock {
  readonly gaps: Gap[] = []
  /** Position of the latest entry. */
  now = 0
  /** Total time left out, in ms. */
  saved = 0
  #first: number | undefined
  #last = 0

  /** Advances to the time of an entry and returns its position. */
  to(timestamp: number, silence: Silence): number {
    this.#first ??= timestamp
    const ms = Math.max(0, timestamp - (this.#last || timestamp))
    this.#last = Math.max(this.#last, timestamp)
    const { over, drawn } = SHORT[silence]
    if (ms > over) {
      this.gaps.push({ at: this.now, drawn, ms, silence })
      this.saved += ms - drawn
      this.now += drawn
    } else {
      this.now += ms
    }
    return this.now
  }

  /** Real time since the first entry at a position, in ms. */
  elapsedAt(position: number): number {
    const before = firstWhere(this.gaps.length, i => (this.gaps[i] as Gap).at >= position)
    let saved = 0
    const last = this.gaps[before - 1]
    if (last) {
      const share = Math.min(1, (position - last.at) / last.drawn)
      saved = this.#savedBefore(before - 1) + share * (last.ms - last.drawn)
    }
    return position + saved
  }

  readonly #sums: number[] = []

  /** Time left out by the gaps before an index. */
  #savedBefore(index: number): number {
    for (let i = this.#sums.length; i <= index; i++) {
      const gap = this.gaps[i - 1]
      this.#sums.push(gap ? (this.#sums[i - 1] as number) + gap.ms - gap.drawn : 0)
    }
    return this.#sums[index] as number
  }

  /** Timestamp of the first entry. */
  get first(): number {
    return this.#first ?? 0
  }
}
