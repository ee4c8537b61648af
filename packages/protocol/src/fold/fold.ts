import { catalogue, isGuestChunk } from '../catalogue/catalogue.ts'
import type { Chunk, DataChunk } from '../catalogue/chunk.ts'
import { isData } from '../catalogue/guards.ts'
import { type Entry, isGuest, type Origin } from '../entry/entry.ts'
import { mismatch } from '../error/protocol-error.ts'
import type { Json } from '../json/json.ts'
import { isSameLane } from '../lane/draft-tracker.ts'
import { type Change, Changes } from './changes.ts'
import { FoldContent, type Refusal, type Writer } from './content.ts'
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
 * What broke the protocol and was dropped (law 9): an event, not part of the view. `repeated`: its sequence was folded before;
 * `after-end`: its run or agent has ended; `foreign-draft`: another lane has a draft there; `out-of-order`: what it speaks of is not there, or
 * not in a state for it; `refused`: it does not fit what is there.
 */
export interface Report {
  readonly code: 'repeated' | 'after-end' | Refusal
  readonly entry: Entry
}

export interface FoldOptions {
  /** Told of every entry that broke the protocol and was dropped. */
  onReport?(report: Report): void
  /** Told of transient data, which no view keeps. */
  onTransient?(entry: Entry<DataChunk>): void
}

/** What a fold needs at a rewind: a fold up to `toSequence` to `adopt`; then it goes on with `apply(rest, through)`. */
export interface Refold {
  readonly toSequence: number
  readonly rest: readonly Entry[]
  readonly through: number
}

/** What opens and ends lanes concerns internal drafts as much as others, and reaches the internal fold too (law 10). */
const SHARED = new Set(['checkpoint-created', 'step-discarded', 'subagent-start', 'subagent-end', 'run-finished'])

/** Where a rewind goes back to; undefined for what is none, or none that a writer may say. */
export function rewindOf({ chunk, sequence, origin, internal }: Entry): number | undefined {
  if (chunk.type !== 'rewind' || chunk.toSequence >= sequence || internal || isGuest(origin)) return undefined
  return chunk.toSequence
}

/**
 * Folds entries into a view, in batches of any size, in time linear in what they carry (law 11). Accepts every sequence of
 * valid entries; what breaks the protocol is reported and dropped, never thrown (law 9).
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
  // What a handler threw, until the batch is folded: a fold is never left half way.
  #thrown: { error: unknown } | undefined

  constructor(options: FoldOptions = {}) {
    this.#options = options
  }

  /** A fold that goes on from a view; throws where another version of the fold made it: then fold the log again (law 12). */
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

  /** The sequence up to which entries have been folded. */
  get head(): number {
    return this.#head
  }

  /**
   * Folds a batch, and takes all up to `through` as seen (a frame reaches further than its last entry where some were merged or
   * left out). At a rewind it stops, and says what it needs to go on.
   */
  apply(entries: readonly Entry[], through = 0): Refold | undefined {
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as Entry
      const { chunk } = entry
      if (!this.#reaches(entry)) continue
      const { growing } = this.#content
      // The hot path: another delta of what the same writer wrote to last.
      if (growing !== undefined && chunk.type === growing.deltaType && this.#isMore(entry, growing)) {
        growing.push((chunk as { delta: string }).delta)
        continue
      }
      const toSequence = rewindOf(entry)
      if (toSequence !== undefined && this.#ledger.admits(entry)) {
        this.#changes.ledger = true
        return { toSequence, rest: entries.slice(i + 1), through }
      }
      this.#fold(entry, chunk, true)
    }
    if (through > this.#head) this.#head = through
    const thrown = this.#thrown
    this.#thrown = undefined
    if (thrown) throw thrown.error
    return undefined
  }

  /** Goes on to an entry, unless it was folded before. */
  #reaches(entry: Entry): boolean {
    const isNew = entry.sequence > this.#head
    if (isNew) this.#head = entry.sequence
    else this.#report(entry, 'repeated')
    return isNew
  }

  /** Whether a delta is just more of what its writer wrote last. */
  #isMore({ chunk, origin, internal }: Entry, cell: PartCell): boolean {
    const named = chunk as { id?: string; toolCallId?: string; providerMetadata?: object }
    return (
      named[cell.field] === cell.id && cell.isGrowing && this.#isWriter(origin) && !internal && !named.providerMetadata
    )
  }

  #isWriter(origin: Origin): boolean {
    const last = this.#writer?.origin
    return last !== undefined && !isGuest(origin) && isSameLane(origin, last)
  }

  /** Takes over the content of a fold of the past as it stood there, which is then of no use any more; what only goes forward stays. */
  adopt(past: Fold): void {
    past.#content.close()
    this.#restore(past.#content.view())
    this.#changes.all = true
    if (this.#internal || past.#internal) {
      this.#internal ??= new Fold(this.#options)
      this.#internal.adopt(past.#internal ?? new Fold())
    }
  }

  /** Folds entries that a later rewind cuts: just into what no rewind takes back. */
  skip(entries: readonly Entry[]): void {
    const open = this.#content.close()
    this.#writer = undefined
    this.#internal?.skip([])
    for (const entry of entries) {
      if (this.#reaches(entry)) this.#fold(entry, entry.chunk, false)
    }
    // How those runs ended shows in what is left of them.
    for (const message of open) message.changed()
    this.#changes.all = true
  }

  #fold(entry: Entry, chunk: Chunk, withContent: boolean): undefined {
    const { internal, ...open } = entry
    const { origin } = entry
    let writer: Writer | undefined
    if (isGuest(origin)) {
      // What the server keeps beside guests' words says nothing by itself.
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
    const taken = this.#ledger.apply(entry, chunk)
    if (taken === false) return this.#report(entry, 'refused')
    if (taken) this.#changes.ledger = true
    if (this.#internal && SHARED.has(chunk.type)) this.#foldInternal(this.#internal, open, withContent)
    if (isData(chunk) && chunk.transient) this.#tell(() => this.#options.onTransient?.(entry as Entry<DataChunk>))
    else if (withContent) {
      const refusal = this.#content.write(entry, chunk, writer)
      if (refusal) this.#report(entry, refusal)
    }
  }

  #foldInternal(internal: Fold, entry: Entry, withContent: boolean): void {
    internal.#fold(entry, entry.chunk, withContent)
    // What a handler threw there is heard here: nobody calls `apply` on it.
    this.#thrown ??= internal.#thrown
    internal.#thrown = undefined
  }

  #tell(handler: () => void): void {
    try {
      handler()
    } catch (error) {
      this.#thrown ??= { error }
    }
  }

  #report(entry: Entry, code: Report['code']): undefined {
    this.#tell(() => this.#options.onReport?.({ code, entry }))
  }

  /** The ids of the messages, in order; the same array until one comes, goes or moves. */
  get messageIds(): readonly string[] {
    return this.#content.order.ids
  }

  /** A message; the same object until it changes. */
  message(id: string): Message | undefined {
    return this.#content.messages.get(id)?.read(this.#ledger)
  }

  #cell(messageId: string, key: string): PartCell | undefined {
    return this.#content.messages.get(messageId)?.parts.get(key)
  }

  /** A part of a message, without a look at the others; the same object until it changes. */
  part(messageId: string, key: string): Part | undefined {
    return this.#cell(messageId, key)?.read() as Part | undefined
  }

  /** What a growing part gained since a mark, at the cost of just that; undefined where there is no such part. */
  gained(messageId: string, key: string, since?: TextMark): TextGrowth | undefined {
    return this.#cell(messageId, key)?.growth?.gained(since)
  }

  /** A structured object; the same object until it changes. */
  structured(streamId: string): StructuredObject | undefined {
    return this.#content.object(streamId)
  }

  /** What lanes wait for, in the order in which each was first spoken of. */
  get pendings(): Pending[] {
    const calls = this.#content.pendings()
    const open = this.#ledger.openInterrupts
    // As it is nearly always, and this is asked in every frame.
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

  /** The structured result of the last run that gave one. */
  get output(): Json | undefined {
    return this.#content.output
  }

  /** A run; another object when something of it changed. */
  run(runId: string): Run | undefined {
    return this.#ledger.runs.get(runId)
  }

  /** The requests that nobody has begun with. */
  get waiting(): RunRequest[] {
    return [...this.#ledger.waiting.values()]
  }

  /** Runs, agents, requests, interrupts, hooks and usage; what did not change since an earlier time is shared with it. */
  ledger(): LedgerView {
    return this.#ledger.view()
  }

  /** What changed since this was last asked. */
  takeChanges(): Change {
    return this.#changes.take()
  }

  /** The whole view, as plain JSON; what did not change since an earlier one is shared with it. */
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
