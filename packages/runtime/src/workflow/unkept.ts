// What an execution was given, has changed and has shown since its last commit. Code that starts again comes to all of it again: what a commit has counted
// is neither shown nor changed twice.

import type { Lane, Said } from '@millrace/log'
import type { Chunk, Json, StructuredDataChunk } from '@millrace/protocol'
import { keyOf } from '../agent/key.ts'
import { type HookRecord, recordOf } from './record.ts'
import { type Change, stateOf, type Update, type WorkflowState } from './state.ts'
import type { Streams } from './streams.ts'

export interface UnkeptSettings {
  readonly lane: Lane
  readonly scope: string
  readonly state: WorkflowState
  readonly streams: Streams
  /** As many emissions are in the log. */
  readonly counted: number
}

/** What a commit keeps, and what to do once it has. */
export interface Keeping {
  readonly said: readonly Said[]
  readonly records: readonly HookRecord[]
  kept(): void
}

export class Unkept {
  readonly #settings: UnkeptSettings
  #given: HookRecord[] = []
  #changes: Change[] = []
  #emitted = 0
  readonly #streamIds = new Set<string>()

  constructor(settings: UnkeptSettings) {
    this.#settings = settings
  }

  /** Adds what a hook gave that no commit of its own keeps. */
  add(record: HookRecord): void {
    this.#given.push(record)
  }

  /** Shows something, once: not where the log holds it from before. */
  emit(chunk: Chunk): PromiseLike<void> {
    return this.#isNext() ? this.#settings.lane.write(chunk) : Promise.resolve()
  }

  /** As `emit`, for an update of a structured object, which has to fit. */
  emitStructured(chunk: StructuredDataChunk, what: string): PromiseLike<void> {
    if (!this.#isNext()) return Promise.resolve()
    this.#settings.streams.write(chunk, what)
    this.#streamIds.add(chunk.streamId)
    return this.#settings.lane.write(chunk)
  }

  /** Changes the state, with the next commit. */
  change(key: string, update: Update): void {
    const checked = typeof update === 'function' ? update : stateOf(key, update)
    if (this.#isNext()) this.#changes.push({ key, update: checked })
  }

  /** A value of the state, with the changes of this execution. */
  read(key: string): Json | undefined {
    return this.#settings.state.read(key, this.#changes)
  }

  /** All that a commit is to keep by now, with one more record; throws where the state would be none. */
  keeping(record?: HookRecord): Keeping {
    const { lane, state, counted } = this.#settings
    const given = this.#given
    const changes = this.#changes
    const values = state.after(changes)
    const emissions = Math.max(this.#emitted, counted)
    const records = [...given, ...(record ? [record] : [])].map(one => ({ ...one, emissions }))
    return {
      records,
      said: [...records.map(one => recordOf(one, lane)), ...this.#stateRecords(values)],
      kept: () => {
        for (const [key, value] of values) state.set(key, value)
        this.#given = this.#given.slice(given.length)
        this.#changes = this.#changes.slice(changes.length)
      },
    }
  }

  /** As `keeping`, for the end of the execution: nobody will start it again. */
  keepingLast(): Keeping {
    const { state } = this.#settings
    const values = state.after(this.#changes)
    const kept = () => {
      for (const [key, value] of values) state.set(key, value)
      this.#changes = []
    }
    return { records: [], said: this.#stateRecords(values), kept }
  }

  /** Forgets all of it: it was taken back. */
  drop(): void {
    this.#given = []
    this.#changes = []
    for (const streamId of this.#streamIds) this.#settings.streams.forget(streamId)
  }

  /** Counts an emission; tells whether the log does not hold it yet. */
  #isNext(): boolean {
    this.#emitted++
    return this.#emitted > this.#settings.counted
  }

  #stateRecords(values: ReadonlyMap<string, Json | undefined>): Said[] {
    const { scope, lane } = this.#settings
    return [...values].map(([key, value]) => {
      const given = { ...(value !== undefined && { value }) }
      return recordOf({ hookId: stateIdOf(scope, key), hook: 'state', given }, lane)
    })
  }
}

/** The record of a value of the state. */
const stateIdOf = (scope: string, key: string): string => `${scope}state/${keyOf(key)}`
