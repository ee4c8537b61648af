// What answers of models have used that no commit says yet: it counts, though their words are taken back.

import type { Discard, Lane } from '@millrace/log'
import type { Usage } from '@millrace/protocol'

export class Spent {
  /** By hook. */
  readonly #usages = new Map<string, Usage>()

  /** Takes down what an answer used that is whole. */
  note(hookId: string, usage: Usage | undefined): void {
    if (usage) this.#usages.set(hookId, usage)
  }

  /** A commit says what the answer used. */
  said(hookId: string): void {
    this.#usages.delete(hookId)
  }

  /** Takes back what a hook has said on its lane since its last commit. */
  async discard(hookId: string, lane: Lane, discard: Discard): Promise<void> {
    const usage = this.#usages.get(hookId)
    this.#usages.delete(hookId)
    // In the log before the discard: what was used counts as discarded only where something is taken back.
    if (usage) await lane.write({ type: 'step-finish', usage, finishReason: 'error' }).appended
    await lane.discard({ ...discard, ...(usage && { usage }) })
  }
}
