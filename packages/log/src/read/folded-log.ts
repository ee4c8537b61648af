import { type Cursor, type Entry, Fold, type View } from '@millrace/protocol'
import { advance, type Ticket } from '../ticket/ticket.ts'
import { type OpenDraft, OpenDrafts } from './open-drafts.ts'

/** The snapshot that a log was read from: its last sequence and its approximate size in bytes. Both are 0 without one. */
export interface SnapshotRef {
  readonly sequence: number
  readonly bytes: number
}

/** The entries after a cursor. */
export interface EntriesSince {
  readonly entries: readonly Entry[]
  /** The cursor after the last of them. */
  readonly cursor: Cursor
  /** Their approximate size in bytes. */
  readonly bytes: number
}

/** A log at one cursor, shared by all callers that ask for it. Nothing in it changes. */
export interface SharedLogState {
  readonly view: View
  readonly ticket: Ticket
  readonly cursor: Cursor
  readonly drafts: readonly OpenDraft[]
  /** Approximate size of what was read for it, in bytes. */
  readonly bytes: number
  readonly snapshot: SnapshotRef
}

interface FoldedLogState extends Omit<SharedLogState, 'view' | 'drafts'> {
  readonly fold: Fold
  readonly drafts: OpenDrafts
}

/** A log folded up to a cursor, and able to continue from there. One owner at a time applies entries to it. */
export class FoldedLog {
  readonly fold: Fold
  readonly snapshot: SnapshotRef
  readonly #drafts: OpenDrafts
  #ticket: Ticket
  #cursor: Cursor
  #bytes: number

  constructor({ fold, ticket, cursor, drafts, bytes, snapshot }: FoldedLogState) {
    this.fold = fold
    this.snapshot = snapshot
    this.#drafts = drafts
    this.#ticket = ticket
    this.#cursor = cursor
    this.#bytes = bytes
  }

  /** A copy that continues from a shared state. */
  static from(state: SharedLogState): FoldedLog {
    return new FoldedLog({ ...state, fold: Fold.from(state.view), drafts: new OpenDrafts(state.drafts) })
  }

  get ticket(): Ticket {
    return this.#ticket
  }

  get cursor(): Cursor {
    return this.#cursor
  }

  /** Approximate size of what was read for it, in bytes. */
  get bytes(): number {
    return this.#bytes
  }

  /** Folds the entries that follow its cursor. None of them is a rewind. */
  apply({ entries, cursor, bytes }: EntriesSince): void {
    this.fold.apply(entries)
    for (const entry of entries) this.#drafts.add(entry)
    this.#ticket = advance(this.#ticket, entries)
    this.#cursor = cursor
    this.#bytes += bytes
  }

  /** Its state now. */
  share(): SharedLogState {
    const { fold, ticket, cursor, bytes, snapshot } = this
    // Copies: a draft's usage is set later.
    const drafts = this.#drafts.drafts.map(draft => ({ ...draft }))
    return { view: fold.view(), ticket, cursor, drafts, bytes, snapshot }
  }
}
