import type { SessionLog } from '@millrace/client/log'
import { type Entry, isData } from '@millrace/protocol'
import { CheckTrigger } from './check-trigger.ts'
import { equalJson } from './equal-json.ts'

/** A page of the server's log: all entries up to a sequence. */
export interface Piece {
  readonly entries: readonly Entry[]
  readonly sequence: number
}

/** Reads a log from the server, after a sequence, to its end. */
export type ReadLog = (sessionId: string, after: number) => AsyncIterable<Piece>

/** Result of comparing this tab with the log. */
export interface Verified {
  /** Last compared sequence. */
  readonly upTo: number
  /** Number of compared entries. */
  readonly count: number
  /** Sequences of entries that the tab misses. */
  readonly lost: readonly number[]
  /** Sequences of entries that differ from the log. */
  readonly differing: readonly number[]
  readonly isUnderWay: boolean
  /** Error of the last attempt to read the log. */
  readonly error?: string | undefined
}

/** Maximum delay of a comparison while there is a listener, in ms. */
const SOON_MS = 1000

/**
 * Compares the entries of a log with those of the server, each once: after the end of a run, after a reconnect, and while there is a listener.
 * Discarded entries and transient data are not stored, so they cannot be compared.
 */
export class Verification {
  readonly #log: SessionLog
  readonly #read: ReadLog
  readonly #trigger: CheckTrigger
  readonly #listeners = new Set<() => void>()
  #state: Verified
  #base: SessionLog['base']
  #timer: ReturnType<typeof setTimeout> | undefined
  #isAgain = false

  constructor(log: SessionLog, read: ReadLog) {
    this.#log = log
    this.#read = read
    this.#trigger = new CheckTrigger(log)
    this.#base = log.base
    this.#state = nothingAfter(log)
    log.subscribe(() => this.#changed())
    this.#changed()
  }

  get state(): Verified {
    return this.#state
  }

  /** Calls `listener` after each change. New entries are compared within a second while there is a listener. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    this.#soon()
    return () => this.#listeners.delete(listener)
  }

  /** Compares new entries now. */
  check(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#state.isUnderWay) this.#isAgain = true
    else void this.#check()
  }

  #changed(): void {
    const { base } = this.#log
    if (base !== this.#base) {
      // The log restarts after its trimmed part.
      this.#base = base
      this.#set(nothingAfter(this.#log))
    }
    if (this.#trigger.isDue()) this.check()
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
      const shownEntry = this.#log.entries[this.#log.indexAt(entry.sequence)]
      if (shownEntry?.sequence !== entry.sequence) lost.push(entry.sequence)
      else if (!equalJson(shownEntry, entry)) differing.push(entry.sequence)
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
