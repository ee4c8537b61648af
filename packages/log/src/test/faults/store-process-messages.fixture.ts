// What a process tells the test, and what the test tells a process.

import type { Entry } from '@millrace/protocol'
import type { StoreSpec } from './spec.fixture.ts'

/** A run, and what can drive it. */
export interface Run {
  readonly streamId: string
  readonly runId: string
  readonly program: string
}

/** How a run is written: the same steps, whoever writes them. */
export interface Plan {
  readonly seed: number
  /** How often a step ends with a question to somebody. */
  readonly asks: number
  /** Whether who asks lets the log go until it is answered. */
  readonly leaves: boolean
  /** How long a fact is, in characters. */
  readonly bulk: number
}

export type Order =
  | {
      readonly do: 'open'
      readonly tag: string
      readonly store: StoreSpec
      readonly plan: Plan
      readonly leaseMs: number
    }
  /** Writes the run, to its end or until it is lost. */
  | { readonly do: 'write'; readonly run: Run; readonly takeover: boolean }
  /** Asks what is due and drives it, again and again. */
  | { readonly do: 'drive'; readonly program: string }
  | { readonly do: 'read'; readonly reader: string; readonly streamId: string; readonly after: string | number }
  /** Answers all that is asked, as this guest. */
  | { readonly do: 'answer'; readonly guest: string; readonly streamId: string }
  /** Who writes these ends the run at the next occasion. */
  | { readonly do: 'finish'; readonly streamIds: readonly string[] }
  | { readonly do: 'grant'; readonly n: number }
  /** Takes the lock of an SQLite file, in the midst of a change. */
  | { readonly do: 'lock'; readonly path: string }
  | { readonly do: 'unlock' }
  | { readonly do: 'sync'; readonly n: number }
  | { readonly do: 'close' }

interface OfStream {
  readonly streamId: string
}

export type Told =
  | ({ readonly kind: 'claimed'; readonly epoch: string } & OfStream)
  /** On its way into the log, all in one batch. */
  | ({ readonly kind: 'sent'; readonly tokens: readonly string[] } & OfStream)
  | ({
      readonly kind: 'acked'
      readonly outcome: string
      readonly tokens: readonly string[]
      readonly first: number
      readonly last: number
    } & OfStream)
  /** The writer can write no more, and why. */
  | ({ readonly kind: 'lost'; readonly code: string; readonly message: string } & OfStream)
  | ({ readonly kind: 'ended'; readonly status: string; readonly token: string } & OfStream)
  | ({
      readonly kind: 'answered'
      readonly token: string
      readonly outcome: string
      readonly first?: number
      readonly last?: number
      readonly reason?: string
    } & OfStream)
  | {
      readonly kind: 'read'
      readonly reader: string
      readonly after: number
      readonly sequence: number
      readonly cursor: string
      readonly entries: readonly Entry[]
    }
  | { readonly kind: 'truncated'; readonly reader: string; readonly reason: string }
  | { readonly kind: 'failed'; readonly what: string; readonly code: string; readonly message: string }
  /** A step begins: the process waits if it is too far ahead of the test. */
  | { readonly kind: 'step'; readonly n: number }
  /** A call of the store got no answer, and is tried again. */
  | { readonly kind: 'trouble'; readonly what: string; readonly message: string }
  | { readonly kind: 'locked' }
  | { readonly kind: 'synced'; readonly n: number }
  | { readonly kind: 'closed' }

/** Tells the test; resolves when that is on its way. */
export type Say = (told: Told) => Promise<void>
