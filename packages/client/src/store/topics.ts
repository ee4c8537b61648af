type Listeners = Set<() => void>

/** Who wants to know of what, by its kind and its id. */
export class Topics {
  readonly #kinds = new Map<string, Map<string, Listeners>>()

  /** Calls when the topic has changed, until the returned function is called. */
  add(kind: string, id: string, listener: () => void): () => void {
    const topics = this.#kinds.get(kind) ?? new Map<string, Listeners>()
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

  /** Calls all who listen; what one of them throws keeps nobody else from hearing it. */
  tell(kind: string, id = ''): void {
    const listeners = this.#kinds.get(kind)?.get(id)
    if (listeners) for (const listener of [...listeners]) call(listener)
  }

  /** Calls everybody. */
  tellAll(): void {
    for (const topics of this.#kinds.values()) {
      for (const listeners of [...topics.values()]) for (const listener of [...listeners]) call(listener)
    }
  }
}

function call(listener: () => void): void {
  try {
    listener()
  } catch (error) {
    console.error(error)
  }
}
