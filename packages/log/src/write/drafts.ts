// The open drafts of each lane. While a draft is open, the parts and calls it wrote to belong to its lane, so the
// writer rejects writes of other lanes to them.

import { type Chunk, isDraftChunk, type WriterOrigin } from '@millrace/protocol'
import { endsDraft, laneKeyOf, targetOf } from '@millrace/protocol/internal'
import type { NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'

/** A lane's words since its last commit. */
export class Draft {
  readonly origin: WriterOrigin
  readonly name: string
  readonly targets = new Set<string>()
  /** Whether some of it may be in the log. */
  isSent = false

  constructor(origin: WriterOrigin, name: string) {
    this.origin = origin
    this.name = name
  }
}

/** Lane keys by origin object: most entries of a lane share one. */
const laneKeys = new WeakMap<WriterOrigin, string>()

function laneKey(origin: WriterOrigin): string {
  let name = laneKeys.get(origin)
  if (name === undefined) {
    name = laneKeyOf(origin)
    laneKeys.set(origin, name)
  }
  return name
}

/** The target of a chunk that may be owned by another lane's draft: a word's part, or a fact's call. */
function targetWrittenBy({ chunk, origin }: NewEntry): string | undefined {
  return isDraftChunk(chunk) || chunk.type.startsWith('tool-') ? targetOf(chunk, origin as WriterOrigin) : undefined
}

export class Drafts {
  readonly #owners = new Map<string, Draft>()
  readonly #lanes = new Map<string, Draft>()
  // Fast path: most words have the same target as the word before.
  #last: { origin: WriterOrigin; type: string; id: unknown; draft: Draft } | undefined

  /**
   * Registers a chunk. Returns its draft if it is a word.
   *
   * @throws LogError `refused` if another lane has a draft on its target.
   */
  add(entry: NewEntry): Draft | undefined {
    const { type, id } = entry.chunk as { type: string; id?: unknown }
    const origin = entry.origin as WriterOrigin
    const last = this.#last
    if (last && id !== undefined && last.id === id && last.type === type && last.origin === origin) return last.draft
    const target = targetWrittenBy(entry)
    const owner = target === undefined ? undefined : this.#owners.get(target)
    if (owner && owner.name !== laneKey(origin)) throw conflict(entry.chunk, owner, target as string)
    const draft = this.#apply(entry)
    if (draft) this.#last = { origin, type, id, draft }
    return draft
  }

  /** @throws LogError `refused` if another lane has a draft on a target of the batch. */
  check(batch: readonly NewEntry[]): void {
    if (this.#isApart(batch)) return
    // Within a batch, a draft may be opened, or closed before another lane writes to its target.
    const owners = new Map(this.#owners)
    for (const entry of batch) {
      const origin = entry.origin as WriterOrigin
      const target = targetWrittenBy(entry)
      const name = laneKey(origin)
      const owner = target === undefined ? undefined : owners.get(target)
      if (owner && owner.name !== name) throw conflict(entry.chunk, owner, target as string)
      if (isDraftChunk(entry.chunk)) {
        if (target !== undefined) owners.set(target, owner ?? new Draft(origin, name))
      } else for (const [held, draft] of owners) if (endsDraft(entry, draft.origin)) owners.delete(held)
    }
  }

  /** Whether a batch is on one lane and commits it while no other lane has a draft. Then it cannot conflict. */
  #isApart(batch: readonly NewEntry[]): boolean {
    const origin = batch[0]?.origin as WriterOrigin | undefined
    if (origin === undefined || batch.at(-1)?.chunk.type !== 'checkpoint-created') return false
    if (this.#lanes.size > (this.#lanes.has(laneKey(origin)) ? 1 : 0)) return false
    return batch.every(entry => entry.origin === origin)
  }

  get open(): ReadonlySet<Draft> {
    return new Set(this.#lanes.values())
  }

  /**
   * Registers a checked batch. Returns the drafts that it closed. Drafts opened after the batch was requested stay
   * open.
   */
  addBatch(batch: readonly NewEntry[], open = this.open): readonly Draft[] {
    if (this.#isApart(batch)) {
      const laneDraft = this.#lanes.get(laneKey(batch[0]?.origin as WriterOrigin))
      if (laneDraft === undefined || !open.has(laneDraft)) return []
      this.#close(laneDraft)
      return [laneDraft]
    }
    const known = new Set(open)
    for (const entry of batch) {
      const draft = this.#apply(entry, known)
      if (draft === undefined) continue
      draft.isSent = true
      known.add(draft)
    }
    return [...known].filter(draft => this.#lanes.get(draft.name) !== draft)
  }

  /** Reopens drafts whose batch was not appended. */
  reopen(drafts: readonly Draft[]): void {
    for (const { origin, targets, isSent } of drafts) {
      const draft = this.#open(origin)
      draft.isSent ||= isSent
      for (const target of targets) this.#own(draft, target)
    }
  }

  /** Removes a lane's draft and returns it. */
  drop(origin: WriterOrigin): Draft | undefined {
    const draft = this.#lanes.get(laneKey(origin))
    if (draft) this.#close(draft)
    return draft
  }

  #apply(entry: NewEntry, open = this.open): Draft | undefined {
    const { chunk, origin } = entry
    if (isDraftChunk(chunk)) {
      const draft = this.#open(origin as WriterOrigin)
      const target = targetWrittenBy(entry)
      if (target !== undefined) this.#own(draft, target)
      return draft
    }
    for (const draft of open) if (endsDraft(entry, draft.origin)) this.#close(draft)
    return undefined
  }

  #open(origin: WriterOrigin): Draft {
    const name = laneKey(origin)
    const open = this.#lanes.get(name) ?? new Draft(origin, name)
    this.#lanes.set(name, open)
    return open
  }

  #own(draft: Draft, target: string): void {
    draft.targets.add(target)
    this.#owners.set(target, draft)
  }

  #close(draft: Draft): void {
    for (const target of draft.targets) if (this.#owners.get(target) === draft) this.#owners.delete(target)
    if (this.#lanes.get(draft.name) === draft) this.#lanes.delete(draft.name)
    this.#last = undefined
  }
}

function conflict({ type }: Chunk, { origin }: Draft, target: string): LogError {
  return new LogError(
    'refused',
    `chunk ${type}: lane ${origin.lane} has a draft on ${target}, commit or discard that first`,
  )
}
