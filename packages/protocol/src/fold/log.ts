import type { Entry } from '../entry.ts'
import { Fold, type FoldOptions } from './fold.ts'

/** Folds a whole log, rewinds and all, in one pass: what a rewind cut is folded only into what no rewind takes back. */
export function foldLog(entries: readonly Entry[], options?: FoldOptions): Fold {
  const cuts: [from: number, to: number][] = []
  for (let i = entries.length - 1; i >= 0; i--) {
    const { chunk, sequence } = entries[i] as Entry
    if (chunk.type !== 'rewind' || chunk.toSequence >= sequence) continue
    const to = i + 1
    while (i > 0 && (entries[i - 1] as Entry).sequence > chunk.toSequence) i--
    cuts.push([i, to])
  }
  const fold = new Fold(options)
  let at = 0
  for (const [from, to] of cuts.reverse()) {
    fold.apply(entries.slice(at, from))
    fold.skip(entries.slice(from, to))
    at = to
  }
  fold.apply(entries.slice(at))
  return fold
}
