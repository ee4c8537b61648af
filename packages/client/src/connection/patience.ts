export interface Backoff {
  /** What is waited for first, in milliseconds. */
  readonly first: number
  /** What is waited for at most, in milliseconds. */
  readonly longest: number
}

export const BACKOFF: Backoff = { first: 250, longest: 10_000 }

/** Waits longer each time nothing came of trying, by chance, so that not all come back at once. */
export class Patience {
  readonly #backoff: Backoff
  #tries = 0
  #wake: (() => void) | undefined

  constructor(backoff: Backoff) {
    this.#backoff = backoff
  }

  /** Something came of it: the next wait is short. */
  reset(): void {
    this.#tries = 0
  }

  /** Waits, at least so long; until woken, or until somebody waits anew. */
  wait(atLeast = 0): Promise<void> {
    this.wake()
    const { first, longest } = this.#backoff
    const most = Math.min(longest, first * 2 ** this.#tries++)
    return new Promise(resolve => {
      const timer = setTimeout(() => this.#wake?.(), Math.max(atLeast, most / 2 + (Math.random() * most) / 2))
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
    })
  }

  /** Ends the wait. */
  wake(): void {
    this.#wake?.()
  }
}
