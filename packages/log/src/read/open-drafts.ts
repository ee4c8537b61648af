// The drafts of a log: which lanes have words since their last commit. A snapshot carries them, so that whoever takes a run over need not read
// all of it to know what to take back.

import { type Entry, isGuest, isWord, type Usage, type WriterOrigin } from '@millrace/protocol'

/** A lane's words since its last commit. */
export interface OpenDraft {
  /** Who wrote the first word. */
  readonly origin: WriterOrigin
  /** Where that is. */
  readonly from: number
  /** What its model call used, where that is known already: a draft holds one attempt. */
  usage?: Usage
}

/** A name for a lane of a run's agent. */
export const laneOf = ({ runId, lane, agentId }: WriterOrigin): string => JSON.stringify([runId, lane, agentId])

export class OpenDrafts {
  readonly #drafts = new Map<string, OpenDraft>()

  /** Goes on from the drafts of a place. */
  constructor(drafts: readonly OpenDraft[] = []) {
    for (const draft of drafts) this.#drafts.set(laneOf(draft.origin), { ...draft })
  }

  /** All of them, as a snapshot carries them. */
  get drafts(): OpenDraft[] {
    return [...this.#drafts.values()]
  }

  /** Those of a run. */
  of(runId: string): OpenDraft[] {
    return this.drafts.filter(({ origin }) => origin.runId === runId)
  }

  /** Takes an entry into account; tells to which draft a word belongs, and which one a discard takes back. */
  add({ origin, chunk, sequence }: Entry): OpenDraft | undefined {
    if (isGuest(origin)) return undefined
    const name = laneOf(origin)
    let draft = this.#drafts.get(name)
    if (isWord(chunk)) {
      draft ??= { origin, from: sequence }
      this.#drafts.set(name, draft)
      return draft
    }
    switch (chunk.type) {
      case 'step-discarded':
        this.#drafts.delete(name)
        return draft
      case 'checkpoint-created':
        this.#drafts.delete(name)
        break
      case 'step-finish':
        if (draft && chunk.usage) draft.usage = chunk.usage
        break
      case 'subagent-end':
        this.#seal(({ runId, agentId }) => runId === origin.runId && agentId === chunk.agentId)
        break
      case 'run-finished':
        this.#seal(({ runId }) => runId === origin.runId)
        break
      default:
    }
    return undefined
  }

  #seal(isOf: (origin: WriterOrigin) => boolean): void {
    for (const [name, { origin }] of this.#drafts) if (isOf(origin)) this.#drafts.delete(name)
  }
}
