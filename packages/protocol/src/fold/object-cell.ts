import type { StructuredAccumulator } from '../structured/structured-accumulator.ts'
import type { StructuredState } from '../structured/structured-state.ts'
import type { StructuredDraft } from '../structured/undo-journal.ts'
import { Cell, type CellDraft } from './cell.ts'
import type { DraftUndo, StructuredObject } from './view.ts'

/** A structured object of the view. Its accumulator keeps the inverses of a draft, the cell keeps the old position. */
export class ObjectCell extends Cell {
  readonly streamId: string
  readonly accumulator: StructuredAccumulator
  /** The sequence of its first surviving write. */
  at: number | undefined
  #oldAt: number | undefined
  #state: StructuredState | undefined
  #view: StructuredObject | undefined

  constructor(streamId: string, accumulator: StructuredAccumulator, at?: number) {
    super()
    this.streamId = streamId
    this.accumulator = accumulator
    this.at = at
  }

  protected override save(): void {
    this.#oldAt = this.at
  }

  /** Records a write, which creates the object if needed. Without a sequence, records that the object was removed. */
  wrote(sequence: number | undefined): void {
    this.at = sequence && (this.at ?? sequence)
  }

  override commit(): void {
    super.commit()
    this.accumulator.commit()
  }

  override undo(): void {
    super.commit()
    this.accumulator.discard()
    this.at = this.#oldAt
  }

  override inverse(): DraftUndo {
    const at = this.#oldAt
    return {
      streamId: this.streamId,
      draft: this.accumulator.snapshot().draft as StructuredDraft,
      ...(at !== undefined && { at }),
    }
  }

  /** Restores a draft of a view. */
  resume(draft: CellDraft, at: number | undefined): void {
    this.addTo(draft)
    this.#oldAt = at
  }

  /** The current object. The same object until it changes. */
  read(): StructuredObject | undefined {
    const state = this.accumulator.read()
    if (state !== this.#state) {
      this.#state = state
      this.#view = state && { ...state, at: this.at ?? 0 }
    }
    return this.#view
  }
}
