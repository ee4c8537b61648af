/** Lets those take turns who would be in each other's way, by name; where nobody is at work nothing is kept. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Does something when all who came before, under the same name, are done, however that went. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(name) ?? Promise.resolve()).then(work, work)
    this.#last.set(name, turn)
    try {
      return await turn
    } finally {
      if (this.#last.get(name) === turn) this.#last.delete(name)
    }
  }
}
