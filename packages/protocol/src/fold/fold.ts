import { catalogue, isGuestChunk } from '../catalogue/catalogue.ts'
import type { DataChunk } from '../catalogue/chunk.ts'
import { isData } from '../catalogue/guards.ts'
import { type Entry, isGuest, type Origin } from '../entry/entry.ts'
import { mismatch } from '../error/protocol-error.ts'
import type { Json } from '../json/json.ts'
import { isSameLane } from '../lane/draft-tracker.ts'
import { type Change, Changes } from './changes.ts'
import { type DropReason, FoldContent, type Writer } from './content.ts'
import type { TextGrowth, TextMark } from './growing-text.ts'
import { Ledger, type LedgerView, messageIdOf } from './ledger.ts'
import type { PartCell } from './part-cell.ts'
import {
  FOLD_VERSION,
  type Message,
  type Part,
  type Pending,
  type Run,
  type RunRequest,
  type StructuredObject,
  type View,
} from './view.ts'

/**
 * An entry that broke the protocol and was dropped (law 9). `repeated`: its sequence was folded before. `after-end`: its run or agent has
 * ended. `foreign-draft`: another lane has a draft on its target. `out-of-order`: its target does not exist or is not in a state for it.
 * `refused`: it is not valid for its target or author.
 */
export interface FoldReport {
  /** Why the entry was dropped. */
  readonly code: 'repeated' | 'after-end' | DropReason
  /** The dropped entry. */
  readonly entry: Entry
}

/** Options of a fold. */
export interface FoldOptions {
  /** Called with every entry that broke the protocol and was dropped. */
  onReport?(report: FoldReport): void
  /** Called with transient data, which is not part of the view. */
  onTransient?(entry: Entry<DataChunk>): void
}

/** A rewind stopped the fold. To continue: `adopt` a fold of the log up to `toSequence`, then call `apply(rest, through)`. */
export interface Refold {
  /** The sequence to which the rewind goes back. */
  readonly toSequence: number
  /** The entries of the batch after the rewind. */
  readonly rest: readonly Entry[]
  /** Sequence up to which the batch is complete. */
  readonly through: number
}

/** Public chunks that open and end lanes. They also apply to the internal fold, which has drafts too (law 10). */
const SHARED = new Set(['checkpoint-created', 'step-discarded', 'subagent-start', 'subagent-end', 'run-finished'])

/** The target of a rewind. Undefined for other entries and for invalid rewinds. */
export function rewindOf({ chunk, sequence, origin, internal }: Entry): number | undefined {
  if (chunk.type !== 'rewind' || chunk.toSequence >= sequence || internal || isGuest(origin)) return undefined
  return chunk.toSequence
}

/**
 * Folds entries into a view, in batches of any size, in time linear in their size (law 11). Accepts every sequence of valid
 * entries: an entry that breaks the protocol is reported and dropped, never thrown (law 9).
 */
export class Fold {
  readonly #options: FoldOptions
  readonly #changes = new Changes()
  #ledger = new Ledger()
  #content = new FoldContent(this.#changes, this.#ledger)
  #head = 0
  #internal: Fold | undefined
  // The writer of the last entry: most entries come from the same one as the entry before.
  #writer: Writer | undefined
  // An error from a handler, thrown after the batch is folded, so that a batch is never half applied.
  #thrown: { error: unknown } | undefined

  constructor(options: FoldOptions = {}) {
    this.#options = options
  }

  /**
   * Creates a fold from a view.
   * @throws ProtocolError `invalid-view` for a view of another fold version: then fold the log again (law 12).
   */
  static from(view: View, options?: FoldOptions): Fold {
    if (view.version !== FOLD_VERSION) {
      throw mismatch('invalid-view', 'view', `version ${FOLD_VERSION}`, view.version)
    }
    const fold = new Fold(options)
    fold.#head = view.head
    fold.#ledger = new Ledger(view)
    fold.#restore(view)
    if (view.internal) fold.#internal = Fold.from(view.internal, options)
    return fold
  }

  #restore(view: Parameters<FoldContent['restore']>[0]): void {
    this.#content = new FoldContent(this.#changes, this.#ledger)
    this.#content.restore(view)
    this.#writer = undefined
  }

  /** The last folded sequence. */
  get head(): number {
    return this.#head
  }

  /**
   * Folds a batch and moves the head to `through`, which may be after the last entry if entries were merged or omitted. Stops at a
   * rewind and returns what is needed to continue.
   * @throws the first error of a handler, after the batch is folded.
   */
  apply(entries: readonly Entry[], through = 0): Refold | undefined {
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as Entry
      const { chunk } = entry
      if (!this.#advance(entry)) continue
      const { growing } = this.#content
      // The hot path: the writer of the last entry appends to the same part.
      if (chunk.type === growing?.deltaType && this.#isNextDelta(entry, growing)) {
        growing.push((chunk as { delta: string }).delta)
        continue
      }
      const toSequence = rewindOf(entry)
      if (toSequence !== undefined && this.#ledger.admits(entry)) {
        this.#changes.ledger = true
        return { toSequence, rest: entries.slice(i + 1), through }
      }
      this.#fold(entry, true)
    }
    if (through > this.#head) this.#head = through
    const thrown = this.#thrown
    this.#thrown = undefined
    if (thrown) throw thrown.error
    return undefined
  }

  /** Moves the head to an entry. Returns false if it was folded before. */
  #advance(entry: Entry): boolean {
    const isNew = entry.sequence > this.#head
    if (isNew) this.#head = entry.sequence
    else this.#report(entry, 'repeated')
    return isNew
  }

  /** Whether a delta only appends to the part that its writer wrote last. */
  #isNextDelta({ chunk, origin, internal }: Entry, cell: PartCell): boolean {
    const named = chunk as { id?: string; toolCallId?: string; providerMetadata?: object }
    return (
      named[cell.field] === cell.id && cell.isGrowing && this.#isWriter(origin) && !internal && !named.providerMetadata
    )
  }

  #isWriter(origin: Origin): boolean {
    const last = this.#writer?.origin
    return !!last && !isGuest(origin) && isSameLane(origin, last)
  }

  /** Replaces the content with that of a fold of an earlier part of the log, which must not be used after that. Keeps the ledger. */
  adopt(earlier: Fold): void {
    earlier.#content.close()
    this.#restore(earlier.#content.view())
    this.#changes.all = true
    if (this.#internal || earlier.#internal) {
      this.#internal ??= new Fold(this.#options)
      this.#internal.adopt(earlier.#internal ?? new Fold())
    }
  }

  /** Folds entries that a later rewind removes, only into the ledger. */
  skip(entries: readonly Entry[]): void {
    const open = this.#content.close()
    this.#writer = undefined
    this.#internal?.skip([])
    for (const entry of entries) {
      if (this.#advance(entry)) this.#fold(entry, false)
    }
    // The remaining messages show how their runs ended.
    for (const message of open) message.changed()
    this.#changes.all = true
  }

  #fold(entry: Entry, withContent: boolean): undefined {
    const { internal, ...open } = entry
    const { origin, chunk } = entry
    let writer: Writer | undefined
    if (isGuest(origin)) {
      // Internal entries of guests are the server's own records and not part of the view.
      if (internal) return undefined
      const isKnown = Object.hasOwn(catalogue, chunk.type) || isData(chunk)
      if (isKnown && !isGuestChunk(chunk.type)) return this.#report(entry, 'refused')
    } else {
      const same = this.#isWriter(origin)
      const id = same ? (this.#writer as Writer).id : messageIdOf(origin.runId, origin.agentId)
      const { size } = this.#ledger.runs
      if (!this.#ledger.admits(entry, id)) return this.#report(entry, 'after-end')
      if (size !== this.#ledger.runs.size) this.#changes.ledger = true
      if (!same) {
        this.#writer = { origin, id }
        this.#content.growing = undefined
      }
      writer = this.#writer
    }
    if (internal) {
      this.#internal ??= new Fold(this.#options)
      this.#foldInternal(this.#internal, open, withContent)
      return undefined
    }
    const applied = this.#ledger.apply(entry, chunk)
    if (applied === false) return this.#report(entry, 'refused')
    if (applied) this.#changes.ledger = true
    if (this.#internal && SHARED.has(chunk.type)) this.#foldInternal(this.#internal, open, withContent)
    if (isData(chunk) && chunk.transient)
      this.#callHandler(() => this.#options.onTransient?.(entry as Entry<DataChunk>))
    else if (withContent) {
      const dropReason = this.#content.write(entry, chunk, writer)
      if (dropReason) this.#report(entry, dropReason)
    }
  }

  #foldInternal(internal: Fold, entry: Entry, withContent: boolean): void {
    internal.#fold(entry, withContent)
    // `apply` is never called on the internal fold, so its handler errors are thrown here.
    this.#thrown ??= internal.#thrown
    internal.#thrown = undefined
  }

  #callHandler(handler: () => void): void {
    try {
      handler()
    } catch (error) {
      this.#thrown ??= { error }
    }
  }

  #report(entry: Entry, code: FoldReport['code']): undefined {
    this.#callHandler(() => this.#options.onReport?.({ code, entry }))
  }

  /** The ids of the messages, in order. The same array until messages are added, removed or moved. */
  get messageIds(): readonly string[] {
    return this.#content.order.ids
  }

  /** A message. The same object until it changes. */
  message(id: string): Message | undefined {
    return this.#content.messages.get(id)?.read(this.#ledger)
  }

  #cell(messageId: string, key: string): PartCell | undefined {
    return this.#content.messages.get(messageId)?.parts.get(key)
  }

  /** A part of a message, without reading the others. The same object until it changes. */
  part(messageId: string, key: string): Part | undefined {
    return this.#cell(messageId, key)?.read() as Part | undefined
  }

  /** The text added to a part since a mark, in time proportional to that text. Undefined if there is no such part. */
  textSince(messageId: string, key: string, since?: TextMark): TextGrowth | undefined {
    return this.#cell(messageId, key)?.growth?.textSince(since)
  }

  /** A structured object. The same object until it changes. */
  structured(streamId: string): StructuredObject | undefined {
    return this.#content.object(streamId)
  }

  /** Everything that lanes wait for, in the order of first mention in the log. */
  get pendings(): Pending[] {
    const calls = this.#content.pendings()
    const open = this.#ledger.openInterrupts
    // The most frequent case, and this is read for every frame.
    if (open.length === 0 && calls.length < 2) return calls
    const interrupts = open.map(interrupt => ({
      kind: 'interrupt' as const,
      id: interrupt.interruptId,
      interrupt,
    }))
    const at = (pending: Pending) => ('part' in pending ? pending.part : pending.interrupt).at
    return [...calls, ...interrupts].sort((a, b) => at(a) - at(b))
  }

  /** The ids of the structured objects. */
  get structuredIds(): string[] {
    return this.#content.objects.map(({ streamId }) => streamId)
  }

  /** The shared state. */
  get state(): Json | undefined {
    return this.#content.state
  }

  /** The structured result of the last run that has one. */
  get output(): Json | undefined {
    return this.#content.output
  }

  /** A run. The same object until it changes. */
  run(runId: string): Run | undefined {
    return this.#ledger.runs.get(runId)
  }

  /** The requests that have not started. */
  get waiting(): RunRequest[] {
    return [...this.#ledger.waiting.values()]
  }

  /** Runs, agents, requests, interrupts, hooks and usage. Unchanged objects are shared with earlier results. */
  ledger(): LedgerView {
    return this.#ledger.view()
  }

  /** Returns and resets the changes since the last call. */
  takeChanges(): Change {
    return this.#changes.take()
  }

  /** The complete view, as plain JSON. Unchanged objects are shared with earlier views. */
  view(): View {
    return {
      version: FOLD_VERSION,
      head: this.#head,
      ...this.#content.view(),
      pendings: this.pendings,
      ...this.#ledger.view(),
      ...(this.#internal && { internal: this.#internal.view() }),
    }
  }
}
