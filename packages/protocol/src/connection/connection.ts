import type { Entry } from '../entry/entry.ts'
import type { View } from '../fold/view.ts'

/** How it stands with a session that is followed; each comes with a reason, for people. */
export type ConnectionStatus = 'idle' | 'connecting' | 'catching-up' | 'live' | 'offline'

/** A session at one place of its log. */
export interface Snapshot {
  readonly sequence: number
  /** What comes after this place. */
  readonly cursor: string
  readonly view: View
  /** What the session is called, and what belongs to it. */
  readonly title?: string
  readonly metadata?: { readonly [name: string]: unknown }
  /** Where the view has only the last messages. */
  readonly page?: { readonly total: number; readonly hasMore: boolean; readonly before?: string }
}

/** Why something did not work: `code` is for programs; `retryable` says that the same again may do. */
export interface Failure {
  readonly code: string
  readonly message: string
  readonly retryable?: boolean | undefined
}

/** Whoever follows a session is told each thing once, in order, and nothing after it left. */
export interface Follower {
  /** How many messages its snapshots have, and those at work; all, if nothing is said. */
  readonly messages?: number
  /** What the session amounts to: what follows goes on from there. */
  snapshot(snapshot: Snapshot): void
  /** All that lies between what it has and `through`, whole. A promise holds the connection up until it is settled. */
  entries(entries: readonly Entry[], through: number): void | Promise<void>
  status?(status: ConnectionStatus, reason: string): void
  /** It cannot be followed. What is `retryable` is tried again now and then; anything else, when it is woken. */
  fail?(failure: Failure): void
}

/** A session that somebody follows. */
export interface Following {
  readonly status: ConnectionStatus
  readonly reason: string
  /** What the follower has. */
  readonly cursor: string | undefined
  /** Takes a snapshot, and goes on from there. */
  refresh(): void
  /** Tries again at once, where it waits or has failed. */
  wake(): void
  /** Leaves: from now on the follower is told nothing. */
  close(): void
}

/** What carries sessions to who follows them. */
export interface Connection {
  /** Follows a session after a cursor; without one, from a snapshot on. */
  follow(sessionId: string, follower: Follower, after?: string): Following
}
