import { LogError } from '@millrace/log'

/** Runs tasks with the same key one after the other. Keeps nothing for a key without tasks. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Runs a task after all earlier tasks of the key. Fails at once if the task before it failed because the store is unavailable. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve()
    const turn = before.then(work, error => {
      // A task behind one that timed out has waited as long, so it fails, too.
      if (error instanceof LogError && error.code === 'unavailable') throw error
      return work()
    })
    this.#last.set(name, turn)
    try {
      return await turn
    } finally {
      if (this.#last.get(name) === turn) this.#last.delete(name)
    }
  }

  /** The number of keys with tasks. */
  get size(): number {
    return this.#last.size
  }
}
