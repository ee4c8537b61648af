// Messages from a process to the test, and from the test to a process.

import type { Entry } from '@millrace/protocol'
import type { StoreSpec } from './store-spec.fixture.ts'

/** A run and its program. */
export interface Run {
  readonly streamId: string
  readonly runId: string
  readonly program: string
}

/** The plan of a run. Every writer writes the same steps. */
export interface RunPlan {
  readonly seed: number
  /** How often a step ends with a question to a guest, from 0 to 1. */
  readonly questionRate: number
  /** Whether the writer releases the log while it waits for the answer. */
  readonly releasesWhileWaiting: boolean
  /** The length of an output, in characters. */
  readonly outputLength: number
}

export type ProcessOrder =
  | {
      readonly do: 'open'
      readonly tag: string
      readonly store: StoreSpec
      readonly plan: RunPlan
      readonly leaseMs: number
    }
  /** Writes the run until it ends or is lost. */
  | { readonly do: 'write'; readonly run: Run; readonly takeover: boolean }
  /** Repeatedly drives due logs. */
  | { readonly do: 'drive'; readonly program: string }
  | { readonly do: 'read'; readonly reader: string; readonly streamId: string; readonly after: string | number }
  /** Answers every question as this guest. */
  | { readonly do: 'answer'; readonly guest: string; readonly streamId: string }
  /** The writers of these runs end them at the next step. */
  | { readonly do: 'finish'; readonly streamIds: readonly string[] }
  | { readonly do: 'grant'; readonly n: number }
  /** Holds the lock of an SQLite file during a change. */
  | { readonly do: 'lock'; readonly path: string }
  | { readonly do: 'unlock' }
  | { readonly do: 'sync'; readonly n: number }
  | { readonly do: 'close' }

interface StreamMessageBase {
  readonly streamId: string
}

export type ProcessMessage =
  | ({ readonly kind: 'claimed'; readonly epoch: string } & StreamMessageBase)
  /** Sent to the log in one batch. */
  | ({ readonly kind: 'sent'; readonly tokens: readonly string[] } & StreamMessageBase)
  | ({
      readonly kind: 'acked'
      readonly outcome: string
      readonly tokens: readonly string[]
      readonly first: number
      readonly last: number
    } & StreamMessageBase)
  /** The writer is lost, with the reason. */
  | ({ readonly kind: 'lost'; readonly code: string; readonly message: string } & StreamMessageBase)
  | ({ readonly kind: 'ended'; readonly status: string; readonly token: string } & StreamMessageBase)
  | ({
      readonly kind: 'answered'
      readonly token: string
      readonly outcome: string
      readonly first?: number
      readonly last?: number
      readonly reason?: string
    } & StreamMessageBase)
  | {
      readonly kind: 'read'
      readonly reader: string
      readonly after: number
      readonly sequence: number
      readonly cursor: string
      readonly entries: readonly Entry[]
    }
  | { readonly kind: 'truncated'; readonly reader: string; readonly reason: string }
  | { readonly kind: 'failed'; readonly operation: string; readonly code: string; readonly message: string }
  /** A step starts. The process waits if it is too far ahead of the test. */
  | { readonly kind: 'step'; readonly n: number }
  /** A call of the store got no answer and is retried. */
  | { readonly kind: 'call-failed'; readonly operation: string; readonly message: string }
  | { readonly kind: 'locked' }
  | { readonly kind: 'synced'; readonly n: number }
  | { readonly kind: 'closed' }

/** Reports to the test. Resolves when the message is sent. */
export type ReportMessage = (message: ProcessMessage) => Promise<void>
