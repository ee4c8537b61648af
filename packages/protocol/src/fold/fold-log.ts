import { type Entry, isGuest } from '../entry/entry.ts'
import { mismatch } from '../error/protocol-error.ts'
import { Fold, type FoldOptions, rewindOf } from './fold.ts'
import { Ledger } from './ledger.ts'
import type { View } from './view.ts'

/**
 * Folds a log, rewinds and all, in one pass: what a rewind cut is folded only into what no rewind takes back. With a view it goes on
 * from there, with the entries after it; a rewind to before it is refused, because its content is not at hand.
 */
export function foldLog(entries: readonly Entry[], options?: FoldOptions, from?: View): Fold {
  const cuts = entries.some(entry => rewindOf(entry) !== undefined) ? cutsOf(entries, from) : []
  const fold = from ? Fold.from(from, options) : new Fold(options)
  let at = 0
  for (const [start, end] of cuts) {
    fold.apply(entries.slice(at, start))
    fold.skip(entries.slice(start, end))
    at = end
  }
  fold.apply(entries.slice(at))
  return fold
}

/** What rewinds cut, first to last, as places among the entries. */
function cutsOf(entries: readonly Entry[], from?: View): [from: number, to: number][] {
  const head = from?.head ?? 0
  // Which rewinds count is known only on the way forward: not those of a run that has ended.
  const ledger = new Ledger(from)
  const targets = entries.map(entry => {
    const { origin } = entry
    if (isGuest(origin) || !ledger.admits(entry)) return undefined
    if (!entry.internal) ledger.apply(entry, entry.chunk)
    return rewindOf(entry)
  })
  const cuts: [from: number, to: number][] = []
  for (let i = entries.length - 1; i >= 0; i--) {
    const target = targets[i]
    if (target === undefined) continue
    if (target < head) throw mismatch('invalid-view', `rewind to ${target}`, 'a view from there or before', head)
    const to = i + 1
    while (i > 0 && (entries[i - 1] as Entry).sequence > target) i--
    cuts.push([i, to])
  }
  return cuts.reverse()
}
