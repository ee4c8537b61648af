import type { Chat } from '@millrace/client'
import type { SessionLog } from '@millrace/client/log'
import { type Discrepancy, discrepanciesOf } from './discrepancy.ts'
import { Due } from './due.ts'

/** What people read on a page, compared with the log: a new object each time something of it changes. */
export interface Read {
  /** The head that both were at when it was compared last. */
  readonly upTo: number
  /** How many messages were shown then. */
  readonly count: number
  /** What was ever found to be otherwise; each message once, the worst of it. */
  readonly found: readonly Discrepancy[]
}

export type ReadChat = Pick<Chat, 'store' | 'state'>

/**
 * Compares the messages that a chat shows with those that a log amounts to: by their own connections both come to the same heads. It costs by
 * the number of messages: it is done when a run has ended, when a connection is back and when it is asked for, as soon as both are at the same head.
 */
export class Reading {
  readonly chat: ReadChat
  readonly #log: SessionLog
  readonly #due: Due
  readonly #listeners = new Set<() => void>()
  #state: Read = { upTo: 0, count: 0, found: [] }
  #isDue = true
  #isSoon = false

  constructor(log: SessionLog, chat: ReadChat) {
    this.#log = log
    this.chat = chat
    this.#due = new Due(log)
  }

  get state(): Read {
    return this.#state
  }

  /** Calls when its state has changed. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Compares from now on, until the returned function is called. */
  start(): () => void {
    const look = () => {
      if (this.#due.look()) this.#isDue = true
      this.#soon()
    }
    const leave = [this.#log.subscribe(look), this.chat.store.subscribe(['any'], () => this.#soon())]
    this.check()
    return () => {
      for (const one of leave) one()
    }
  }

  /** Compares as soon as both are at the same head. */
  check(): void {
    this.#isDue = true
    this.#soon()
  }

  /** Not while somebody is told of changes: the store is made to show all that it has. */
  #soon(): void {
    if (!this.#isDue || this.#isSoon || !this.#isLevel) return
    this.#isSoon = true
    queueMicrotask(() => {
      this.#isSoon = false
      if (this.#isDue && this.#isLevel) this.#compare()
    })
  }

  get #isLevel(): boolean {
    const { base, state } = this.#log
    // A log that has just begun anew has not told so yet.
    return state.head > (base?.head ?? 0) && this.chat.store.head === state.head
  }

  #compare(): void {
    const { store, state } = this.chat
    const { head } = this.#log.state
    this.#isDue = false
    store.flush()
    const { messages } = store
    let now: readonly Discrepancy[]
    try {
      now = discrepanciesOf(messages, this.#log.viewAt(head).messages, !state.hasOlder)
    } catch {
      // What the log goes back to is not there any more: it begins anew before long.
      this.#isDue = true
      return
    }
    const known = new Map(this.#state.found.map(one => [one.id, one]))
    for (const one of now) if (known.get(one.id)?.kind !== 'lost') known.set(one.id, one)
    this.#state = { upTo: head, count: messages.length, found: [...known.values()] }
    for (const listener of this.#listeners) listener()
  }
}
