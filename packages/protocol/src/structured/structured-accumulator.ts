import type { StructuredDataChunk } from '../catalogue/guards.ts'
import type { Json } from '../json/json.ts'
import { changeAt } from './change-at.ts'
import type { StructuredState } from './structured-state.ts'
import { pathOf, type StructuredDraft, UndoJournal } from './undo-journal.ts'
import { type Appendable, resized, updated, writeChunk } from './write-chunk.ts'

/** An accumulator as plain JSON. */
export interface StructuredSnapshot {
  /** The object. Undefined before the first chunk. */
  readonly state?: StructuredState | undefined
  /** The part that a discard takes back. */
  readonly draft?: StructuredDraft | undefined
}

/**
 * Builds one structured object in place. A read costs a shallow copy of each container that changed since the last
 * read. A draft costs one inverse for each changed path, regardless of the number of writes (law 11).
 */
export class StructuredAccumulator {
  #state: StructuredState | undefined
  #journal = new UndoJournal()
  readonly #isKey: ((key: string) => boolean) | undefined

  /** `isKey` rejects paths, for a receiver that cannot find these keys in an object. @default all keys */
  constructor(isKey?: (key: string) => boolean) {
    this.#isKey = isKey
  }

  /** Creates an accumulator from a snapshot. */
  static restore({ state, draft = [] }: StructuredSnapshot): StructuredAccumulator {
    const restored = new StructuredAccumulator()
    restored.#state = state
    for (const inverse of draft) restored.#journal.record(pathOf(inverse), inverse)
    return restored
  }

  /**
   * Applies a chunk.
   * @throws ProtocolError for an invalid chunk, which changes nothing.
   */
  write(chunk: StructuredDataChunk): void {
    this.#state = writeChunk(this.#state, chunk, this.#journal, this.#isKey)
  }

  /** Removes the object, also a final one. The stream may start again. */
  invalidate(): void {
    this.#state = updated([], this.#state as unknown as Json, undefined, this.#journal)
  }

  /** The current state. Later writes do not change it. Returns the same object until the next write. */
  read(): StructuredState | undefined {
    this.#journal.owned = new WeakSet()
    return this.#state
  }

  /** The object and its draft as plain JSON, for `restore`. */
  snapshot(): StructuredSnapshot {
    return { state: this.read(), draft: this.#journal.inverses.slice() }
  }

  /** Makes the draft permanent. */
  commit(): void {
    this.#journal = new UndoJournal(this.#journal.owned)
  }

  /** Reverts all writes since the last commit. */
  discard(): void {
    const journal = this.#journal
    // This records no new inverses, because the journal covers every path that it touches.
    for (const inverse of journal.inverses.reverse()) {
      const { length, old } = inverse
      const update = (now: Json | undefined) =>
        length === undefined ? old : resized(now as Appendable, length, '', journal)
      const state = changeAt(this.#state as unknown as Json, 0, pathOf(inverse), journal, update)
      this.#state = state as unknown as StructuredState
    }
    this.commit()
  }
}
