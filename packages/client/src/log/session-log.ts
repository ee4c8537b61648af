import type { ConnectionStatus, Entry, Failure, View } from '@millrace/protocol'
import type { ChatConnection } from '../connection/page-connection.ts'
import { FLUSH_MS, FlushScheduler } from '../notify/flush-scheduler.ts'
import { Listeners } from '../notify/listeners.ts'
import { History } from './history.ts'

export interface SessionLogOptions {
  readonly sessionId: string
  /** What it is read from and followed by; made with `whole: true` it gives each entry as it was written. None for what is a recording. */
  readonly connection?: ChatConnection | undefined
  /** What it holds from the start. */
  readonly entries?: readonly Entry[]
  /** What came before them, where that is not there any more. */
  readonly base?: View | undefined
}

/** How it stands with a log: a new object each time something of it changes. */
export interface SessionLogState {
  /** How many entries it holds. */
  readonly count: number
  /** Up to which sequence it is known; further than its last entry where others may see more. */
  readonly head: number
  readonly status: ConnectionStatus
  readonly reason: string
  /** Why it cannot be followed. */
  readonly error?: Failure | undefined
  /** How many entries came that were there already. */
  readonly repeated: number
}

const CHANGE = 'change'

/** All entries of a session that this client may see, as they come: for who wants to know how it came about, and not only what it amounts to. */
export class SessionLog {
  readonly sessionId: string
  /** Whether it is a recording, and nothing will come. */
  readonly isRecording: boolean
  readonly #connection: ChatConnection | undefined
  readonly #listeners = new Listeners()
  readonly #scheduler = new FlushScheduler(FLUSH_MS, () => this.#notify())
  #history: History
  #now: SessionLogState
  #shown: SessionLogState
  #users = 0
  #leave: (() => void) | undefined
  #refresh: () => void = () => {}

  constructor({ sessionId, connection, entries = [], base }: SessionLogOptions) {
    this.sessionId = sessionId
    this.isRecording = connection === undefined
    this.#connection = connection
    this.#history = new History(base)
    this.#history.push(entries)
    const head = entries.at(-1)?.sequence ?? base?.head ?? 0
    const reason = connection ? 'no subscribers' : 'a recording'
    this.#now = { count: entries.length, head, status: 'idle', reason, repeated: 0 }
    this.#shown = this.#now
  }

  /** The entries, in order; the array grows in place, `state` says how far. */
  get entries(): readonly Entry[] {
    return this.#history.entries
  }

  /** What came before the first entry, where that is not in the log any more. */
  get base(): View | undefined {
    return this.#history.base
  }

  get state(): SessionLogState {
    return this.#shown
  }

  /** What the session amounted to at a sequence: the fold up to there. */
  viewAt(sequence: number): View {
    return this.#history.viewAt(sequence)
  }

  /** The place of the last entry up to a sequence; -1 where there is none. */
  indexAt(sequence: number): number {
    return this.#history.indexAt(sequence)
  }

  /** Calls when its state has changed, at most once a frame. */
  subscribe(listener: () => void): () => void {
    return this.#listeners.add(CHANGE, undefined, listener)
  }

  /** Begins to follow, until the returned function is called, by all who called it. */
  start(): () => void {
    if (this.#users++ === 0) this.#follow()
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      if (--this.#users === 0) this.#leave?.()
    }
  }

  #follow(): void {
    if (this.#connection === undefined) return
    const following = this.#connection.follow(
      this.sessionId,
      {
        // What it held is not in the log any more: it begins anew from what is.
        snapshot: ({ view, sequence }) => {
          this.#history = new History(view)
          this.#set({ count: 0, head: sequence, error: undefined })
        },
        entries: (entries, through) => this.#take(entries, through),
        status: (status, reason) => this.#set({ status, reason, ...(status === 'live' && { error: undefined }) }),
        fail: error => this.#set({ error }),
      },
      this.#cursor ?? '0',
    )
    this.#refresh = () => following.refresh()
    this.#leave = () => {
      this.#cursor = following.cursor
      following.close()
      this.#set({ status: 'idle', reason: 'no subscribers' })
    }
  }

  #cursor: string | undefined

  #take(entries: readonly Entry[], through: number): void {
    const { head } = this.#now
    const fresh = entries.filter(({ sequence }) => sequence > head)
    this.#history.push(fresh)
    // What it goes back to is not at hand: the server has it.
    if (this.#history.isCutBy(fresh)) this.#refresh()
    this.#set({
      count: this.#history.entries.length,
      head: Math.max(head, through),
      repeated: this.#now.repeated + entries.length - fresh.length,
    })
  }

  #set(fields: Partial<SessionLogState>): void {
    this.#now = { ...this.#now, ...fields }
    this.#scheduler.schedule()
  }

  #notify(): void {
    this.#shown = this.#now
    this.#listeners.notify(CHANGE)
  }
}
