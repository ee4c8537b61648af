/** Seeds that are always run, each with what it once found. */
export const KEPT: readonly (readonly [seed: number, found: string])[] = [
  [2, 'a discard that took back what was shown when its run was stopped'],
  [15, 'a trim that ended in what a rewind had cut, so that nobody could show the session any more'],
  [23, 'an end by hand that did not say whom it took the log from'],
  [27, 'a trim of what a cut needed that was asked for meanwhile'],
  [67, 'a late reader that was not told how a run ended of which a rewind left something'],
  [81, 'a takeover that found a stop, and added to the words that it kept'],
  [163, 'a reader told of a trim below its place'],
  [181, 'a trim between the first page of a reader and its look at what was taken back'],
  [187, 'a cleanup that took back what was shown when its run was stopped'],
  [1133, 'a run that started before a cut for which it was to wait'],
  [1305, 'a paused run that went on with the words that another had left in it'],
  [1736, 'a reader from which a later discard hid the rewind of what it had read'],
]
