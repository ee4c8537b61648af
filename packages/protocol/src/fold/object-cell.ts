import type { StructuredAccumulator, StructuredDraft, StructuredState } from '../structured/structured-accumulator.ts'
import { Cell, type CellDraft } from './cell.ts'
import type { StructuredObject, Undo } from './view.ts'

/** A structured object of the view; its accumulator keeps the inverses of a draft, the cell where it stood before. */
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

  protected override keep(): void {
    this.#oldAt = this.at
  }

  /** Notes a write, which opens the object if it was not there, or, without a sequence, that it was taken away. */
  wrote(sequence: number | undefined): void {
    this.at = sequence && (this.at ?? sequence)
  }

  override seal(): void {
    super.seal()
    this.accumulator.commit()
  }

  override undo(): void {
    super.seal()
    this.accumulator.discard()
    this.at = this.#oldAt
  }

  override inverse(): Undo {
    const at = this.#oldAt
    return {
      streamId: this.streamId,
      draft: this.accumulator.snapshot().draft as StructuredDraft,
      ...(at !== undefined && { at }),
    }
  }

  /** Takes up a draft that a view carried. */
  resume(draft: CellDraft, at: number | undefined): void {
    this.own(draft)
    this.#oldAt = at
  }

  /** The object as it is now; the same one as long as nothing changed. */
  read(): StructuredObject | undefined {
    const state = this.accumulator.read()
    if (state !== this.#state) {
      this.#state = state
      this.#view = state && { ...state, at: this.at ?? 0 }
    }
    return this.#view
  }
}
