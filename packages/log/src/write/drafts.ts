// Which lane has what open. While a draft is open, what it touched belongs to its lane, so the writer refuses
// another lane's write to it.

import { type Chunk, isWord, type WriterOrigin } from '@millrace/protocol'
import { endsDraft, laneKeyOf, targetOf } from '@millrace/protocol/internal'
import type { NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'

/** A lane's words since its last commit. */
export class Draft {
  readonly origin: WriterOrigin
  readonly name: string
  readonly targets = new Set<string>()
  /** Whether the log may hold some of it. */
  isSent = false

  constructor(origin: WriterOrigin, name: string) {
    this.origin = origin
    this.name = name
  }
}

/** The names of lanes by the origins that speak of them: most entries of a lane share one. */
const names = new WeakMap<WriterOrigin, string>()

function nameOf(origin: WriterOrigin): string {
  let name = names.get(origin)
  if (name === undefined) {
    name = laneKeyOf(origin)
    names.set(origin, name)
  }
  return name
}

/** What a chunk writes to that another lane may have a draft on: a word to its part, a fact to its call. */
function written({ chunk, origin }: NewEntry): string | undefined {
  return isWord(chunk) || chunk.type.startsWith('tool-') ? targetOf(chunk, origin as WriterOrigin) : undefined
}

export class Drafts {
  readonly #owners = new Map<string, Draft>()
  readonly #lanes = new Map<string, Draft>()
  // Most words go where the word before them went.
  #last: { origin: WriterOrigin; type: string; id: unknown; draft: Draft } | undefined

  /** Takes a chunk down, and tells the draft that it belongs to if it is a word; throws where another lane has a draft on what it writes to. */
  touch(entry: NewEntry): Draft | undefined {
    const { type, id } = entry.chunk as { type: string; id?: unknown }
    const origin = entry.origin as WriterOrigin
    const last = this.#last
    if (last && id !== undefined && last.id === id && last.type === type && last.origin === origin) return last.draft
    const target = written(entry)
    const owner = target === undefined ? undefined : this.#owners.get(target)
    if (owner && owner.name !== nameOf(origin)) throw foreign(entry.chunk, owner, target as string)
    const draft = this.#apply(entry)
    if (draft) this.#last = { origin, type, id, draft }
    return draft
  }

  /** Throws where another lane has a draft on what a batch writes to. */
  check(batch: readonly NewEntry[]): void {
    if (this.#isApart(batch)) return
    // Within a batch, a draft may be opened, or closed before another lane writes there.
    const owners = new Map(this.#owners)
    for (const entry of batch) {
      const origin = entry.origin as WriterOrigin
      const target = written(entry)
      const name = nameOf(origin)
      const owner = target === undefined ? undefined : owners.get(target)
      if (owner && owner.name !== name) throw foreign(entry.chunk, owner, target as string)
      if (isWord(entry.chunk)) {
        if (target !== undefined) owners.set(target, owner ?? new Draft(origin, name))
      } else for (const [held, draft] of owners) if (endsDraft(entry, draft.origin)) owners.delete(held)
    }
  }

  /** Whether a batch says all on one lane and seals it, while no other lane has a draft: then nothing in it can touch another's. */
  #isApart(batch: readonly NewEntry[]): boolean {
    const origin = batch[0]?.origin as WriterOrigin | undefined
    if (origin === undefined || batch.at(-1)?.chunk.type !== 'checkpoint-created') return false
    if (this.#lanes.size > (this.#lanes.has(nameOf(origin)) ? 1 : 0)) return false
    return batch.every(entry => entry.origin === origin)
  }

  /** The drafts that are open. */
  get open(): ReadonlySet<Draft> {
    return new Set(this.#lanes.values())
  }

  /** Takes a batch down that was checked; tells the drafts that it closed. Those that were opened after the batch was asked for are left. */
  take(batch: readonly NewEntry[], open = this.open): readonly Draft[] {
    if (this.#isApart(batch)) {
      const own = this.#lanes.get(nameOf(batch[0]?.origin as WriterOrigin))
      if (own === undefined || !open.has(own)) return []
      this.#close(own)
      return [own]
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

  /** Opens drafts again whose batch was not appended. */
  reopen(drafts: readonly Draft[]): void {
    for (const { origin, targets, isSent } of drafts) {
      const draft = this.#open(origin)
      draft.isSent ||= isSent
      for (const target of targets) this.#own(draft, target)
    }
  }

  /** Forgets a lane's draft; tells it. */
  drop(origin: WriterOrigin): Draft | undefined {
    const draft = this.#lanes.get(nameOf(origin))
    if (draft) this.#close(draft)
    return draft
  }

  #apply(entry: NewEntry, open = this.open): Draft | undefined {
    const { chunk, origin } = entry
    if (isWord(chunk)) {
      const draft = this.#open(origin as WriterOrigin)
      const target = written(entry)
      if (target !== undefined) this.#own(draft, target)
      return draft
    }
    for (const draft of open) if (endsDraft(entry, draft.origin)) this.#close(draft)
    return undefined
  }

  #open(origin: WriterOrigin): Draft {
    const name = nameOf(origin)
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

function foreign({ type }: Chunk, { origin }: Draft, target: string): LogError {
  return new LogError(
    'refused',
    `chunk ${type}: lane ${origin.lane} has a draft on ${target}, commit or discard that first`,
  )
}
