import type { RunStatus } from '@millrace/protocol'
import type { DecodedChunk, Decoder, EndStatus } from './dialect.ts'

const NONE: readonly DecodedChunk[] = []

/** Decodes the events of one run. After its end all events are ignored, so that none of them shows a failed run as a success (law 7). */
export abstract class RunDecoder<Event> implements Decoder<Event> {
  /** The status that the events report so far. */
  protected endStatus: EndStatus | undefined
  #isOver = false

  get status(): EndStatus | undefined {
    return this.endStatus
  }

  decode(event: Event): readonly DecodedChunk[] {
    return this.#isOver ? NONE : this.decodeNext(event)
  }

  /** Ends the run with the current event: an error that the dialect does not recover from, or a `run-finished`. */
  protected end(status: RunStatus): void {
    this.#isOver = true
    this.endStatus = status
  }

  /**
   * Decodes an event of a run that has not ended.
   * @throws a `ProtocolError` if the event is not one of the dialect.
   */
  protected abstract decodeNext(event: Event): readonly DecodedChunk[]
}
