import { type Entry, Fold, ProtocolError, type View } from '@millrace/protocol'

/** Number of entries between two cached views: `viewAt` folds at most that many. */
const STRIDE = 4096
/** Maximum number of cached views. */
const MAX_CACHED_VIEWS = 32

/** Entries of a session, with the view at any of them. */
export class History {
  /** View before the first entry. */
  readonly base: View | undefined
  #stride: number
  readonly #entries: Entry[] = []
  /** Cached views by the number of entries they include. */
  readonly #views = new Map<number, View>()
  /** Last fold, with the number of entries it includes. */
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

  /** Whether one of the entries rewinds to before the base, so that its view cannot be computed. */
  rewindsBeyondBase(entries: readonly Entry[]): boolean {
    const head = this.base?.head ?? 0
    return entries.some(({ chunk }) => chunk.type === 'rewind' && chunk.toSequence < head)
  }

  /** Index of the last entry up to a sequence, or -1. */
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

  /**
   * View after the last entry up to a sequence.
   * @throws a `ProtocolError` if an entry rewinds to before the base.
   */
  viewAt(sequence: number): View {
    const count = this.indexAt(sequence) + 1
    const start = this.#lastViewUpTo(count)
    // Continues the last fold if possible, so that unchanged values keep their identity.
    const canContinue = this.#last !== undefined && this.#last.count <= count && this.#last.count >= start
    const last = canContinue && this.#last ? this.#last : { fold: this.#foldAt(start), count: start }
    // If folding throws, the half-applied fold must not be reused.
    this.#last = undefined
    this.#applyRange(last.fold, last.count, count)
    this.#last = { fold: last.fold, count }
    return last.fold.view()
  }

  /** Largest entry count up to `count` that has a cached view. */
  #lastViewUpTo(count: number): number {
    let last = 0
    for (const cached of this.#views.keys()) if (cached <= count && cached > last) last = cached
    return last
  }

  #foldAt(start: number): Fold {
    const view = this.#views.get(start) ?? this.base
    return view ? Fold.from(view) : new Fold()
  }

  /** Folds the entries from index `from` to `count`, and caches views in between. */
  #applyRange(fold: Fold, from: number, count: number): void {
    for (let at = from; at < count; ) {
      const end = Math.min(count, (Math.floor(at / this.#stride) + 1) * this.#stride)
      for (let refold = fold.apply(this.#entries.slice(at, end)); refold; ) {
        fold.adopt(this.#foldBefore(refold.toSequence))
        refold = fold.apply(refold.rest, refold.through)
      }
      at = end
      if (end % this.#stride === 0 && !this.#views.has(end)) this.#cacheView(end, fold.view())
    }
  }

  /** Fold up to a sequence, for a rewind to it. */
  #foldBefore(sequence: number): Fold {
    const { base } = this
    if (base && sequence < base.head) {
      const message = `rewind to ${sequence}: expected a view from there or before, found one at ${base.head}`
      throw new ProtocolError('invalid-view', message)
    }
    const count = this.indexAt(sequence) + 1
    const start = this.#lastViewUpTo(count)
    const fold = this.#foldAt(start)
    this.#applyRange(fold, start, count)
    return fold
  }

  /** Caches a view. Above the limit, it drops every second one and doubles the stride. */
  #cacheView(count: number, view: View): void {
    this.#views.set(count, view)
    if (this.#views.size <= MAX_CACHED_VIEWS) return
    this.#stride *= 2
    for (const cached of this.#views.keys()) if (cached % this.#stride !== 0) this.#views.delete(cached)
  }
}
