import { type Entry, isDraftChunk, isGuest, type Usage, type WriterOrigin } from '@millrace/protocol'
import { DraftTracker } from '@millrace/protocol/internal'

/** The draft chunks of a lane since its last commit. Snapshots contain it. */
export interface OpenDraft {
  /** The origin of its first chunk. */
  readonly origin: WriterOrigin
  /** The sequence of its first chunk. */
  readonly from: number
  /** Token usage of its model call, once known. A draft holds one attempt. */
  usage?: Usage
}

/**
 * The open drafts at a position of a log. Snapshots carry them, so that a driver that takes a run over knows what to discard
 * without reading the whole run.
 */
export class OpenDrafts {
  readonly #tracker = new DraftTracker<OpenDraft, WriterOrigin>(origin => ({ origin, from: this.#sequence }))
  #sequence = 0

  /** Continues from the drafts of a snapshot. */
  constructor(drafts: readonly OpenDraft[] = []) {
    for (const { origin, from, usage } of drafts) {
      this.#sequence = from
      const { data: draft } = this.#tracker.open(origin)
      if (usage) draft.usage = usage
    }
  }

  /** All open drafts, in the order in which they opened. */
  get drafts(): OpenDraft[] {
    return this.#tracker.drafts.map(({ data }) => data)
  }

  /** The open drafts of a run. */
  of(runId: string): OpenDraft[] {
    return this.drafts.filter(({ origin }) => origin.runId === runId)
  }

  /** Applies an entry. Returns the draft that a draft chunk belongs to, or the draft that a discard takes back. */
  add(entry: Entry): OpenDraft | undefined {
    const { origin, chunk, sequence } = entry
    this.#sequence = sequence
    const { discarded } = this.#tracker.apply(entry)
    if (discarded) return discarded.data
    if (isGuest(origin)) return undefined
    const draft = this.#tracker.get(origin)?.data
    if (isDraftChunk(chunk)) return draft
    if (chunk.type === 'step-finish' && draft && chunk.usage) draft.usage = chunk.usage
    return undefined
  }
}
