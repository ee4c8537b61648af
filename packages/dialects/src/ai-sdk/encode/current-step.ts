import { DraftTracker, isSameLane, type LaneEntry, type LaneId } from '@millrace/protocol/internal'
import type { UIMessageChunk } from '../types.ts'

interface StepEvent {
  readonly event: UIMessageChunk
}

/**
 * The events since the last step mark of a message. Clients can only take back all of them at once: when the draft of one lane is discarded, the
 * other events of the step are sent again.
 */
export class CurrentStep {
  #events: StepEvent[] = []
  /** The events of each lane since its last commit. */
  readonly #drafts = new DraftTracker<StepEvent[]>(() => [])
  /** The last data part of each id before this step. A data part of the same id replaces it there. */
  readonly #before = new Map<string, UIMessageChunk>()

  get events(): readonly UIMessageChunk[] {
    return this.#events.map(({ event }) => event)
  }

  get isEmpty(): boolean {
    return this.#events.length === 0
  }

  /** Whether another lane than this one has an open draft. */
  hasOtherDraft(lane: LaneId): boolean {
    return this.#drafts.drafts.some(draft => !isSameLane(draft.lane, lane))
  }

  /** Adds an event, to the draft of a lane or for good. */
  add(event: UIMessageChunk, lane?: LaneId): void {
    const stepEvent = { event }
    this.#events.push(stepEvent)
    if (lane) this.#drafts.open(lane).data.push(stepEvent)
  }

  /** Commits the draft that a commit ends. */
  commit(commit: LaneEntry): void {
    this.#drafts.apply(commit)
  }

  /** Discards a draft. Returns its events, and the events to send again. Undefined if there was no draft. */
  discard(
    discard: LaneEntry,
  ): { readonly events: readonly UIMessageChunk[]; readonly resent: UIMessageChunk[] } | undefined {
    const draft = this.#drafts.apply(discard).discarded?.data
    if (draft === undefined) return undefined
    const discarded = new Set(draft)
    this.#events = this.#events.filter(stepEvent => !discarded.has(stepEvent))
    const events = draft.map(({ event }) => event)
    const replaced = new Set(events.flatMap(event => keyOf(event) ?? []))
    const before = [...replaced].flatMap(key => this.#before.get(key) ?? [])
    return { events, resent: [...before, ...this.events] }
  }

  startNext(): void {
    for (const { event } of this.#events) {
      const key = keyOf(event)
      if (key !== undefined) this.#before.set(key, event)
    }
    this.#events = []
    this.#drafts.end()
  }
}

/** A data event replaces an earlier one with the same key. */
const keyOf = (event: UIMessageChunk): string | undefined =>
  event.type.startsWith('data-') && 'id' in event && event.id !== undefined ? `${event.type} ${event.id}` : undefined
