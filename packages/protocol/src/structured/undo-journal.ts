import type { Json } from '../json/json.ts'

/**
 * The inverse of one change at a path of the state, such as `.data.items` (`''` is the state itself): truncate an array or
 * a string to `length`, restore the `old` value, or, with neither, remove the value.
 */
export interface StructuredInverse {
  readonly path: string
  readonly length?: number
  readonly old?: Json
}

/** The inverses of all changes since the last commit, oldest first. */
export type StructuredDraft = readonly StructuredInverse[]

/** The keys from a state to a value in it. None for the state itself. */
export type StatePath = readonly string[]

/** The path of an inverse. */
export const pathOf = ({ path }: StructuredInverse): StatePath => path.split('.').slice(1)

/** A node that an inverse of the draft already restores, from the index `from` on: -1 restores the complete value, and NaN nothing. */
interface UndoMark {
  from: number
  readonly below: Map<string, UndoMark>
}

// No comparison with NaN is true, not even for the key `Infinity`.
const newUndoMark = (): UndoMark => ({ from: Number.NaN, below: new Map() })

/** The inverses of a draft, and the containers that its writes may mutate. */
export class UndoJournal {
  readonly inverses: StructuredInverse[] = []
  readonly #marks = newUndoMark()
  // The containers that writes may mutate. Weak, so that a container that was replaced before a read can be collected.
  owned: WeakSet<object>

  constructor(owned = new WeakSet()) {
    this.owned = owned
  }

  /**
   * Records the inverse of the next change at a path, unless an inverse of this draft covers it already: one for the complete
   * value or for a value above it, or a truncation before it.
   */
  record(path: StatePath, inverse: Omit<StructuredInverse, 'path'>): void {
    const { length = -1 } = inverse
    let mark = this.#marks
    for (const segment of path) {
      if (mark.from < 0 || (mark.from >= 0 && Number(segment) >= mark.from)) return
      const next = mark.below.get(segment) ?? newUndoMark()
      mark.below.set(segment, next)
      mark = next
    }
    if (length >= mark.from) return
    mark.from = length
    this.inverses.push({ path: ['', ...path].join('.'), ...inverse })
  }
}
