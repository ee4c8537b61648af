// Folds the entries of one run. The cost does not depend on the rest of the session.

import type { ReadEntry, StreamManager } from '@millrace/log'
import { type Entry, Fold, isGuest, type Json, type View } from '@millrace/protocol'

/** Number of entries to read at a time. */
const READ_SIZE = 2000

/** The public entries of a run in `(after, to]`, up to its end. */
export async function* runEntriesTo(
  manager: StreamManager,
  sessionId: string,
  runId: string,
  after: number,
  to: number,
): AsyncGenerator<Entry, void, void> {
  for (let at = after; at < to; at += READ_SIZE) {
    for (const entry of await manager.entries(sessionId, at, Math.min(at + READ_SIZE, to))) {
      if (entry.internal || entry.origin.runId !== runId) continue
      yield entry
      if (entry.chunk.type === 'run-finished') return
    }
  }
}

/** Folds the entries of one run, from its start or from the first entry that is left. */
export class RunFold {
  readonly #runId: string
  readonly #fold = new Fold()
  /** The output chunk of the run, if known. */
  output: Json | undefined
  isEnded = false

  constructor(runId: string) {
    this.#runId = runId
  }

  /** Sequence of the last entry; 0 without entries. */
  get last(): number {
    return this.#fold.head
  }

  /** The view of the entries. */
  get view(): View {
    return this.#fold.view()
  }

  add(entry: Entry | ReadEntry): void {
    const { chunk, origin } = entry
    if (chunk.type === 'output' && !isGuest(origin) && origin.agentId === this.#runId) this.output = chunk.output
    if (chunk.type === 'run-finished') this.isEnded = true
    // The rewind at the start of a run concerns earlier runs.
    if (chunk.type !== 'rewind') this.#fold.apply([entry])
  }
}
