// A section: the part of a node's code between the results of two hooks. On replay, a state read in a section that the log
// has returns the value that the section has set later. So the code skips what it guards by that value.

import type { Json } from '@millrace/protocol'
import type { HookRecord } from './journal.ts'

/** A state value that the code has read. */
export interface StateRead {
  readonly key: string
  readonly section: Section
  record: HookRecord
}

export class Section {
  /** Names the section in its execution. */
  readonly name: string
  /** The recorded sections whose reads this one repeats, if they set the values that they had read. */
  readonly repeated = new Set<string>()
  /** The names of reads and objects that the code has used. */
  readonly names = new Set<string>()
  /** The subjects of new emissions and changes. */
  readonly subjects = new Set<string>()
  /** The reads since the last call of a hook, by key. */
  readonly #open = new Map<string, StateRead[]>()
  /** The reads of keys that the code has set since, by key. */
  readonly #changed = new Map<string, Set<StateRead>>()
  /** The keys of `#changed` that were set since the last record. */
  readonly #unrecorded = new Set<string>()
  #isStale = false

  constructor(name: string) {
    this.name = name
  }

  /** Whether reads have returned other values than in the first execution, so that the code may do less than it did. */
  get isRepeated(): boolean {
    return this.repeated.size > 0
  }

  /** Whether a value that was read has been set since the last record. */
  get isUnrecorded(): boolean {
    return this.#unrecorded.size > 0
  }

  /** Whether the section needs a record: code that starts again may skip some of it. */
  get needsRecord(): boolean {
    return this.#isStale && (this.isRepeated || this.#changed.size > 0)
  }

  addRead(read: StateRead): void {
    const reads = this.#open.get(read.key)
    if (reads) reads.push(read)
    else this.#open.set(read.key, [read])
  }

  /** Freezes earlier reads: code that runs in parallel with the called hook changes them only by their own setters. */
  callHook(): void {
    this.#open.clear()
  }

  /** Marks the reads whose value the code has set. `read` returned the setter. */
  change(read: StateRead): void {
    const { key } = read
    const open = this.#open.get(key) ?? []
    const own = read.section === this ? [read] : []
    this.#open.delete(key)
    const changed = this.#changed.get(key) ?? new Set()
    for (const one of [...open, ...own]) changed.add(one)
    if (changed.size === 0) return
    this.#changed.set(key, changed)
    this.#unrecorded.add(key)
    this.#isStale = true
  }

  /** Adds the subject of a new emission or change. */
  addSubject(subject: string): void {
    this.subjects.add(subject)
    this.#isStale = true
  }

  /** The records of the changed reads, with the values that the section has set so far. */
  takeReads(currentValue: (key: string) => Json | undefined): readonly HookRecord[] {
    const records = [...this.#unrecorded].flatMap(key => {
      const value = currentValue(key)
      return [...(this.#changed.get(key) ?? [])].map(read => {
        const { value: _, ...result } = read.record.result
        read.record = {
          ...read.record,
          result: { ...result, ...(value !== undefined && { value }), section: this.name },
        }
        return read.record
      })
    })
    this.#unrecorded.clear()
    return records
  }

  /** Called when the section is recorded. */
  markRecorded(): void {
    this.#isStale = false
  }
}
