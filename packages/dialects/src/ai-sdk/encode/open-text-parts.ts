import type { UIMessageChunk } from '../types.ts'

type Kind = 'text' | 'reasoning'

/** Text and reasoning parts that have started and not ended. Clients fail on a delta of any other part. */
export class OpenTextParts {
  /** Lane by part id. */
  readonly #open = { text: new Map<string, string>(), reasoning: new Map<string, string>() }

  /** Tracks an event. Returns the start event that has to come first, if the part is not open. */
  track(event: UIMessageChunk, lane: string): UIMessageChunk | undefined {
    switch (event.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        return this.#track(event.type, 'text', event.id, lane)
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#track(event.type, 'reasoning', event.id, lane)
      default:
        return undefined
    }
  }

  isOpen(type: 'text-delta' | 'reasoning-delta', id: string): boolean {
    return this.#open[type === 'text-delta' ? 'text' : 'reasoning'].has(id)
  }

  /** Returns the end events of the open parts of a lane, or of all lanes. */
  close(lane?: string): UIMessageChunk[] {
    return [...this.#close('text', lane), ...this.#close('reasoning', lane)]
  }

  #close(kind: Kind, lane: string | undefined): UIMessageChunk[] {
    const events: UIMessageChunk[] = []
    for (const [id, partLane] of this.#open[kind]) {
      if (lane !== undefined && partLane !== lane) continue
      this.#open[kind].delete(id)
      events.push({ type: `${kind}-end`, id })
    }
    return events
  }

  #track(type: string, kind: Kind, id: string, lane: string): UIMessageChunk | undefined {
    const open = this.#open[kind]
    const isOpen = open.has(id)
    if (type.endsWith('-end')) open.delete(id)
    else if (!isOpen) open.set(id, lane)
    return isOpen || type.endsWith('-start') ? undefined : { type: `${kind}-start`, id }
  }
}
