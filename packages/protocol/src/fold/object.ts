import type { StructuredAccumulator, StructuredDraft } from '../structured/accumulator.ts'
import { Cell, type Lane } from './lane.ts'
import type { Undo } from './view.ts'

/** A structured object of the view; its accumulator keeps the inverses. */
export class ObjectCell extends Cell {
  readonly streamId: string
  readonly accumulator: StructuredAccumulator

  constructor(streamId: string, accumulator: StructuredAccumulator, lane?: Lane) {
    super()
    this.streamId = streamId
    this.accumulator = accumulator
    if (lane !== undefined) this.own(lane)
  }

  protected override keep(): void {}

  override seal(): void {
    super.seal()
    this.accumulator.commit()
  }

  override undo(): void {
    super.seal()
    this.accumulator.discard()
  }

  override inverse(): Undo {
    return { streamId: this.streamId, draft: this.accumulator.snapshot().draft as StructuredDraft }
  }
}
