import { type Entry, foldLog, ProtocolError, type View } from '@millrace/protocol'

/** After how many entries a view is kept on the way, so that who goes back and forth folds no more than these. */
const STRIDE = 4096
/** How many of them are kept. */
const MOST_KEPT = 32

/** Entries, and what they amount to at any of them. */
export class History {
  /** What came before the first. */
  readonly base: View | undefined
  readonly #entries: Entry[] = []
  /** Views on the way, by how many entries they hold, first to last. */
  readonly #kept = new Map<number, View>()

  constructor(base?: View) {
    this.base = base
  }

  get entries(): readonly Entry[] {
    return this.#entries
  }

  push(entries: readonly Entry[]): void {
    for (const entry of entries) this.#entries.push(entry)
  }

  /** The place of the last entry up to a sequence; -1 where there is none. */
  indexAt(sequence: number): number {
    let low = 0
    let high = this.#entries.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#entries[middle] as Entry).sequence <= sequence) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  /** The fold up to a sequence. */
  viewAt(sequence: number): View {
    const count = this.indexAt(sequence) + 1
    const starts = [...this.#kept.keys()].filter(kept => kept <= count).sort((a, b) => b - a)
    for (const start of starts) {
      try {
        return this.#foldFrom(start, this.#kept.get(start), count)
      } catch (error) {
        // Taken back to before that view: an earlier one has to do.
        if (!(error instanceof ProtocolError && error.code === 'invalid-view')) throw error
      }
    }
    return this.#foldFrom(0, this.base, count)
  }

  #foldFrom(start: number, from: View | undefined, count: number): View {
    let view = from
    for (let at = start; ; ) {
      const end = Math.min(count, (Math.floor(at / STRIDE) + 1) * STRIDE)
      view = foldLog(this.#entries.slice(at, end), undefined, view).view()
      if (end === count) return view
      this.#keep(end, view)
      at = end
    }
  }

  #keep(count: number, view: View): void {
    this.#kept.set(count, view)
    if (this.#kept.size <= MOST_KEPT) return
    const [oldest] = this.#kept.keys()
    this.#kept.delete(oldest as number)
  }
}
