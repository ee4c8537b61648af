/** Runs tasks with the same key one after the other. Keeps nothing for a key without tasks. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()
  readonly #isShared: (error: unknown) => boolean

  /** `isShared`: whether an error of a task also fails the tasks that wait behind it. @default none does */
  constructor(isShared: (error: unknown) => boolean = () => false) {
    this.#isShared = isShared
  }

  /** Runs a task after all earlier tasks of the key. Fails at once if the task before it failed with a shared error. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve()
    const turn = before.then(work, error => {
      if (this.#isShared(error)) throw error
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
