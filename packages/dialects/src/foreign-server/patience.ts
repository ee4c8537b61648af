// How often, and how soon, a connection that dropped is tried again: one policy for all that go on by themselves.

export interface PatienceOptions {
  /** How many connections in a row may bring nothing new; 8, if nothing is said. */
  readonly attempts?: number | undefined
  /** How long it is waited before the first attempt, in milliseconds; twice as long before each that follows. 100, if nothing is said. */
  readonly first?: number | undefined
  /** The longest of these waits. 10,000, if nothing is said. */
  readonly longest?: number | undefined
}

const ATTEMPTS = 8
const FIRST_MS = 100
const LONGEST_MS = 10_000
/** A connection that lasts for so long was a good one, and the next is tried as soon as the first was. */
const STEADY_MS = 5_000
/** Those that drop before, but bring something new, are tried no more slowly than after so many doublings. */
const HASTE = 4

/**
 * Counts the connections of one reply. Only what is new counts as something: whoever says the same again, however often, is given up after a few attempts. And whoever
 * brings a little each time and drops is asked at intervals, never as fast as it answers.
 */
export class Patience {
  readonly #attempts: number
  readonly #first: number
  readonly #longest: number
  #fruitless = 0
  #quick = 0
  #triedAt = Date.now()
  #wake = () => {}

  constructor({ attempts = ATTEMPTS, first = FIRST_MS, longest = LONGEST_MS }: PatienceOptions = {}) {
    this.#attempts = attempts
    this.#first = first
    this.#longest = longest
  }

  /** Something came that was not there before. */
  progressed(): void {
    this.#fruitless = 0
  }

  /** Whether the connection that there is, or was, has lasted. */
  get isSteady(): boolean {
    return Date.now() - this.#triedAt >= STEADY_MS
  }

  /** Waits for the next attempt; false where there is none, or nobody wants it any more. */
  async again(signal?: AbortSignal): Promise<boolean> {
    if (this.#fruitless >= this.#attempts || signal?.aborted) return false
    this.#fruitless++
    this.#quick = this.isSteady ? 1 : this.#quick + 1
    const doublings = Math.max(this.#fruitless, Math.min(this.#quick, HASTE)) - 1
    const most = Math.min(this.#longest, this.#first * 2 ** doublings)
    // Not all at once, where a server comes back that many were connected to.
    await this.#pause(most / 2 + (Math.random() * most) / 2, signal)
    this.#triedAt = Date.now()
    return !signal?.aborted
  }

  /** Tries at once, where it waits. */
  wake(): void {
    this.#wake()
  }

  #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise(resolve => {
      const over = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', over)
        resolve()
      }
      const timer = setTimeout(over, ms)
      signal?.addEventListener('abort', over)
      this.#wake = over
    })
  }
}

/** The places that a reply was heard up to. What comes before one that was passed already was said before: its server did not go on from where it was asked to. */
export class Places {
  readonly #passed = new Set<string>()
  /** The last that was new. */
  last: string | undefined

  /** Whether a place is new. */
  pass(place: string): boolean {
    if (this.#passed.has(place)) return false
    this.#passed.add(place)
    this.last = place
    return true
  }
}
