import type { Chunk, DataChunk } from '../catalogue/chunk.ts'
import { type Entry, isGuest, type WriterOrigin } from '../entry.ts'
import { ProtocolError } from '../error.ts'
import { type Change, Changes } from './changes.ts'
import { Content, type Refusal, type Writer } from './content.ts'
import type { Gained, Mark } from './growth.ts'
import { Ledger } from './ledger.ts'
import type { PartCell } from './part.ts'
import type { ToolChunk } from './tool.ts'
import { FOLD_VERSION, type Message, type Part, type Pending, type StructuredObject, type View } from './view.ts'

/** What broke the protocol and was dropped (law 9): an event, not part of the view. */
export interface Report {
  readonly code: 'after-end' | 'repeated' | Refusal[0]
  readonly message: string
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
      throw new ProtocolError(
        'invalid-view',
        `view: expected version ${FOLD_VERSION}, found ${view.version}; fold the log again`,
      )
    }
    this.#options = options
    this.#ledger = new Ledger(view)
    this.#content = new Content(this.#changes)
    this.#head = view?.head ?? 0
    if (view) this.#content.restore(view, this.#ledger.runs)
    if (view?.internal) this.#internal = new Fold({}, view.internal)
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
        this.#report(entry, 'repeated', 'its sequence was folded before')
        continue
      }
      this.#head = sequence
      const growing = this.#growing
      // The hot path: another delta of what the same writer wrote to last.
      if (
        growing !== undefined &&
        chunk.type === growing.takes &&
        entry.origin === this.#writer?.origin &&
        isPlainDelta(entry, growing)
      ) {
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

  /** Takes over the content of a fold of the past as it stood there; runs, requests, interrupts and usage stay as they are. */
  adopt(past: Fold): void {
    past.#content.close()
    this.#content = new Content(this.#changes)
    this.#content.restore(past.#content.view(), this.#ledger.runs)
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
    if (entry.internal) {
      const { internal, ...open } = entry
      this.#internal ??= new Fold()
      this.#internal.#fold(open, chunk, withContent)
      return
    }
    if (this.#internal && SHARED.has(chunk.type)) this.#internal.#fold(entry, chunk, withContent)
    const { origin } = entry
    const writer = isGuest(origin) ? undefined : this.#writerOf(origin, entry)
    if (writer && (!writer.run.isOpen || writer.run.agents.get(writer.origin.agentId)?.status)) {
      this.#report(entry, 'after-end', `run ${writer.run.runId} or its agent has ended`)
      return
    }
    const taken = this.#ledger.apply(entry, chunk, writer?.run)
    if (taken === false) this.#report(entry, 'refused', 'it does not fit what was asked and answered before')
    else {
      if (taken) this.#changes.ledger = true
      if (withContent) this.#write(entry, chunk, writer)
    }
    if (writer?.lane.growing?.isGrowing) this.#growing = writer.lane.growing
  }

  #write(entry: Entry, chunk: Chunk, writer: Writer | undefined): void {
    if ('transient' in chunk && chunk.transient) {
      this.#options.onTransient?.(entry as Entry<DataChunk>)
      return
    }
    let refusal: Refusal | undefined
    if (writer) refusal = this.#content.write(entry, chunk, writer)
    else if (chunk.type.startsWith('tool-')) refusal = this.#content.tool(entry, chunk as ToolChunk)
    if (refusal) this.#report(entry, ...refusal)
  }

  #writerOf(origin: WriterOrigin, entry: Entry): Writer {
    const last = this.#writer
    if (last && last.origin === origin) return last
    const run = this.#ledger.open(origin.runId, entry)
    this.#writer = { origin, run, lane: this.#content.lane(origin) }
    return this.#writer
  }

  #report(entry: Entry, code: Report['code'], message: string): void {
    this.#options.onReport?.({
      code,
      message: `${entry.chunk.type} at ${entry.sequence} was dropped: ${message}`,
      entry,
    })
  }

  /** The ids of the messages, in order; the same array until one comes, goes or moves. */
  get messageIds(): readonly string[] {
    return this.#content.ids
  }

  /** A message; the same object until it changes. */
  message(id: string): Message | undefined {
    return this.#content.messages.get(id)?.read()
  }

  /** A part of a message, without a look at the others; the same object until it changes. */
  part(messageId: string, key: string): Part | undefined {
    return this.#content.messages.get(messageId)?.byKey.get(key)?.read()
  }

  /** What a growing part gained since a mark, at the cost of just that; undefined where there is no such part. */
  gained(messageId: string, key: string, since?: Mark): Gained | undefined {
    return this.#content.messages.get(messageId)?.byKey.get(key)?.growth?.gained(since)
  }

  /** A structured object; the same object until it changes. */
  structured(streamId: string): StructuredObject | undefined {
    return this.#content.object(streamId)
  }

  /** What lanes wait for, in the order in which it was asked. */
  get pendings(): Pending[] {
    const pendings: Pending[] = this.#content.pendings()
    for (const interrupt of this.#ledger.openInterrupts)
      pendings.push({ kind: 'interrupt', id: interrupt.interruptId, interrupt })
    const at = (pending: Pending) => (pending.kind === 'interrupt' ? pending.interrupt.at : pending.part.at)
    return pendings.sort((a, b) => at(a) - at(b))
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

function isPlainDelta({ chunk, internal }: Entry, cell: PartCell): boolean {
  const { id, toolCallId, providerMetadata } = chunk as { id?: string; toolCallId?: string; providerMetadata?: unknown }
  return (id ?? toolCallId) === cell.id && providerMetadata === undefined && internal === undefined
}
