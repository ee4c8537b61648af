import { type Entry, isGuest } from '../entry/entry.ts'
import { mismatch } from '../error/protocol-error.ts'
import { Fold, type FoldOptions, rewindOf } from './fold.ts'
import { Ledger } from './ledger.ts'
import type { View } from './view.ts'

/**
 * Folds a complete log with its rewinds in one pass. Entries that a rewind removes are folded only into the ledger. With `from`, it
 * continues from a view with the entries after it.
 * @throws ProtocolError `invalid-view` for a rewind to a sequence before `from`: the content before `from` is not available.
 */
export function foldLog(entries: readonly Entry[], options?: FoldOptions, from?: View): Fold {
  const ranges = entries.some(entry => rewindOf(entry) !== undefined) ? rewoundRanges(entries, from) : []
  const fold = from ? Fold.from(from, options) : new Fold(options)
  let at = 0
  for (const [start, end] of ranges) {
    fold.apply(entries.slice(at, start))
    fold.skip(entries.slice(start, end))
    at = end
  }
  fold.apply(entries.slice(at))
  return fold
}

/** The index ranges of the entries that rewinds remove, in order. */
function rewoundRanges(entries: readonly Entry[], from?: View): [from: number, to: number][] {
  const head = from?.head ?? 0
  // Rewinds of an ended run do not count, so the ledger is folded forward first.
  const ledger = new Ledger(from)
  const targets = entries.map(entry => {
    const { origin } = entry
    if (isGuest(origin) || !ledger.admits(entry)) return undefined
    if (!entry.internal) ledger.apply(entry, entry.chunk)
    return rewindOf(entry)
  })
  const ranges: [from: number, to: number][] = []
  for (let i = entries.length - 1; i >= 0; i--) {
    const target = targets[i]
    if (target === undefined) continue
    if (target < head) throw mismatch('invalid-view', `rewind to ${target}`, 'a view from there or before', head)
    const to = i + 1
    while (i > 0 && (entries[i - 1] as Entry).sequence > target) i--
    ranges.push([i, to])
  }
  return ranges.reverse()
}
