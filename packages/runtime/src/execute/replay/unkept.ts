// What an execution was given, has changed and has shown since its last commit. Code that starts again comes to all of it again: what a commit has counted
// is neither shown nor changed twice.

import type { BatchItem, Lane } from '@millrace/log'
import type { Chunk, Json, StructuredDataChunk } from '@millrace/protocol'
import { ValidationError } from '../../error/error.ts'
import { keyOf } from '../../session/key.ts'
import { type HookRecord, type HookResult, recordOf } from './record.ts'
import { type Change, stateOf, type WorkflowState, type WorkflowStateUpdate } from './state.ts'
import type { Streams } from './streams.ts'

export interface UnkeptSettings {
  readonly lane: Lane
  readonly scope: string
  readonly state: WorkflowState
  readonly streams: Streams
  /** How many emissions are in the log, by what they are about. */
  readonly counted: ReadonlyMap<string, number>
  /** Whether this is a try after one that failed: it may go another way, so what sets a value sets it again. */
  readonly isRetry: boolean
}

/** What a commit keeps, and what to do once it has. */
export interface Keeping {
  readonly said: readonly BatchItem[]
  readonly records: readonly HookRecord[]
  kept(): void
}

export class Unkept {
  readonly #settings: UnkeptSettings
  #given: HookRecord[] = []
  #changes: Change[] = []
  /** How often each thing was shown or changed. */
  readonly #emitted = new Map<string, number>()
  #total = 0
  /** Those of them that no commit has counted. */
  readonly #uncounted = new Set<string>()
  readonly #streamIds = new Set<string>()

  constructor(settings: UnkeptSettings) {
    this.#settings = settings
  }

  /** Whether there is nothing that a commit would keep. */
  get isEmpty(): boolean {
    return this.#given.length === 0 && this.#changes.length === 0 && this.#uncounted.size === 0
  }

  /** Adds what a hook gave that no commit of its own keeps. */
  add(record: HookRecord): void {
    this.#given.push(record)
  }

  /** Shows something, once: not where the log holds it from before. */
  emit(chunk: Chunk): PromiseLike<void> {
    return this.#isNext('message') ? this.#settings.lane.write(chunk) : Promise.resolve()
  }

  /** As `emit`, for an update of a structured object, which has to fit: the same does not fit again when the code starts again. */
  emitStructured(chunk: StructuredDataChunk, what: string): PromiseLike<void> {
    const about = `structured:${chunk.streamId}`
    const isNext = this.#isNext(about)
    const refusal = `refused:${this.#emitted.get(about)}:${about}`
    const isAgain = !isNext && this.#settings.isRetry && chunk.kind === 'set'
    if (!isNext && !isAgain) {
      if (!this.#settings.counted.has(refusal)) return Promise.resolve()
      throw new ValidationError(`${what}: the update does not fit, as when the node came here before`)
    }
    this.#uncounted.add(about)
    this.#streamIds.add(chunk.streamId)
    try {
      return this.#settings.streams.show(this.#settings.lane, chunk, what)
    } catch (error) {
      this.#isNext(refusal)
      throw error
    }
  }

  /** Changes the state, with the next commit. */
  change(key: string, update: WorkflowStateUpdate): void {
    const checked = typeof update === 'function' ? update : stateOf(key, update)
    const isNext = this.#isNext(`state:${key}`)
    const isAgain = this.#settings.isRetry && typeof update !== 'function'
    if (isNext || isAgain) this.#changes.push({ key, update: checked })
  }

  /** A value of the state, with the changes of this execution. */
  read(key: string): Json | undefined {
    return this.#settings.state.read(key, this.#changes)
  }

  /** All that a commit is to keep by now, with one more record, and what one in whose place that comes had counted; throws where the state would be none. */
  keeping(record: HookRecord, before?: HookResult['shown']): Keeping {
    const { lane, state } = this.#settings
    // Copies: code may add to them while the commit is under way.
    const given = [...this.#given]
    const changes = [...this.#changes]
    const values = state.after(changes)
    const uncounted = new Set(this.#uncounted)
    const counts = Object.fromEntries([...uncounted].map(about => [about, this.#emitted.get(about) as number]))
    // Once for all of them: they are kept by one commit.
    const shown = { ...before, ...counts }
    const emissions = this.#total
    const counting = {
      ...record,
      given: { ...record.given, ...(Object.keys(shown).length > 0 && { shown }) },
      emissions,
    }
    const records = [...given, counting]
    return {
      records,
      said: [...records.map(one => recordOf(one, lane)), ...this.#stateRecords(values)],
      kept: () => {
        for (const [key, value] of values) state.set(key, value)
        this.#given = this.#given.slice(given.length)
        this.#changes = this.#changes.slice(changes.length)
        for (const about of uncounted) if (this.#emitted.get(about) === counts[about]) this.#uncounted.delete(about)
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
  #isNext(about: string): boolean {
    this.#total++
    const count = (this.#emitted.get(about) ?? 0) + 1
    this.#emitted.set(about, count)
    if (count <= (this.#settings.counted.get(about) ?? 0)) return false
    this.#uncounted.add(about)
    return true
  }

  #stateRecords(values: ReadonlyMap<string, Json | undefined>): BatchItem[] {
    const { scope, lane } = this.#settings
    return [...values].map(([key, value]) => {
      const given = { ...(value !== undefined && { value }) }
      return recordOf({ hookId: stateIdOf(scope, key), hook: 'state', given }, lane)
    })
  }
}

/** The record of a value of the state. */
const stateIdOf = (scope: string, key: string): string => `${scope}state/${keyOf(key)}`
