// What a run came to, told from its own entries: what else is in its session costs nothing.

import type { StreamManager } from '@millrace/log'
import type { ReadEntry } from '@millrace/log/internal'
import { type Entry, Fold, isGuest, type Json, type View } from '@millrace/protocol'

/** How many entries of the log are looked at in one go for those of a run. */
const WINDOW = 2000

/** The entries of a run that lie in `(after, to]` and may be shown, to its end. */
export async function* runEntriesTo(
  manager: StreamManager,
  sessionId: string,
  runId: string,
  after: number,
  to: number,
): AsyncGenerator<Entry, void, void> {
  for (let at = after; at < to; at += WINDOW) {
    for (const entry of await manager.entries(sessionId, at, Math.min(at + WINDOW, to))) {
      if (entry.internal || entry.origin.runId !== runId) continue
      yield entry
      if (entry.chunk.type === 'run-finished') return
    }
  }
}

/** Adds up the entries of one run, from its start on or from wherever they still reach. */
export class RunFold {
  readonly #runId: string
  readonly #fold = new Fold()
  /** The output that the run said, as far as that is known. */
  output: Json | undefined
  isEnded = false

  constructor(runId: string) {
    this.#runId = runId
  }

  /** The place of the last entry; none came, if it is 0. */
  get last(): number {
    return this.#fold.head
  }

  /** What the entries show. */
  get view(): View {
    return this.#fold.view()
  }

  add(entry: Entry | ReadEntry): void {
    const { chunk, origin } = entry
    if (chunk.type === 'output' && !isGuest(origin) && origin.agentId === this.#runId) this.output = chunk.output
    if (chunk.type === 'run-finished') this.isEnded = true
    // What a run takes back before it begins is none of its own.
    if (chunk.type !== 'rewind') this.#fold.apply([entry])
  }
}
