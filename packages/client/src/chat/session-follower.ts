import type { ConnectionStatus, Entry, Failure, Snapshot, Subscription } from '@millrace/protocol'
import { RetryDelay } from '@millrace/protocol/retry'
import type { ChatConnection } from '../connection/page-connection.ts'

/** Receives the events of a followed session. */
export interface SessionListener {
  /** Number of messages in a snapshot. */
  pageSize(): number
  /** Whether no entry of the session was received yet. */
  isNew(): boolean
  snapshot(snapshot: Snapshot): void
  /** Returns false if a snapshot is needed. */
  entries(entries: readonly Entry[], through: number): boolean
  status(status: ConnectionStatus, reason: string): void
  /** The session cannot be followed. If `isMissing`, it does not exist yet and is polled. */
  failed(failure: Failure, isMissing: boolean): void
}

/** Follows the session of a chat while it is started, as soon as the session may exist. */
export class SessionFollower {
  /** Whether the session may exist. A generated id does not before the first request. */
  mayExist: boolean
  /** Position to continue from. Undefined to begin with a snapshot. */
  cursor: string | undefined
  readonly #sessionId: string
  readonly #connection: ChatConnection
  readonly #listener: SessionListener
  #subscription: Subscription | undefined
  #startCount = 0
  /** Whether the server has no such session, so that it is polled. */
  #isMissing = false
  readonly #pollDelay = new RetryDelay()
  /** Whether the server accepted a request for it, and no entry was received yet. */
  #isCreated = false

  constructor(sessionId: string, mayExist: boolean, connection: ChatConnection, listener: SessionListener) {
    this.#sessionId = sessionId
    this.mayExist = mayExist
    this.#connection = connection
    this.#listener = listener
  }

  get isStarted(): boolean {
    return this.#startCount > 0
  }

  get isFollowing(): boolean {
    return this.#subscription !== undefined
  }

  start(): () => void {
    this.#startCount++
    if (this.mayExist) this.#follow()
    let isStarted = true
    return () => {
      if (!isStarted) return
      isStarted = false
      if (--this.#startCount === 0) this.#close()
    }
  }

  #close(): void {
    this.#pollDelay.cancel()
    // An undefined cursor means that a snapshot was about to be read: then it is still needed.
    if (this.#subscription) this.cursor = this.#subscription.cursor
    this.#subscription?.close()
    this.#subscription = undefined
    this.#isMissing = false
    this.#listener.status('idle', 'no subscribers')
  }

  #follow(): void {
    if (this.#subscription || !this.isStarted) return
    const listener = this.#listener
    this.#subscription = this.#connection.follow(
      this.#sessionId,
      {
        messages: listener.pageSize(),
        snapshot: snapshot => {
          this.#isMissing = false
          this.#pollDelay.progressed()
          listener.snapshot(snapshot)
        },
        entries: (entries, through) => {
          if (!listener.entries(entries, through)) this.#subscription?.refresh()
        },
        status: (status, reason) => {
          // Polling does not change the status.
          if (!this.#isMissing) listener.status(status, reason)
        },
        fail: failure => this.#failed(failure),
      },
      this.cursor,
    )
  }

  /** Subscribes again from the cursor. A session that was just created is read from its start. */
  #resubscribe(): void {
    if (this.#isCreated) this.cursor ??= '0'
    this.#isMissing = this.#isCreated = false
    this.#subscription?.close()
    this.#subscription = undefined
    this.#follow()
  }

  /** Connects at once after a request. `isAccepted` is false if the server may not have got it. */
  followNow(isAccepted: boolean): void {
    const isNew = this.#listener.isNew()
    this.mayExist = true
    this.#isCreated = isAccepted && isNew
    if (this.#isMissing || !this.#subscription) this.#resubscribe()
    // Another chat of the page may poll for it.
    if (isNew) this.#connection.wake()
    else this.#subscription?.wake()
  }

  #failed(failure: Failure): void {
    const isMissing = failure.code === 'session_unknown' && this.#listener.isNew()
    if (isMissing && this.#isCreated) {
      // The server accepted a request for it: it may have been created since.
      this.#resubscribe()
      return
    }
    if (isMissing) {
      if (!this.#isMissing) this.#listener.status('idle', 'the session has no messages yet')
      void this.#pollDelay.wait().then(isNext => isNext && this.#subscription?.refresh())
    }
    this.#isMissing = isMissing
    this.#listener.failed(failure, isMissing)
  }
}
