// What a lane has said since its last commit, and would have to be taken back: as little of it as that takes.

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

/** The drafts of all lanes. */
export class Drafts {
  readonly #lanes = new Map<string, Draft>()
  readonly #streams = new Map<string, Stream>()

  text(lane: string, id: string): void {
    this.#of(lane).texts.add(id)
  }

  call(lane: string, toolCallId: string): void {
    this.#of(lane).calls.add(toolCallId)
  }

  structured(lane: string, event: StructuredEvent): void {
    const { streamId } = event
    const stream = this.#streams.get(streamId)
    if (stream) stream.events.push(event)
    else this.#streams.set(streamId, { events: [event], sealed: 0 })
    this.#of(lane).streams.add(streamId)
  }

  /** What a lane said stays. */
  seal(lane: string): void {
    for (const streamId of this.#lanes.get(lane)?.streams ?? []) {
      const stream = this.#streams.get(streamId)
      const last = stream?.events.at(-1)
      if (stream === undefined || last === undefined || isOver(last)) this.#streams.delete(streamId)
      else stream.sealed = stream.events.length
    }
    this.#lanes.delete(lane)
  }

  /** What a lane said is taken back. */
  discard(lane: string): Taken {
    const draft = this.#lanes.get(lane)
    if (!draft) return NOTHING
    this.#lanes.delete(lane)
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

  #of(lane: string): Draft {
    const known = this.#lanes.get(lane)
    if (known) return known
    const draft = { texts: new Set<string>(), calls: new Set<string>(), streams: new Set<string>() }
    this.#lanes.set(lane, draft)
    return draft
  }
}

const isOver = (event: StructuredEvent): boolean =>
  event.type === 'structured-data-invalidated' || event.kind === 'final'
