import type { SessionLog } from '@millrace/client/log'
import { type Entry, isData } from '@millrace/protocol'
import { equalJson } from '../equal-json.ts'
import { CheckTrigger } from './check-trigger.ts'

/** A page of the server's log: all entries up to a sequence. */
export interface LogPage {
  readonly entries: readonly Entry[]
  readonly sequence: number
}

/** Reads a log from the server, after a sequence, to its end. */
export type ReadLog = (sessionId: string, after: number) => AsyncIterable<LogPage>

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
  readonly isRunning: boolean
  /** Error of the last attempt to read the log. */
  readonly error?: string | undefined
}

/** Maximum delay of a comparison while there is a listener, in ms. */
const MAX_DELAY_MS = 1000

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
  #isRepeatDue = false

  constructor(log: SessionLog, read: ReadLog) {
    this.#log = log
    this.#read = read
    this.#trigger = new CheckTrigger(log)
    this.#base = log.base
    this.#state = emptyResult(log)
    log.subscribe(() => this.#onLogChange())
    this.#onLogChange()
  }

  get state(): Verified {
    return this.#state
  }

  /** Calls `listener` after each change. New entries are compared within a second while there is a listener. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    this.#schedule()
    return () => this.#listeners.delete(listener)
  }

  /** Compares new entries now. */
  check(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#state.isRunning) this.#isRepeatDue = true
    else void this.#check()
  }

  #onLogChange(): void {
    const { base } = this.#log
    if (base !== this.#base) {
      // The log restarts after its trimmed part.
      this.#base = base
      this.#set(emptyResult(this.#log))
    }
    if (this.#trigger.isDue()) this.check()
    else this.#schedule()
  }

  #schedule(): void {
    if (this.#listeners.size === 0 || this.#state.upTo >= this.#log.state.head) return
    this.#timer ??= setTimeout(() => this.check(), MAX_DELAY_MS)
  }

  async #check(): Promise<void> {
    if (this.#state.upTo >= this.#log.state.head) return
    this.#set({ ...this.#state, isRunning: true })
    const base = this.#base
    let error: string | undefined
    try {
      for await (const page of this.#read(this.#log.sessionId, this.#state.upTo)) {
        if (base !== this.#base) break
        this.#compare(page)
        if (page.sequence >= this.#log.state.head) break
      }
    } catch (thrown) {
      error = thrown instanceof Error ? thrown.message : String(thrown)
    }
    this.#set({ ...this.#state, isRunning: false, error })
    const isRepeatDue = this.#isRepeatDue && error === undefined
    this.#isRepeatDue = false
    if (isRepeatDue) this.check()
    else this.#schedule()
  }

  #compare({ entries, sequence }: LogPage): void {
    const { head } = this.#log.state
    const { upTo } = this.#state
    let { count } = this.#state
    const lost: number[] = []
    const differing: number[] = []
    for (const entry of entries) {
      if (entry.sequence > head) break
      if (entry.sequence <= upTo || isTransient(entry)) continue
      count++
      const receivedEntry = this.#log.entries[this.#log.indexAt(entry.sequence)]
      if (receivedEntry?.sequence !== entry.sequence) lost.push(entry.sequence)
      else if (!equalJson(receivedEntry, entry)) differing.push(entry.sequence)
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

const emptyResult = ({ base }: SessionLog): Verified => ({
  upTo: base?.head ?? 0,
  count: 0,
  lost: [],
  differing: [],
  isRunning: false,
})

const isTransient = ({ chunk }: Entry): boolean => isData(chunk) && chunk.transient === true
