import { type Entry, foldLog, type View } from '@millrace/protocol'

/** After how many entries a view is kept on the way, so that who goes back and forth folds no more than these. */
const STRIDE = 4096
/** How many of them are kept. */
const MOST_KEPT = 32

/** Entries, and what they amount to at any of them. */
export class History {
  /** What came before the first. */
  readonly base: View | undefined
  readonly #stride: number
  readonly #entries: Entry[] = []
  /** Which entries go back, and to where. */
  readonly #rewinds: { readonly index: number; readonly toSequence: number }[] = []
  /** Views on the way, by how many entries they hold. */
  readonly #kept = new Map<number, View>()

  constructor(base?: View, stride: number = STRIDE) {
    this.base = base
    this.#stride = stride
  }

  get entries(): readonly Entry[] {
    return this.#entries
  }

  push(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const { chunk } = entry
      if (chunk.type === 'rewind') this.#rewinds.push({ index: this.#entries.length, toSequence: chunk.toSequence })
      this.#entries.push(entry)
    }
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
    let at = Math.max(0, ...[...this.#kept.keys()].filter(kept => kept <= count && this.#leadsTo(kept, count)))
    let view = this.#kept.get(at) ?? this.base
    for (;;) {
      const end = this.#next(at, count)
      view = foldLog(this.#entries.slice(at, end), undefined, view).view()
      if (end === count) return view
      this.#keep(end, view)
      at = end
    }
  }

  /** Up to where to fold in one go: the next place from which one can go on, or all of it. */
  #next(at: number, count: number): number {
    let end = (Math.floor(at / this.#stride) + 1) * this.#stride
    while (end < count && !this.#leadsTo(end, count)) end += this.#stride
    return Math.min(end, count)
  }

  /** Whether nothing between two places goes back to before the first: then the view there is one to go on from. */
  #leadsTo(start: number, count: number): boolean {
    const head = this.#entries[start - 1]?.sequence ?? 0
    return this.#rewinds.every(({ index, toSequence }) => index < start || index >= count || toSequence >= head)
  }

  #keep(count: number, view: View): void {
    this.#kept.set(count, view)
    if (this.#kept.size <= MOST_KEPT) return
    const [oldest] = this.#kept.keys()
    this.#kept.delete(oldest as number)
  }
}
