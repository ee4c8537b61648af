type ListenerSet = Set<() => void>

/** Who wants to know of what, by its kind and its id, if it has one. */
export class Listeners {
  readonly #kinds = new Map<string, Map<string | undefined, ListenerSet>>()

  /** Calls when the topic has changed, until the returned function is called. */
  add(kind: string, id: string | undefined, listener: () => void): () => void {
    const topics = this.#kinds.get(kind) ?? new Map<string | undefined, ListenerSet>()
    this.#kinds.set(kind, topics)
    const listeners = topics.get(id) ?? new Set()
    topics.set(id, listeners)
    // One who listens twice is called twice, and leaves once at a time.
    const own = () => listener()
    listeners.add(own)
    return () => {
      listeners.delete(own)
      if (listeners.size === 0 && topics.get(id) === listeners) topics.delete(id)
    }
  }

  /** Calls all who listen; what one of them throws keeps nobody else from hearing it, and who has left meanwhile is not called. */
  tell(kind: string, id?: string): void {
    call(this.#kinds.get(kind)?.get(id))
  }

  /** Calls everybody. */
  tellAll(): void {
    for (const topics of this.#kinds.values()) for (const listeners of [...topics.values()]) call(listeners)
  }
}

function call(listeners: ListenerSet | undefined): void {
  if (!listeners) return
  for (const listener of [...listeners]) {
    try {
      if (listeners.has(listener)) listener()
    } catch (error) {
      console.error(error)
    }
  }
}
