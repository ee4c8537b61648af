import { LogError } from '@millrace/log'

/** Lets those take turns who would be in each other's way, by name; where nobody is at work nothing is kept. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Does something when all who came before, under the same name, are done. */
  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve()
    const turn = before.then(work, error => {
      // Who waited behind one that the store did not answer has waited for it as long, and need not once more.
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

  /** Under how many names somebody is at work. */
  get size(): number {
    return this.#last.size
  }
}
