import type { ConnectionStatus, Entry, Failure, View } from '@millrace/protocol'
import type { ChatConnection } from '../connection/page-connection.ts'
import { FLUSH_MS, FlushScheduler } from '../notify/flush-scheduler.ts'
import { Listeners } from '../notify/listeners.ts'
import { History } from './history.ts'

/** Options of a session log. */
export interface SessionLogOptions {
  /** Id of the session. */
  readonly sessionId: string
  /**
   * Connection to follow, created with `includeDiscarded: true` to get every entry as it was written. Undefined for a recording.
   * @default none, for a recording
   */
  readonly connection?: ChatConnection | undefined
  /** Initial entries. @default [] */
  readonly entries?: readonly Entry[]
  /** View before the initial entries, if the log was trimmed. @default an empty view */
  readonly base?: View | undefined
}

/** State of a `SessionLog`. A new object after each change. */
export interface SessionLogState {
  /** Number of entries. */
  readonly count: number
  /** Sequence up to which the log is known. Larger than that of the last entry if later ones are hidden from this client. */
  readonly head: number
  /** Status of the connection. */
  readonly status: ConnectionStatus
  /** Why the connection has this status, in a sentence. */
  readonly reason: string
  /** Set if the session cannot be followed. */
  readonly error?: Failure | undefined
  /** Number of entries that were received again, and ignored. */
  readonly repeated: number
}

const CHANGE = 'change'

/** All entries of a session that this client may see, as they arrive, to inspect how its view came about. */
export class SessionLog {
  /** Id of the session. */
  readonly sessionId: string
  /** Whether it has no connection, so that no entries arrive. */
  readonly isRecording: boolean
  readonly #connection: ChatConnection | undefined
  readonly #listeners = new Listeners()
  readonly #scheduler = new FlushScheduler(FLUSH_MS, () => this.#notify())
  #history: History
  #current: SessionLogState
  #notified: SessionLogState
  #startCount = 0
  #unfollow: (() => void) | undefined
  #refresh: () => void = () => {}

  constructor({ sessionId, connection, entries = [], base }: SessionLogOptions) {
    this.sessionId = sessionId
    this.isRecording = connection === undefined
    this.#connection = connection
    this.#history = new History(base)
    this.#history.push(entries)
    const head = entries.at(-1)?.sequence ?? base?.head ?? 0
    const reason = connection ? 'no subscribers' : 'a recording'
    this.#current = { count: entries.length, head, status: 'idle', reason, repeated: 0 }
    this.#notified = this.#current
  }

  /** Entries in order. The array grows in place: `state.count` is its length at the last notification. */
  get entries(): readonly Entry[] {
    return this.#history.entries
  }

  /** View before the first entry, if the log was trimmed. */
  get base(): View | undefined {
    return this.#history.base
  }

  /** The current state. The same object until the next notification. */
  get state(): SessionLogState {
    return this.#notified
  }

  /**
   * View of the session at a sequence.
   * @throws a `ProtocolError` if an entry rewinds to before `base`.
   */
  viewAt(sequence: number): View {
    return this.#history.viewAt(sequence)
  }

  /** Index of the last entry up to a sequence, or -1. */
  indexAt(sequence: number): number {
    return this.#history.indexAt(sequence)
  }

  /** Calls the listener when `state` changes, at most once per frame. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void {
    return this.#listeners.add(CHANGE, undefined, listener)
  }

  /** Follows the session until the returned functions of all calls were called. */
  start(): () => void {
    if (this.#startCount++ === 0) this.#follow()
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      if (--this.#startCount === 0) this.#unfollow?.()
    }
  }

  #follow(): void {
    if (this.#connection === undefined) return
    const subscription = this.#connection.follow(
      this.sessionId,
      {
        // The log was trimmed beyond the cursor: starts over from the snapshot.
        snapshot: ({ view, sequence }) => {
          this.#history = new History(view)
          this.#set({ count: 0, head: sequence, error: undefined })
        },
        entries: (entries, through) => this.#addEntries(entries, through),
        status: (status, reason) => this.#set({ status, reason, ...(status === 'live' && { error: undefined }) }),
        fail: error => this.#set({ error }),
      },
      this.#cursor ?? '0',
    )
    this.#refresh = () => subscription.refresh()
    this.#unfollow = () => {
      this.#cursor = subscription.cursor
      subscription.close()
      this.#set({ status: 'idle', reason: 'no subscribers' })
    }
  }

  #cursor: string | undefined

  #addEntries(entries: readonly Entry[], through: number): void {
    const { head } = this.#current
    const newEntries = entries.filter(({ sequence }) => sequence > head)
    this.#history.push(newEntries)
    // The rewind target is not loaded: gets a snapshot from the server.
    if (this.#history.rewindsBeyondBase(newEntries)) this.#refresh()
    this.#set({
      count: this.#history.entries.length,
      head: Math.max(head, through),
      repeated: this.#current.repeated + entries.length - newEntries.length,
    })
  }

  #set(fields: Partial<SessionLogState>): void {
    this.#current = { ...this.#current, ...fields }
    this.#scheduler.schedule()
  }

  #notify(): void {
    this.#notified = this.#current
    this.#listeners.notify(CHANGE)
  }
}
