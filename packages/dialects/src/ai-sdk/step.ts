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
  /** What each lane has said and not committed. */
  readonly #drafts = new Map<string, StepEvent[]>()
  /** The last of each data that lies before this step: what is said under its id here replaces it there. */
  readonly #before = new Map<string, UIMessageChunk>()

  get events(): readonly UIMessageChunk[] {
    return this.#said.map(({ event }) => event)
  }

  get isEmpty(): boolean {
    return this.#said.length === 0
  }

  /** Whether another lane than this one may still take something back. */
  isHeldFrom(lane: string): boolean {
    return this.#drafts.size > (this.#drafts.has(lane) ? 1 : 0)
  }

  /** Takes in what was said, as part of a lane's draft or for good. */
  add(event: UIMessageChunk, draftOf?: string): void {
    const kept = { event }
    this.#said.push(kept)
    if (draftOf === undefined) return
    const draft = this.#drafts.get(draftOf)
    if (draft) draft.push(kept)
    else this.#drafts.set(draftOf, [kept])
  }

  /** What a lane has said stays. */
  seal(lane: string): void {
    this.#drafts.delete(lane)
  }

  /** Takes back a lane's draft: what was in it, and what has to be said again; undefined where it was empty. */
  discard(lane: string): { readonly gone: readonly UIMessageChunk[]; readonly again: UIMessageChunk[] } | undefined {
    const draft = this.#drafts.get(lane)
    if (draft === undefined) return undefined
    this.#drafts.delete(lane)
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
    this.#drafts.clear()
  }
}

/** What replaces what was said under the same. */
const keyOf = (event: UIMessageChunk): string | undefined =>
  event.type.startsWith('data-') && 'id' in event && event.id !== undefined ? `${event.type} ${event.id}` : undefined
