import { isWord } from '../catalogue/catalogue.ts'
import type { Chunk } from '../catalogue/chunk.ts'
import { isGuest, type Origin, type WriterOrigin } from '../entry/entry.ts'

/** Names one lane of one agent in one run. */
export type LaneId = Pick<WriterOrigin, 'runId' | 'lane' | 'agentId'>

/** Whether two origins name the same lane. */
export const isSameLane = (a: LaneId, b: LaneId): boolean => a.lane === b.lane && isOfAgent(a, b.runId, b.agentId)

/** Whether something belongs to a run, or to one agent of it. Without a run, everything does. */
export const isOfAgent = (of: Partial<LaneId>, runId = of.runId, agentId = of.agentId): boolean =>
  of.runId === runId && of.agentId === agentId

/** A lane's words since its last commit, and what the tracker's user keeps of them. */
export interface LaneDraft<Kept, Lane = LaneId> {
  /** Unique in the session. */
  readonly key: string
  readonly lane: Lane
  readonly kept: Kept
}

/**
 * The open drafts of a session. A lane's first word opens its draft, and later words belong to it. A `checkpoint-created` seals
 * the draft of its own lane, a `subagent-end` the drafts of its agent, a `run-finished` the drafts of its run. A
 * `step-discarded` takes back the draft of its own lane. Other facts and the entries of guests change nothing.
 *
 * Another word of the last lane costs no allocation and no look-up.
 */
export class DraftTracker<Kept, Lane extends LaneId = LaneId> {
  readonly #keep: (lane: Lane) => Kept
  readonly #drafts = new Map<string, LaneDraft<Kept, Lane>>()
  /** The draft that was asked for last: most entries come from the same lane as the entry before. */
  #last: LaneDraft<Kept, Lane> | undefined

  /** `keep` makes what is kept of a draft when it opens. */
  constructor(keep: (lane: Lane) => Kept) {
    this.#keep = keep
  }

  /** Takes the next entry. Returns the drafts that it ended: a `step-discarded` takes them back, all else seals them. */
  apply({ origin, chunk }: { readonly origin: Origin; readonly chunk: Chunk }): readonly LaneDraft<Kept, Lane>[] {
    const lane = origin as LaneId as Lane
    const { runId } = origin as WriterOrigin
    if (isGuest(origin)) return NONE
    if (isWord(chunk)) this.open(lane)
    switch (chunk.type) {
      case 'checkpoint-created':
      case 'step-discarded': {
        const draft = this.get(lane)
        return this.#end(draft ? [draft] : NONE)
      }
      case 'subagent-end':
        return this.end(runId, chunk.agentId)
      case 'run-finished':
        return this.end(runId)
    }
    return NONE
  }

  /** The draft of a lane, if one is open. */
  get(lane: Lane): LaneDraft<Kept, Lane> | undefined {
    if (!this.#last || !isSameLane(this.#last.lane, lane)) this.#last = this.#drafts.get(keyOf(lane))
    return this.#last
  }

  /** The draft of a lane, which opens if it is not. */
  open(lane: Lane): LaneDraft<Kept, Lane> {
    let draft = this.get(lane)
    if (!draft) {
      draft = this.#last = { key: keyOf(lane), lane, kept: this.#keep(lane) }
      this.#drafts.set(draft.key, draft)
    }
    return draft
  }

  /** The open drafts, in the order in which they opened. */
  get drafts(): LaneDraft<Kept, Lane>[] {
    return [...this.#drafts.values()]
  }

  /** Ends the drafts of a run, of one agent in it, or all, and returns them. */
  end(runId?: string, agentId?: string): readonly LaneDraft<Kept, Lane>[] {
    return this.#end(this.drafts.filter(({ lane }) => isOfAgent(lane, runId, agentId)))
  }

  #end(drafts: readonly LaneDraft<Kept, Lane>[]): readonly LaneDraft<Kept, Lane>[] {
    for (const { key } of drafts) this.#drafts.delete(key)
    this.#last = undefined
    return drafts
  }
}

const NONE: readonly never[] = []

const keyOf = ({ runId, lane, agentId }: LaneId): string => JSON.stringify([runId, lane, agentId])
