import type { Chat } from '@millrace/client'
import type { SessionLog } from '@millrace/client/log'
import { CheckTrigger } from './check-trigger.ts'
import { type Discrepancy, discrepanciesOf } from './discrepancy.ts'

/** Result of comparing the chat with the log. A new object after each change. */
export interface VerifiedChat {
  /** Head of the chat and the log at the last comparison. */
  readonly upTo: number
  /** Number of messages in the chat at the last comparison. */
  readonly count: number
  /** All discrepancies so far, one per message, `lost` before `differing`. */
  readonly found: readonly Discrepancy[]
}

export type ObservedChat = Pick<Chat, 'store' | 'state'>

/**
 * Compares the messages of a chat with the view of its log, once both are at the same head. The cost grows with the number of messages, so it
 * runs after a run has ended, after a reconnect and on request.
 */
export class ChatVerification {
  readonly chat: ObservedChat
  readonly #log: SessionLog
  readonly #trigger: CheckTrigger
  readonly #listeners = new Set<() => void>()
  #state: VerifiedChat = { upTo: 0, count: 0, found: [] }
  #isDue = true
  #isScheduled = false

  constructor(log: SessionLog, chat: ObservedChat) {
    this.#log = log
    this.chat = chat
    this.#trigger = new CheckTrigger(log)
  }

  get state(): VerifiedChat {
    return this.#state
  }

  /** Calls `listener` after each change of the state. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Starts comparing. Returns a function that stops it. */
  start(): () => void {
    const onLogChange = () => {
      if (this.#trigger.isDue()) this.#isDue = true
      this.#schedule()
    }
    const unsubscribers = [this.#log.subscribe(onLogChange), this.chat.store.subscribe(['any'], () => this.#schedule())]
    this.check()
    return () => {
      for (const unsubscribe of unsubscribers) unsubscribe()
    }
  }

  /** Compares when the chat and the log are at the same head. */
  check(): void {
    this.#isDue = true
    this.#schedule()
  }

  /** Compares in a microtask, not inside a notification: it flushes the store. */
  #schedule(): void {
    if (!this.#isDue || this.#isScheduled || !this.#isSameHead) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      if (this.#isDue && this.#isSameHead) this.#compare()
    })
  }

  get #isSameHead(): boolean {
    const { base, state } = this.#log
    // A log that has just restarted has not notified yet.
    return state.head > (base?.head ?? 0) && this.chat.store.head === state.head
  }

  #compare(): void {
    const { store, state } = this.chat
    const { head } = this.#log.state
    this.#isDue = false
    store.flush()
    const { messages } = store
    let current: readonly Discrepancy[]
    try {
      current = discrepanciesOf(messages, this.#log.viewAt(head).messages, !state.hasOlder)
    } catch {
      // Earlier entries were trimmed. The log restarts soon.
      this.#isDue = true
      return
    }
    const byId = new Map(this.#state.found.map(discrepancy => [discrepancy.id, discrepancy]))
    for (const discrepancy of current)
      if (byId.get(discrepancy.id)?.kind !== 'lost') byId.set(discrepancy.id, discrepancy)
    this.#state = { upTo: head, count: messages.length, found: [...byId.values()] }
    for (const listener of this.#listeners) listener()
  }
}
