// The open drafts of each lane. While a draft is open, the parts and calls it wrote to belong to its lane, so the
// writer rejects writes of other lanes to them.

import { type Chunk, isDraftChunk, type WriterOrigin } from '@millrace/protocol'
import { DraftTracker, isSameLane, type LaneEntry, targetOf } from '@millrace/protocol/internal'
import type { NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'

/** The draft chunks of a lane since its last commit. */
export class Draft {
  readonly origin: WriterOrigin
  /** The parts, calls and structured objects that it has written to. */
  readonly targets: Set<string>
  /** Whether some of it may be in the log. */
  isSent: boolean

  constructor(origin: WriterOrigin, targets: Iterable<string> = [], isSent = false) {
    this.origin = origin
    this.targets = new Set(targets)
    this.isSent = isSent
  }
}

/** The last draft chunk of a lane: its type, and the id of the part, call or structured object that it writes to. */
interface LastWrite {
  readonly type: string
  readonly id: string
  readonly draft: Draft
}

export class Drafts {
  readonly #tracker = new DraftTracker<Draft, WriterOrigin>(origin => this.#reopening ?? new Draft(origin))
  readonly #owners = new Map<string, Draft>()
  #reopening: Draft | undefined
  /** By the lane's origin object. Most draft chunks have the target of the one before, and then cost one lookup. */
  #lastWrites = new WeakMap<WriterOrigin, LastWrite>()

  /**
   * Registers a chunk. Returns its draft if it is a draft chunk.
   *
   * @throws LogError `refused` if another lane has a draft on its target.
   */
  add(entry: NewEntry): Draft | undefined {
    const origin = entry.origin as WriterOrigin
    const { type } = entry.chunk
    const id = targetIdOf(entry.chunk)
    const isDraft = isDraftChunk(entry.chunk)
    const last = this.#lastWrites.get(origin)
    if (isDraft && last && last.id === id && last.type === type) return last.draft
    const target = targetWrittenBy(entry)
    const owner = target === undefined ? undefined : this.#owners.get(target)
    if (owner && !isSameLane(owner.origin, origin)) throw conflict(entry.chunk, owner, target as string)
    if (!isDraft) {
      this.#end(entry)
      return undefined
    }
    const draft = this.#open(entry)
    if (id !== undefined) this.#lastWrites.set(origin, { type, id, draft })
    return draft
  }

  /** @throws LogError `refused` if another lane has a draft on a target of the batch. */
  check(batch: readonly NewEntry[]): void {
    if (this.#isAlone(batch)) return
    // Within a batch, a draft may be opened, or closed before another lane writes to its target.
    const trial = new Drafts()
    trial.reopen(this.open.map(({ origin, targets }) => new Draft(origin, targets)))
    for (const entry of batch) trial.add(entry)
  }

  /** Whether a batch is on one lane and commits it while no other lane has a draft. Then it cannot conflict. */
  #isAlone(batch: readonly NewEntry[]): boolean {
    const origin = batch[0]?.origin as WriterOrigin | undefined
    if (origin === undefined || batch.at(-1)?.chunk.type !== 'checkpoint-created') return false
    return batch.every(entry => entry.origin === origin) && this.open.every(draft => isSameLane(draft.origin, origin))
  }

  /** The open drafts. */
  get open(): readonly Draft[] {
    return this.#tracker.drafts.map(({ data }) => data)
  }

  /**
   * Registers a checked batch. Returns the drafts that it closed. Drafts opened after the batch was requested stay
   * open.
   */
  addBatch(batch: readonly NewEntry[], open = this.open): readonly Draft[] {
    const closable = new Set(open)
    if (this.#isAlone(batch)) return this.#end(batch.at(-1) as NewEntry, closable)
    return batch.flatMap(entry => {
      if (!isDraftChunk(entry.chunk)) return this.#end(entry, closable)
      const draft = this.#open(entry)
      draft.isSent = true
      closable.add(draft)
      return []
    })
  }

  /** Reopens drafts whose batch was not appended. */
  reopen(drafts: readonly Draft[]): void {
    for (const draft of drafts) {
      this.#reopening = draft
      const { data: current } = this.#tracker.open(draft.origin)
      this.#reopening = undefined
      current.isSent ||= draft.isSent
      for (const target of draft.targets) this.#own(current, target)
    }
  }

  /** Removes a lane's draft and returns it. */
  drop(origin: WriterOrigin): Draft | undefined {
    return this.#end({ origin, chunk: { type: 'step-discarded', reason: 'dropped' } })[0]
  }

  /** The draft of a draft chunk, which owns its target from now on. */
  #open(entry: NewEntry): Draft {
    const { data: draft } = this.#tracker.open(entry.origin as WriterOrigin)
    const target = targetWrittenBy(entry)
    if (target !== undefined) this.#own(draft, target)
    return draft
  }

  #own(draft: Draft, target: string): void {
    draft.targets.add(target)
    this.#owners.set(target, draft)
  }

  /** Closes the drafts that an entry ends, if they are `closable`, and returns them. */
  #end(entry: LaneEntry, closable?: ReadonlySet<Draft>): Draft[] {
    const ended = this.#tracker.end(entry).map(({ data }) => data)
    if (ended.length > 0) this.#lastWrites = new WeakMap()
    const closed = closable ? ended.filter(draft => closable.has(draft)) : ended
    for (const draft of closed) {
      for (const target of draft.targets) if (this.#owners.get(target) === draft) this.#owners.delete(target)
    }
    if (closed.length < ended.length) this.reopen(ended.filter(draft => !closed.includes(draft)))
    return closed
  }
}

/** The id of the part, call or structured object that a chunk writes to. Unique per type and lane. */
function targetIdOf(chunk: Chunk): string | undefined {
  const { toolCallId, streamId, id } = chunk as { toolCallId?: string; streamId?: string; id?: string }
  return toolCallId ?? streamId ?? id
}

/** The target of a chunk that may belong to another lane's draft: a draft chunk's part, or a tool chunk's call. */
function targetWrittenBy({ chunk, origin }: NewEntry): string | undefined {
  return isDraftChunk(chunk) || chunk.type.startsWith('tool-') ? targetOf(chunk, origin as WriterOrigin) : undefined
}

function conflict({ type }: Chunk, { origin }: Draft, target: string): LogError {
  return new LogError(
    'refused',
    `chunk ${type}: lane ${origin.lane} has a draft on ${target}, commit or discard that first`,
  )
}
