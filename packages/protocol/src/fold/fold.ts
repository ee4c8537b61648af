import type { Chunk, DataChunk } from '../catalogue/chunk.ts'
import { type Entry, isGuest, type Origin, type WriterOrigin } from '../entry.ts'
import { ProtocolError } from '../error.ts'
import { type Change, Changes } from './changes.ts'
import { Content, type Refusal, type Writer } from './content.ts'
import type { Gained, Mark } from './growth.ts'
import { Ledger } from './ledger.ts'
import type { PartCell } from './part.ts'
import { FOLD_VERSION, type Message, type Part, type Pending, type StructuredObject, type View } from './view.ts'

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

/** What a fold needs at a rewind: a fold up to `toSequence` to `adopt`; then it goes on with `rest`. */
export interface Refold {
  readonly toSequence: number
  readonly rest: readonly Entry[]
}

/** What opens and ends lanes concerns internal drafts as much as others, and reaches the internal fold too (law 10). */
const SHARED = new Set(['checkpoint-created', 'step-discarded', 'subagent-start', 'subagent-end', 'run-finished'])

/**
 * Folds entries into a view, in batches of any size, in time linear in what they carry (law 11). Accepts every sequence of
 * valid entries; what breaks the protocol is reported and dropped, never thrown (law 9).
 */
export class Fold {
  readonly #options: FoldOptions
  readonly #changes = new Changes()
  readonly #ledger: Ledger
  #content: Content
  #head: number
  #internal: Fold | undefined
  // The writer of the last entry: most entries come from the same one as the entry before.
  #writer: Writer | undefined
  #growing: PartCell | undefined

  /** A fold of nothing yet, or one that goes on from a view; throws where another version of the fold made that (law 12). */
  constructor(options: FoldOptions = {}, view?: View) {
    if (view && view.version !== FOLD_VERSION) {
      throw new ProtocolError('invalid-view', `view: expected version ${FOLD_VERSION}, found ${view.version}`)
    }
    this.#options = options
    this.#head = view?.head ?? 0
    this.#ledger = new Ledger(view)
    this.#content = this.#newContent(view)
    if (view?.internal) this.#internal = new Fold({}, view.internal)
  }

  #newContent(view?: Parameters<Content['restore']>[0]): Content {
    const content = new Content(this.#changes, this.#ledger)
    if (view) content.restore(view)
    return content
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
      const { chunk, sequence } = entry
      if (sequence <= this.#head) {
        this.#report(entry, 'repeated')
        continue
      }
      this.#head = sequence
      const growing = this.#growing
      // The hot path: another delta of what the same writer wrote to last.
      if (growing !== undefined && chunk.type === growing.takes && this.#isMore(entry, growing)) {
        growing.push((chunk as { delta: string }).delta)
        continue
      }
      if (chunk.type === 'rewind' && chunk.toSequence < sequence && !isGuest(entry.origin)) {
        this.#ledger.open(entry.origin.runId, entry)
        return { toSequence: chunk.toSequence, rest: entries.slice(i + 1) }
      }
      this.#fold(entry, chunk, true)
    }
    if (through > this.#head) this.#head = through
    return undefined
  }

  /** Whether a delta is just more of what its writer wrote last. */
  #isMore({ chunk, origin, internal }: Entry, cell: PartCell): boolean {
    const { id, toolCallId, providerMetadata } = chunk as {
      id?: string
      toolCallId?: string
      providerMetadata?: object
    }
    return (id ?? toolCallId) === cell.id && this.#isWriter(origin) && !internal && !providerMetadata
  }

  #isWriter(origin: Origin): boolean {
    const last = this.#writer?.origin
    return (
      origin === last ||
      (last !== undefined &&
        origin.runId === last.runId &&
        origin.lane === last.lane &&
        (origin as WriterOrigin).agentId === last.agentId)
    )
  }

  /** Takes over the content of a fold of the past as it stood there; runs, requests, interrupts, hooks and usage stay as they are. */
  adopt(past: Fold): void {
    past.#content.close()
    this.#content = this.#newContent(past.#content.view())
    this.#writer = this.#growing = undefined
    this.#changes.order = this.#changes.state = this.#changes.output = true
    if (this.#internal || past.#internal) {
      this.#internal ??= new Fold()
      this.#internal.adopt(past.#internal ?? new Fold())
    }
  }

  /** Folds entries that a later rewind cuts: just into what no rewind takes back. */
  skip(entries: readonly Entry[]): void {
    this.#content.close()
    this.#writer = this.#growing = undefined
    this.#internal?.skip([])
    for (const entry of entries) {
      this.#head = entry.sequence
      this.#fold(entry, entry.chunk, false)
    }
    for (const message of this.#content.messages.values()) message.changed()
  }

  #fold(entry: Entry, chunk: Chunk, withContent: boolean): void {
    this.#growing = undefined
    const { origin, internal, ...rest } = entry
    if (internal) this.#internal ??= new Fold()
    if (this.#internal && (internal || SHARED.has(chunk.type)))
      this.#internal.#fold({ ...rest, origin }, chunk, withContent)
    if (internal) return
    let writer: Writer | undefined
    if (!isGuest(origin)) {
      this.#ledger.open(origin.runId, entry)
      if (!this.#isWriter(origin)) this.#writer = this.#content.writer(origin)
      writer = this.#writer as Writer
      if (!this.#ledger.isOpen(origin.runId) || this.#ledger.agent(writer.id)?.status) {
        this.#report(entry, 'after-end')
        return
      }
    }
    const taken = this.#ledger.apply(entry, chunk)
    if (taken) this.#changes.ledger = true
    if ('transient' in chunk && chunk.transient) this.#options.onTransient?.(entry as Entry<DataChunk>)
    else if (taken === false) this.#report(entry, 'refused')
    else if (withContent) {
      const refusal = this.#content.write(entry, chunk, writer)
      if (refusal) this.#report(entry, refusal)
    }
    const growing = writer?.lane.growing
    if (growing?.isGrowing) this.#growing = growing
  }

  #report(entry: Entry, code: Report['code']): void {
    this.#options.onReport?.({ code, entry })
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
  gained(messageId: string, key: string, since?: Mark): Gained | undefined {
    return this.#cell(messageId, key)?.growth?.gained(since)
  }

  /** A structured object; the same object until it changes. */
  structured(streamId: string): StructuredObject | undefined {
    return this.#content.object(streamId)
  }

  /** What lanes wait for, in the order in which it was asked. */
  get pendings(): Pending[] {
    const interrupts = this.#ledger.openInterrupts.map(interrupt => ({
      kind: 'interrupt' as const,
      id: interrupt.interruptId,
      interrupt,
    }))
    const at = (pending: Pending) => (pending.kind === 'interrupt' ? pending.interrupt : pending.part).at
    return [...this.#content.pendings(), ...interrupts].sort((a, b) => at(a) - at(b))
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
