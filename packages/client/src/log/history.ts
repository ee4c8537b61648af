import { type Entry, Fold, ProtocolError, type View } from '@millrace/protocol'

/** After how many entries a view is kept on the way, so that who goes back and forth folds no more than these. */
const STRIDE = 4096
/** How many of them are kept, at most. */
const MOST_KEPT = 32

/** Entries, and what they amount to at any of them. */
export class History {
  /** What came before the first. */
  readonly base: View | undefined
  #stride: number
  readonly #entries: Entry[] = []
  /** Views on the way, by how many entries they hold. */
  readonly #kept = new Map<number, View>()
  /** What was folded last, and how many entries it holds. */
  #last: { readonly fold: Fold; readonly count: number } | undefined

  constructor(base?: View, stride: number = STRIDE) {
    this.base = base
    this.#stride = stride
  }

  get entries(): readonly Entry[] {
    return this.#entries
  }

  push(entries: readonly Entry[]): void {
    for (const entry of entries) this.#entries.push(entry)
  }

  /** Whether one of these goes back to before the base, so that what comes of it cannot be told here. */
  isCutBy(entries: readonly Entry[]): boolean {
    const head = this.base?.head ?? 0
    return entries.some(({ chunk }) => chunk.type === 'rewind' && chunk.toSequence < head)
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
    const start = this.#keptUpTo(count)
    // Who goes on from where it was folds just what lies between, and shares what did not change.
    const isFurther = this.#last !== undefined && this.#last.count <= count && this.#last.count >= start
    const last = isFurther && this.#last ? this.#last : { fold: this.#foldAt(start), count: start }
    // Whatever it throws at, nobody goes on from half of it.
    this.#last = undefined
    this.#goOn(last.fold, last.count, count)
    this.#last = { fold: last.fold, count }
    return last.fold.view()
  }

  /** The last place up to another at which a view was kept. */
  #keptUpTo(count: number): number {
    let last = 0
    for (const kept of this.#kept.keys()) if (kept <= count && kept > last) last = kept
    return last
  }

  #foldAt(start: number): Fold {
    const view = this.#kept.get(start) ?? this.base
    return view ? Fold.from(view) : new Fold()
  }

  /** Folds the entries from a place to another, and keeps views on the way. */
  #goOn(fold: Fold, from: number, count: number): void {
    for (let at = from; at < count; ) {
      const end = Math.min(count, (Math.floor(at / this.#stride) + 1) * this.#stride)
      for (let refold = fold.apply(this.#entries.slice(at, end)); refold; ) {
        fold.adopt(this.#past(refold.toSequence))
        refold = fold.apply(refold.rest, refold.through)
      }
      at = end
      if (end % this.#stride === 0 && !this.#kept.has(end)) this.#keep(end, fold.view())
    }
  }

  /** A fold up to a sequence, for one that goes back to there. */
  #past(sequence: number): Fold {
    const { base } = this
    if (base && sequence < base.head) {
      const why = `rewind to ${sequence}: expected a view from there or before, found one of ${base.head}`
      throw new ProtocolError('invalid-view', why)
    }
    const count = this.indexAt(sequence) + 1
    const start = this.#keptUpTo(count)
    const fold = this.#foldAt(start)
    this.#goOn(fold, start, count)
    return fold
  }

  /** Where there are too many, every other one goes: the way between two is never more than twice what it has to be. */
  #keep(count: number, view: View): void {
    this.#kept.set(count, view)
    if (this.#kept.size <= MOST_KEPT) return
    this.#stride *= 2
    for (const kept of this.#kept.keys()) if (kept % this.#stride !== 0) this.#kept.delete(kept)
  }
}
