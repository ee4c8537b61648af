/** Who wants to know of what. */
export class Topics {
  readonly #listeners = new Map<string, Set<() => void>>()

  /** Calls when the topic has changed, until the returned function is called. */
  add(topic: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set()
    this.#listeners.set(topic, listeners)
    // One who listens twice is called twice, and leaves once at a time.
    const own = () => listener()
    listeners.add(own)
    return () => {
      listeners.delete(own)
      if (listeners.size === 0 && this.#listeners.get(topic) === listeners) this.#listeners.delete(topic)
    }
  }

  /** Calls all who listen; what one of them throws keeps nobody else from hearing it. */
  tell(topic: string): void {
    for (const listener of [...(this.#listeners.get(topic) ?? [])]) {
      try {
        listener()
      } catch (error) {
        console.error(error)
      }
    }
  }

  /** Calls everybody. */
  tellAll(): void {
    for (const topic of [...this.#listeners.keys()]) this.tell(topic)
  }
}
