import type { LaneDraft } from '../lane/draft-tracker.ts'
import type { Undo } from './view.ts'

/** A lane's draft, as the values of the view that it wrote to. */
export type CellDraft = LaneDraft<Cell[]>

/** A value of the view that one lane at a time may draft on, with the one inverse that takes the draft back. */
export abstract class Cell {
  owner: CellDraft | undefined

  /** Whether another lane has a draft on it, so that this one, or a guest if there is none, may not write. */
  isHeldFrom(draft: CellDraft | undefined): boolean {
    return !!this.owner && this.owner !== draft
  }

  /** A lane writes a word: its first one since the last commit keeps the inverse. */
  draft(by: CellDraft): void {
    if (this.owner !== undefined) return
    this.keep()
    this.own(by)
  }

  /** Notes that the lane has a draft on it. */
  own(draft: CellDraft): void {
    this.owner = draft
    draft.kept.push(this)
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
