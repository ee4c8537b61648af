import type { LaneDraft } from '../lane/draft-tracker.ts'
import type { DraftUndo } from './view.ts'

/** The draft of a lane: the cells that it wrote to. */
export type CellDraft = LaneDraft<Cell[]>

/** A value of the view that at most one lane has a draft on, with the inverse of that draft. */
export abstract class Cell {
  owner: CellDraft | undefined

  /** Whether another lane has a draft on it. Then the lane of `draft` may not write to it, nor may a guest, for which `draft` is undefined. */
  isHeldFrom(draft: CellDraft | undefined): boolean {
    return !!this.owner && this.owner !== draft
  }

  /** Called before a lane writes a draft chunk. The first one since the last commit saves the inverse. */
  draft(by: CellDraft): void {
    if (this.owner) return
    this.save()
    this.addTo(by)
  }

  /** Adds the cell to a draft. */
  addTo(draft: CellDraft): void {
    this.owner = draft
    draft.data.push(this)
  }

  /** Saves the data that `undo` needs. */
  protected abstract save(): void
  /** Makes the draft permanent. */
  commit(): void {
    this.owner = undefined
  }
  /** Reverts the draft. */
  abstract undo(): void
  /** The data that `undo` needs, as part of the view. */
  abstract inverse(): DraftUndo
}
