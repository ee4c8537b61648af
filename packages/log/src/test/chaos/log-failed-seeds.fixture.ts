/** Seeds that failed before, each with the fault it found. Every run plays them. */
export const FAILED_SEEDS: readonly (readonly [seed: number, found: string])[] = [
  [2, 'a discard took back text that was shown when its run was stopped'],
  [15, 'a trim ended inside a range that a rewind had removed, and the session could not be shown'],
  [23, 'an end by hand did not name the writer that it took the log from'],
  [27, 'a trim removed entries that a rewind requested meanwhile needed'],
  [67, 'a late reader did not get the end of a run that a rewind had removed in part'],
  [81, 'a takeover found a stop, and added to the text that it kept'],
  [163, 'a reader got an error for a trim below its position'],
  [181, 'a trim ran between the first page of a reader and its look at retracted text'],
  [187, 'a cleanup took back text that was shown when its run was stopped'],
  [1133, 'a run started before a rewind that it had to wait for'],
  [1305, 'a paused run continued text that another writer had left in it'],
  [1736, 'a later discard hid from a reader the rewind of text that it had read'],
]
