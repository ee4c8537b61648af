import { firstWhere } from './sorted.ts'

/** What went on while nothing was written: no run was open, one waited for somebody, or one was at work. */
export type Silence = 'idle' | 'paused' | 'working'

/** A stretch in which nothing was written, drawn shorter than it was. */
export interface Gap {
  /** Where it is drawn, and how long. */
  readonly at: number
  readonly drawn: number
  /** How long it was, in milliseconds. */
  readonly ms: number
  readonly silence: Silence
}

/** From which length on a silence is drawn short, and how short. */
const SHORT: { readonly [S in Silence]: { readonly over: number; readonly drawn: number } } = {
  idle: { over: 1500, drawn: 600 },
  paused: { over: 4000, drawn: 1500 },
  working: { over: 60_000, drawn: 10_000 },
}

/** The time of the timeline, in milliseconds from the first entry: as it went, but for long silences, which are drawn short. */
export class Clock {
  readonly gaps: Gap[] = []
  /** Where the latest entry is drawn. */
  now = 0
  /** How much of the time is not drawn. */
  saved = 0
  #first: number | undefined
  #last = 0

  /** Goes on to the time of an entry, and says where that is drawn. */
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

  /** How long after the first entry it was, at a place of the drawing. */
  elapsedAt(place: number): number {
    const before = firstWhere(this.gaps.length, i => (this.gaps[i] as Gap).at >= place)
    let saved = 0
    const last = this.gaps[before - 1]
    if (last) {
      const share = Math.min(1, (place - last.at) / last.drawn)
      saved = this.#savedBefore(before - 1) + share * (last.ms - last.drawn)
    }
    return place + saved
  }

  readonly #sums: number[] = []

  /** What the gaps before that one leave out. */
  #savedBefore(index: number): number {
    for (let i = this.#sums.length; i <= index; i++) {
      const gap = this.gaps[i - 1]
      this.#sums.push(gap ? (this.#sums[i - 1] as number) + gap.ms - gap.drawn : 0)
    }
    return this.#sums[index] as number
  }

  /** When the first entry was written. */
  get first(): number {
    return this.#first ?? 0
  }
}
