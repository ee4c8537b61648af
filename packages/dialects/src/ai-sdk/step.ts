import { DraftTracker, type LaneEntry, type LaneId } from '@millrace/protocol'
import { isSameLane } from '@millrace/protocol/internal'
import type { UIMessageChunk } from './chunk.ts'

interface StepEvent {
  readonly event: UIMessageChunk
}

/**
 * What was said since a message's last mark of a step. Clients take back all of that at once: so where one lane's words are discarded, those of others, and what was
 * sealed, have to be said again.
 */
export class Step {
  #said: StepEvent[] = []
  /** The events of each lane since its last commit. */
  readonly #drafts = new DraftTracker<StepEvent[]>(() => [])
  /** The last of each data that lies before this step: what is said under its id here replaces it there. */
  readonly #before = new Map<string, UIMessageChunk>()

  get events(): readonly UIMessageChunk[] {
    return this.#said.map(({ event }) => event)
  }

  get isEmpty(): boolean {
    return this.#said.length === 0
  }

  /** Whether another lane than this one has an open draft. */
  isHeldFrom(lane: LaneId): boolean {
    return this.#drafts.drafts.some(draft => !isSameLane(draft.lane, lane))
  }

  /** Adds an event, to the draft of a lane or for good. */
  add(event: UIMessageChunk, lane?: LaneId): void {
    const kept = { event }
    this.#said.push(kept)
    if (lane) this.#drafts.open(lane).kept.push(kept)
  }

  /** Seals the draft that a commit ends. */
  seal(commit: LaneEntry): void {
    this.#drafts.end(commit)
  }

  /**
   * Takes back the draft that a discard ends. Returns its events, and those that clients have to be sent again. Returns undefined if
   * there was no draft.
   */
  discard(
    discard: LaneEntry,
  ): { readonly gone: readonly UIMessageChunk[]; readonly again: UIMessageChunk[] } | undefined {
    const draft = this.#drafts.end(discard)[0]?.kept
    if (draft === undefined) return undefined
    const lost = new Set(draft)
    this.#said = this.#said.filter(kept => !lost.has(kept))
    const gone = draft.map(({ event }) => event)
    const replaced = new Set(gone.flatMap(event => keyOf(event) ?? []))
    const before = [...replaced].flatMap(key => this.#before.get(key) ?? [])
    return { gone, again: [...before, ...this.events] }
  }

  /** Another step begins. */
  next(): void {
    for (const { event } of this.#said) {
      const key = keyOf(event)
      if (key !== undefined) this.#before.set(key, event)
    }
    this.#said = []
    this.#drafts.end()
  }
}

/** What replaces what was said under the same. */
const keyOf = (event: UIMessageChunk): string | undefined =>
  event.type.startsWith('data-') && 'id' in event && event.id !== undefined ? `${event.type} ${event.id}` : undefined
