import type { SessionLog } from '@millrace/client/log'
import { type Entry, isData } from '@millrace/protocol'
import { Due } from './due.ts'
import { same } from './same.ts'

/** A piece of the log as the server has it: all of it up to a sequence. */
export interface Piece {
  readonly entries: readonly Entry[]
  readonly sequence: number
}

/** Reads a log anew, after a sequence, to its end. */
export type ReadLog = (sessionId: string, after: number) => AsyncIterable<Piece>

/** What came of comparing what a tab holds with the log. */
export interface Verified {
  /** Up to which sequence it was compared. */
  readonly upTo: number
  /** How many entries were. */
  readonly count: number
  /** The sequences of entries of the log that the tab should have and has not. */
  readonly lost: readonly number[]
  /** The sequences of entries that say something else in the log. */
  readonly differing: readonly number[]
  readonly isUnderWay: boolean
  /** Why the log could not be read, the last time. */
  readonly error?: string | undefined
}

/** How long entries may wait to be compared while somebody looks, in milliseconds. */
const SOON_MS = 1000

/**
 * Compares what a log holds with what the server reads of it anew, each entry once: after every end of a run, when the connection is back, and
 * while somebody looks. What was taken back since is not read again, and transient data is told once and never kept: neither can be compared.
 */
export class Verification {
  readonly #log: SessionLog
  readonly #read: ReadLog
  readonly #due: Due
  readonly #listeners = new Set<() => void>()
  #state: Verified
  #base: SessionLog['base']
  #timer: ReturnType<typeof setTimeout> | undefined
  #isAgain = false

  constructor(log: SessionLog, read: ReadLog) {
    this.#log = log
    this.#read = read
    this.#due = new Due(log)
    this.#base = log.base
    this.#state = nothingAfter(log)
    log.subscribe(() => this.#changed())
    this.#changed()
  }

  get state(): Verified {
    return this.#state
  }

  /** Calls when its state has changed; while somebody listens what is new is compared before long. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    this.#soon()
    return () => this.#listeners.delete(listener)
  }

  /** Compares what has not been compared yet, now. */
  check(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#state.isUnderWay) this.#isAgain = true
    else void this.#check()
  }

  #changed(): void {
    const { base } = this.#log
    if (base !== this.#base) {
      // It begins anew, from what is left of the log.
      this.#base = base
      this.#set(nothingAfter(this.#log))
    }
    if (this.#due.look()) this.check()
    else this.#soon()
  }

  #soon(): void {
    if (this.#listeners.size === 0 || this.#state.upTo >= this.#log.state.head) return
    this.#timer ??= setTimeout(() => this.check(), SOON_MS)
  }

  async #check(): Promise<void> {
    if (this.#state.upTo >= this.#log.state.head) return
    this.#set({ ...this.#state, isUnderWay: true })
    const base = this.#base
    let error: string | undefined
    try {
      for await (const piece of this.#read(this.#log.sessionId, this.#state.upTo)) {
        if (base !== this.#base) break
        this.#compare(piece)
        if (piece.sequence >= this.#log.state.head) break
      }
    } catch (thrown) {
      error = thrown instanceof Error ? thrown.message : String(thrown)
    }
    this.#set({ ...this.#state, isUnderWay: false, error })
    const isAgain = this.#isAgain && error === undefined
    this.#isAgain = false
    if (isAgain) this.check()
    else this.#soon()
  }

  #compare({ entries, sequence }: Piece): void {
    const { head } = this.#log.state
    const { upTo } = this.#state
    let { count } = this.#state
    const lost: number[] = []
    const differing: number[] = []
    for (const entry of entries) {
      if (entry.sequence > head) break
      if (entry.sequence <= upTo || isTransient(entry)) continue
      count++
      const mine = this.#log.entries[this.#log.indexAt(entry.sequence)]
      if (mine?.sequence !== entry.sequence) lost.push(entry.sequence)
      else if (!same(mine, entry)) differing.push(entry.sequence)
    }
    this.#set({
      ...this.#state,
      count,
      upTo: Math.max(upTo, Math.min(sequence, head)),
      lost: lost.length > 0 ? [...this.#state.lost, ...lost] : this.#state.lost,
      differing: differing.length > 0 ? [...this.#state.differing, ...differing] : this.#state.differing,
    })
  }

  #set(state: Verified): void {
    this.#state = state
    for (const listener of this.#listeners) listener()
  }
}

const nothingAfter = ({ base }: SessionLog): Verified => ({
  upTo: base?.head ?? 0,
  count: 0,
  lost: [],
  differing: [],
  isUnderWay: false,
})

const isTransient = ({ chunk }: Entry): boolean => isData(chunk) && chunk.transient === true
