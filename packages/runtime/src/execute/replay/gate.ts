// Hooks are answered one at a time, each after all that code can do without it, and in the same order again when the code starts again. So what code comes
// to between two answers it comes to there again, whichever of several hooks is faster then.

export class Gate {
  /** The last place in the order of answers that was taken. */
  #last: number
  /** The places of those who are about to be answered, and of those who only wait for their turn. */
  readonly #taken = new Set<number>()
  readonly #waiting = new Map<number, () => void>()
  #isLooking = false

  constructor(last: number) {
    this.#last = last
  }

  /** Takes the next place in the order of answers: none after it is answered before it is, or is left. */
  take(): number {
    this.#last++
    this.#taken.add(this.#last)
    return this.#last
  }

  /** Leaves a place: there is no answer. */
  leave(place: number): void {
    this.#taken.delete(place)
    this.#look()
  }

  /** Resolves when it is a hook's turn to be answered. */
  pass(place: number): Promise<void> {
    return new Promise(answer => {
      this.#waiting.set(place, answer)
      this.leave(place)
    })
  }

  #look(): void {
    if (this.#isLooking || this.#waiting.size === 0) return
    this.#isLooking = true
    // Only then has the code done all that it can.
    setImmediate(() => {
      this.#isLooking = false
      const first = Math.min(...this.#waiting.keys())
      for (const place of this.#taken) if (place < first) return
      const answer = this.#waiting.get(first)
      this.#waiting.delete(first)
      answer?.()
      this.#look()
    })
  }
}
