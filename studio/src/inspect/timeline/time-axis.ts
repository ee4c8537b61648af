import { firstWhere } from './binary-search.ts'

/** The reason of a gap: no open run, a paused run, or a working run. */
export type GapKind = 'idle' | 'paused' | 'working'

/** A period without entries, drawn shorter than it was. */
export interface Gap {
  /** Start and length on the time axis. */
  readonly at: number
  readonly drawnMs: number
  /** Real duration in ms. */
  readonly ms: number
  readonly kind: GapKind
}

/** Gaps longer than `overMs` are drawn as `drawnMs`. */
const SHORTENED: { readonly [S in GapKind]: { readonly overMs: number; readonly drawnMs: number } } = {
  idle: { overMs: 1500, drawnMs: 600 },
  paused: { overMs: 4000, drawnMs: 1500 },
  working: { overMs: 60_000, drawnMs: 10_000 },
}

/** The time axis, in ms from the first entry, with long gaps shortened. */
export class TimeAxis {
  readonly gaps: Gap[] = []
  /** Position of the latest entry. */
  end = 0
  /** Total time left out, in ms. */
  omittedMs = 0
  #first: number | undefined
  #last = 0

  /** Advances to the time of an entry and returns its position. */
  advanceTo(timestamp: number, kind: GapKind): number {
    this.#first ??= timestamp
    const ms = Math.max(0, timestamp - (this.#last || timestamp))
    this.#last = Math.max(this.#last, timestamp)
    const { overMs, drawnMs } = SHORTENED[kind]
    if (ms > overMs) {
      this.gaps.push({ at: this.end, drawnMs, ms, kind })
      this.omittedMs += ms - drawnMs
      this.end += drawnMs
    } else {
      this.end += ms
    }
    return this.end
  }

  /** Real time since the first entry at a position, in ms. */
  elapsedAt(position: number): number {
    const before = firstWhere(this.gaps.length, i => (this.gaps[i] as Gap).at >= position)
    let omittedMs = 0
    const last = this.gaps[before - 1]
    if (last) {
      const share = Math.min(1, (position - last.at) / last.drawnMs)
      omittedMs = this.#omittedBefore(before - 1) + share * (last.ms - last.drawnMs)
    }
    return position + omittedMs
  }

  readonly #sums: number[] = []

  /** Time left out by the gaps before an index. */
  #omittedBefore(index: number): number {
    for (let i = this.#sums.length; i <= index; i++) {
      const gap = this.gaps[i - 1]
      this.#sums.push(gap ? (this.#sums[i - 1] as number) + gap.ms - gap.drawnMs : 0)
    }
    return this.#sums[index] as number
  }

  /** Timestamp of the first entry. */
  get startedAt(): number {
    return this.#first ?? 0
  }
}
