import type { Entry } from '../entry/entry.ts'
import type { View } from '../fold/view.ts'

/** The state of a subscription. Each change comes with a reason for users. */
export type ConnectionStatus = 'idle' | 'connecting' | 'catching-up' | 'live' | 'offline'

/** A session at one position in its log. */
export interface Snapshot {
  /** The last sequence that the view contains. */
  readonly sequence: number
  /** The cursor to continue from. */
  readonly cursor: string
  /** The view at this position. */
  readonly view: View
  /** Title of the session, if set. */
  readonly title?: string
  /** Metadata of the session, if set. */
  readonly metadata?: { readonly [name: string]: unknown }
  /** Set if the view has only the last messages. */
  readonly page?: { readonly total: number; readonly hasMore: boolean; readonly before?: string }
}

/** An error. `code` is for programs. `retryable`: the same request may succeed later. */
export interface Failure {
  /** Snake case. Programs branch on it. */
  readonly code: string
  /** A sentence for people, without secrets. */
  readonly message: string
  /** Whether the same request may succeed later. @default false */
  readonly retryable?: boolean | undefined
}

/** Receives a session: each entry once, in order, and nothing after `close`. */
export interface Subscriber {
  /** How many of the last messages its snapshots contain, beside those in progress. @default all */
  readonly messages?: number
  /** The state of the session. Later entries continue from there. */
  snapshot(snapshot: Snapshot): void
  /** All entries between its position and `through`. A returned promise applies backpressure until it settles. */
  entries(entries: readonly Entry[], through: number): void | Promise<void>
  /** The connection of the session changed. */
  status?(status: ConnectionStatus, reason: string): void
  /** The subscription failed. A `retryable` failure is retried after a delay, any other on `wake`. */
  fail?(failure: Failure): void
}

/** A subscription to a session. */
export interface Subscription {
  /** Status of the connection of this session. */
  readonly status: ConnectionStatus
  /** Why the connection has this status, in a sentence. */
  readonly reason: string
  /** The position of the subscriber. */
  readonly cursor: string | undefined
  /** Requests a snapshot and continues from there. */
  refresh(): void
  /** Retries at once if it waits or has failed. */
  wake(): void
  /** Ends the subscription: the subscriber is not called again. */
  close(): void
}

/** Carries sessions to their subscribers. */
export interface Connection {
  /** Subscribes to a session after a cursor; without a cursor, from a snapshot. */
  follow(sessionId: string, subscriber: Subscriber, after?: string): Subscription
}
