import type { UIMessageChunk } from './chunk.ts'

type Kind = 'text' | 'reasoning'

/** Texts and reasonings that have begun and not ended: clients fail at a delta of any other. */
export class OpenTextParts {
  /** Their lanes, by their ids. */
  readonly #open = { text: new Map<string, string>(), reasoning: new Map<string, string>() }

  /** Takes in what an event opens or closes; what has to open it first, where nothing has. */
  take(event: UIMessageChunk, lane: string): UIMessageChunk | undefined {
    switch (event.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        return this.#take(event.type, 'text', event.id, lane)
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#take(event.type, 'reasoning', event.id, lane)
      default:
        return undefined
    }
  }

  /** Whether a delta of that type has its start. */
  isOpen(type: 'text-delta' | 'reasoning-delta', id: string): boolean {
    return this.#open[type === 'text-delta' ? 'text' : 'reasoning'].has(id)
  }

  /** What ends those of a lane, or all. */
  close(lane?: string): UIMessageChunk[] {
    return [...this.#close('text', lane), ...this.#close('reasoning', lane)]
  }

  #close(kind: Kind, lane: string | undefined): UIMessageChunk[] {
    const events: UIMessageChunk[] = []
    for (const [id, whose] of this.#open[kind]) {
      if (lane !== undefined && whose !== lane) continue
      this.#open[kind].delete(id)
      events.push({ type: `${kind}-end`, id })
    }
    return events
  }

  #take(type: string, kind: Kind, id: string, lane: string): UIMessageChunk | undefined {
    const open = this.#open[kind]
    const isOpen = open.has(id)
    if (type.endsWith('-end')) open.delete(id)
    else if (!isOpen) open.set(id, lane)
    return isOpen || type.endsWith('-start') ? undefined : { type: `${kind}-start`, id }
  }
}
