import type { WriterOrigin } from '../entry/entry.ts'
import type { PartCell as GrowingCell } from './part-cell.ts'
import type { Undo } from './view.ts'

/** One line of work, and what it drafted on since its last commit. */
export class Lane {
  readonly key: string
  readonly whose: Pick<WriterOrigin, 'runId' | 'lane' | 'agentId'>
  drafted: Cell[] = []
  /** The growing part that its last delta went to: the next one most likely goes there too. */
  growing: GrowingCell | undefined

  constructor(key: string, whose: Lane['whose']) {
    this.key = key
    this.whose = whose
  }

  /** What it drafted on, which is then no draft any more. */
  take(): Cell[] {
    const { drafted } = this
    this.drafted = []
    this.growing = undefined
    return drafted
  }
}

/** A value of the view that one lane at a time may draft on, with the one inverse that takes the draft back. */
export abstract class Cell {
  owner: Lane | undefined

  /** Whether another lane has a draft on it, so that this one, or a guest if there is none, may not write. */
  isHeldFrom(lane: Lane | undefined): boolean {
    return this.owner !== undefined && this.owner !== lane
  }

  /** A lane writes a word: its first one since the last commit keeps the inverse. */
  draft(lane: Lane): void {
    if (this.owner !== undefined) return
    this.keep()
    this.own(lane)
  }

  /** Notes that the lane has a draft on it. */
  own(lane: Lane): void {
    this.owner = lane
    lane.drafted.push(this)
  }

  /** Keeps what `undo` will need. */
  protected abstract keep(): void
  /** The draft lasts. */
  seal(): void {
    this.owner = undefined
  }
  /** The draft was never written. */
  abstract undo(): void
  /** What `undo` needs, as the view carries it. */
  abstract inverse(): Undo
}
