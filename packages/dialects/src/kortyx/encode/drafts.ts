import { DraftTracker, type LaneEntry, type LaneId } from '@millrace/protocol/internal'
import type { KortyxChunk, StructuredDataChunk } from '../types.ts'

type StructuredEvent = StructuredDataChunk | Extract<KortyxChunk, { type: 'structured-data-invalidated' }>

/** A structured object that is incomplete or not committed. */
interface StructuredStream {
  readonly events: StructuredEvent[]
  /** Number of committed events. */
  committed: number
}

interface Draft {
  readonly texts: Set<string>
  readonly calls: Set<string>
  readonly streams: Set<string>
}

/** The content of a discarded draft: texts, calls, and structured objects with their committed events. */
interface DiscardedContent {
  readonly texts: Iterable<string>
  readonly calls: Iterable<string>
  readonly streams: readonly (readonly [streamId: string, events: readonly StructuredEvent[]])[]
}

const NOTHING: DiscardedContent = { texts: [], calls: [], streams: [] }

/** Ids of the uncommitted content of each lane, as far as a discard needs them. */
export class Drafts {
  readonly #lanes = new DraftTracker<Draft>(() => ({ texts: new Set(), calls: new Set(), streams: new Set() }))
  readonly #streams = new Map<string, StructuredStream>()

  text(lane: LaneId, id: string): void {
    this.#lanes.open(lane).data.texts.add(id)
  }

  call(lane: LaneId, toolCallId: string): void {
    this.#lanes.open(lane).data.calls.add(toolCallId)
  }

  structured(lane: LaneId, event: StructuredEvent): void {
    const { streamId } = event
    const stream = this.#streams.get(streamId)
    if (stream) stream.events.push(event)
    else this.#streams.set(streamId, { events: [event], committed: 0 })
    this.#lanes.open(lane).data.streams.add(streamId)
  }

  /** Commits the drafts that a commit ends. */
  commit(commit: LaneEntry): void {
    for (const streamId of this.#lanes.apply(commit).sealed.flatMap(({ data }) => [...data.streams])) {
      const stream = this.#streams.get(streamId)
      const last = stream?.events.at(-1)
      if (stream === undefined || last === undefined || isEnd(last)) this.#streams.delete(streamId)
      else stream.committed = stream.events.length
    }
  }

  /** Discards the draft that a discard ends. */
  discard(discard: LaneEntry): DiscardedContent {
    const draft = this.#lanes.apply(discard).discarded?.data
    if (!draft) return NOTHING
    const streams = [...draft.streams].map(streamId => {
      const { events, committed } = this.#streams.get(streamId) ?? { events: [], committed: 0 }
      events.length = committed
      if (committed === 0) this.#streams.delete(streamId)
      return [streamId, events] as const
    })
    return { texts: draft.texts, calls: draft.calls, streams }
  }

  /** The events of all incomplete objects, for a new connection. */
  *open(): Iterable<StructuredEvent> {
    for (const { events } of this.#streams.values()) {
      const last = events.at(-1)
      if (last !== undefined && !isEnd(last)) yield* events
    }
  }
}

const isEnd = (event: StructuredEvent): boolean =>
  event.type === 'structured-data-invalidated' || event.kind === 'final'
