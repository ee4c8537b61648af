import { DraftTracker, type LaneEntry, type LaneId } from '@millrace/protocol'
import type { KortyxChunk, StructuredDataChunk } from './chunk.ts'

type StructuredEvent = StructuredDataChunk | Extract<KortyxChunk, { type: 'structured-data-invalidated' }>

/** A structured object that is not done, or not for certain yet. */
interface Stream {
  readonly events: StructuredEvent[]
  /** How many of them stand in a commit. */
  sealed: number
}

interface Draft {
  readonly texts: Set<string>
  readonly calls: Set<string>
  readonly streams: Set<string>
}

/** What was taken back: texts and calls, and structured objects with what is left of each. */
interface Taken {
  readonly texts: Iterable<string>
  readonly calls: Iterable<string>
  readonly streams: readonly (readonly [streamId: string, left: readonly StructuredEvent[]])[]
}

const NOTHING: Taken = { texts: [], calls: [], streams: [] }

/** Ids of what lanes wrote since their last commits, as far as a discard needs them. */
export class Drafts {
  readonly #lanes = new DraftTracker<Draft>(() => ({ texts: new Set(), calls: new Set(), streams: new Set() }))
  readonly #streams = new Map<string, Stream>()

  text(lane: LaneId, id: string): void {
    this.#lanes.open(lane).kept.texts.add(id)
  }

  call(lane: LaneId, toolCallId: string): void {
    this.#lanes.open(lane).kept.calls.add(toolCallId)
  }

  structured(lane: LaneId, event: StructuredEvent): void {
    const { streamId } = event
    const stream = this.#streams.get(streamId)
    if (stream) stream.events.push(event)
    else this.#streams.set(streamId, { events: [event], sealed: 0 })
    this.#lanes.open(lane).kept.streams.add(streamId)
  }

  /** Seals the drafts that a commit ends. */
  seal(commit: LaneEntry): void {
    for (const streamId of this.#lanes.end(commit).flatMap(({ kept }) => [...kept.streams])) {
      const stream = this.#streams.get(streamId)
      const last = stream?.events.at(-1)
      if (stream === undefined || last === undefined || isOver(last)) this.#streams.delete(streamId)
      else stream.sealed = stream.events.length
    }
  }

  /** Takes back the draft that a discard ends. */
  discard(discard: LaneEntry): Taken {
    const draft = this.#lanes.end(discard)[0]?.kept
    if (!draft) return NOTHING
    const streams = [...draft.streams].map(streamId => {
      const { events, sealed } = this.#streams.get(streamId) ?? { events: [], sealed: 0 }
      events.length = sealed
      if (sealed === 0) this.#streams.delete(streamId)
      return [streamId, events] as const
    })
    return { texts: draft.texts, calls: draft.calls, streams }
  }

  /** The objects that are under way: who comes anew needs all of them. */
  *open(): Iterable<StructuredEvent> {
    for (const { events } of this.#streams.values()) {
      const last = events.at(-1)
      if (last !== undefined && !isOver(last)) yield* events
    }
  }
}

const isOver = (event: StructuredEvent): boolean =>
  event.type === 'structured-data-invalidated' || event.kind === 'final'
