type ListenerSet = Set<() => void>

/** Listeners by topic: a kind, and an id for topics that have one. */
export class Listeners {
  readonly #kinds = new Map<string, Map<string | undefined, ListenerSet>>()

  /** Adds a listener. Returns a function that removes it. */
  add(kind: string, id: string | undefined, listener: () => void): () => void {
    const topics = this.#kinds.get(kind) ?? new Map<string | undefined, ListenerSet>()
    this.#kinds.set(kind, topics)
    const listeners = topics.get(id) ?? new Set()
    topics.set(id, listeners)
    // A wrapper, so that a listener added twice is called twice and removed once at a time.
    const wrapper = () => listener()
    listeners.add(wrapper)
    return () => {
      listeners.delete(wrapper)
      if (listeners.size === 0 && topics.get(id) === listeners) topics.delete(id)
    }
  }

  /** Calls the listeners of a topic. Skips listeners removed meanwhile, and logs the errors they throw. */
  notify(kind: string, id?: string): void {
    call(this.#kinds.get(kind)?.get(id))
  }

  /** Calls the listeners of all topics. */
  notifyAll(): void {
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
