import { StructuredAccumulator } from '@millrace/protocol'
import { DraftTracker, type LaneEntry, type LaneId } from '@millrace/protocol/internal'
import type { KortyxChunk, StructuredDataChunk } from '../types.ts'

type StructuredEvent = StructuredDataChunk | Extract<KortyxChunk, { type: 'structured-data-invalidated' }>

/** A structured object that is incomplete or not committed. */
interface StructuredStream {
  readonly events: StructuredEvent[]
  /** Number of committed events. */
  committed: number
  /** The object on a page. */
  readonly page: StructuredAccumulator
}

/** Kortyx takes any digits for an index of an array, and reads inherited names, such as `constructor`, of each object. */
const isKortyxKey = (segment: string) => !/^\d+$/.test(segment) && !(segment in {})

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

  /** Returns whether a page accepts the event. It gets the value of an update that it does not accept with the `final`. */
  structured(lane: LaneId, event: StructuredEvent): boolean {
    const { streamId } = event
    const stream = this.#streams.get(streamId) ?? {
      events: [],
      committed: 0,
      page: new StructuredAccumulator(isKortyxKey),
    }
    try {
      if (event.type === 'structured-data') stream.page.write(event)
      else stream.page.invalidate()
    } catch {
      return false
    }
    stream.events.push(event)
    this.#streams.set(streamId, stream)
    this.#lanes.open(lane).data.streams.add(streamId)
    return true
  }

  /** Commits the drafts that a commit ends. */
  commit(commit: LaneEntry): void {
    for (const streamId of this.#lanes.apply(commit).sealed.flatMap(({ data }) => [...data.streams])) {
      const stream = this.#streams.get(streamId)
      const last = stream?.events.at(-1)
      if (stream === undefined || last === undefined || isEnd(last)) this.#streams.delete(streamId)
      else {
        stream.committed = stream.events.length
        stream.page.commit()
      }
    }
  }

  /** Discards the draft that a discard ends. */
  discard(discard: LaneEntry): DiscardedContent {
    const draft = this.#lanes.apply(discard).discarded?.data
    if (!draft) return NOTHING
    const streams = [...draft.streams].map(streamId => {
      const stream = this.#streams.get(streamId)
      if (stream === undefined) return [streamId, []] as const
      stream.events.length = stream.committed
      stream.page.discard()
      if (stream.committed === 0) this.#streams.delete(streamId)
      return [streamId, stream.events] as const
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
