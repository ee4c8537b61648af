import { isDraftChunk } from '../catalogue/catalogue.ts'
import type { Chunk } from '../catalogue/chunk.ts'
import { isGuest, type Origin, type WriterOrigin } from '../entry/entry.ts'

/** Identifies one lane of one agent in one run. */
export type LaneId = Pick<WriterOrigin, 'runId' | 'lane' | 'agentId'>

/** Whether two origins name the same lane. */
export const isSameLane = (a: LaneId, b: LaneId): boolean => a.lane === b.lane && isOfAgent(a, b.runId, b.agentId)

/** Whether something belongs to a run, or to one agent of it. Without `runId`, always true. */
export const isOfAgent = (id: Partial<LaneId>, runId = id.runId, agentId = id.agentId): boolean =>
  id.runId === runId && id.agentId === agentId

/** Identifies a lane in maps. Unique in a session. */
export const laneKeyOf = ({ runId, lane, agentId }: LaneId): string => JSON.stringify([runId, lane, agentId])

/** An entry, as far as it matters for drafts. */
export interface LaneEntry {
  readonly origin: Origin | LaneId
  readonly chunk: Chunk
}

/**
 * Whether an entry ends the draft of a lane: a `checkpoint-created` or `step-discarded` of the lane itself, the end of its agent, or
 * the end of its run. A `step-discarded` discards the draft, all others make it permanent.
 */
export function endsDraft({ origin, chunk }: LaneEntry, lane: LaneId): boolean {
  const from = origin as LaneId
  switch (chunk.type) {
    case 'checkpoint-created':
    case 'step-discarded':
      return isSameLane(lane, from)
    case 'subagent-end':
      return isOfAgent(lane, from.runId, chunk.agentId)
    case 'run-finished':
      return isOfAgent(lane, from.runId)
  }
  return false
}

/** The draft chunks of a lane since its last commit, as the data that the user of the tracker collects about them. */
export interface LaneDraft<Data, Lane = LaneId> {
  /** Unique in the session. */
  readonly key: string
  readonly lane: Lane
  readonly data: Data
}

/** The drafts that an entry ended. */
export interface EndedDrafts<Data, Lane = LaneId> {
  /** Drafts that became permanent. */
  readonly sealed: readonly LaneDraft<Data, Lane>[]
  /** The draft that a `step-discarded` takes back. */
  readonly discarded?: LaneDraft<Data, Lane> | undefined
}

/**
 * The open drafts of a session. The first draft chunk of a lane opens its draft, and later ones belong to it. A `checkpoint-created`
 * makes the draft of its own lane permanent, a `subagent-end` the drafts of its agent, a `run-finished` the drafts of its run. A
 * `step-discarded` discards the draft of its own lane. Other committed chunks and the entries of guests change nothing.
 *
 * Another draft chunk of the same lane costs no allocation and no lookup.
 */
export class DraftTracker<Data, Lane extends LaneId = LaneId> {
  readonly #createData: (lane: Lane) => Data
  readonly #drafts = new Map<string, LaneDraft<Data, Lane>>()
  /** The draft of the last lookup: most entries come from the same lane as the entry before. */
  #last: LaneDraft<Data, Lane> | undefined

  /** `createData` creates the `data` of a draft when it opens. */
  constructor(createData: (lane: Lane) => Data) {
    this.#createData = createData
  }

  /** Processes the next entry. Returns the drafts that it ended. */
  apply(entry: LaneEntry): EndedDrafts<Data, Lane> {
    const { origin, chunk } = entry
    if (isGuest(origin as Origin)) return NO_DRAFTS
    if (isDraftChunk(chunk)) return this.open(origin as Lane) && NO_DRAFTS
    const sealed = this.end(entry)
    return chunk.type === 'step-discarded' ? { sealed: [], discarded: sealed[0] } : { sealed }
  }

  /** The draft of a lane, if one is open. */
  get(lane: Lane): LaneDraft<Data, Lane> | undefined {
    if (!this.#last || !isSameLane(this.#last.lane, lane)) this.#last = this.#drafts.get(laneKeyOf(lane))
    return this.#last
  }

  /** The draft of a lane. Opens one if there is none. */
  open(lane: Lane): LaneDraft<Data, Lane> {
    let draft = this.get(lane)
    if (!draft) {
      draft = this.#last = { key: laneKeyOf(lane), lane, data: this.#createData(lane) }
      this.#drafts.set(draft.key, draft)
    }
    return draft
  }

  /** The open drafts, in the order in which they opened. */
  get drafts(): LaneDraft<Data, Lane>[] {
    return [...this.#drafts.values()]
  }

  /** Ends the drafts that an entry ends, or all, and returns them. */
  end(entry?: LaneEntry): readonly LaneDraft<Data, Lane>[] {
    this.#last = undefined
    // `delete` returns true for an open draft.
    return this.drafts.filter(({ key, lane }) => (!entry || endsDraft(entry, lane)) && this.#drafts.delete(key))
  }
}

const NO_DRAFTS: EndedDrafts<never, never> = { sealed: [] }
