// What an execution has produced since its last commit: hook results, state changes, emissions and token usage.

import { type BatchItem, type Discard, type Lane, LogError } from '@millrace/log'
import {
  type Chunk,
  type Json,
  ProtocolError,
  StructuredAccumulator,
  type StructuredDataChunk,
  type Usage,
} from '@millrace/protocol'
import { ValidationError } from '../../error/error.ts'
import { keyOf } from '../../session/key.ts'
import type { Session } from '../../session/session.ts'
import { type HookRecord, type HookResult, hookRecordEntry, stateIdOf } from './journal.ts'
import type { Replay } from './replay.ts'
import type { StateRead } from './section.ts'
import { checkStateValue, type StateChange, type WorkflowState, type WorkflowStateUpdate } from './state.ts'

export interface UncommittedSettings {
  readonly lane: Lane
  readonly scope: string
  readonly state: WorkflowState
  readonly streams: StructuredStreams
  readonly replay: Replay
}

/** The entries of a commit, and the callback to run after the commit succeeded. */
export interface PreparedCommit {
  readonly entries: readonly BatchItem[]
  readonly records: readonly HookRecord[]
  onCommitted(): void
}

/** Hook results, state changes and emissions since the last commit. On replay, skips the emissions and changes that the log has counted. */
export class UncommittedChanges {
  readonly #settings: UncommittedSettings
  /** How many emissions the log holds, by subject. */
  readonly #committedCounts: ReadonlyMap<string, number>
  #records: HookRecord[] = []
  #changes: StateChange[] = []
  /** Emissions and changes of this attempt, by subject, and in total. */
  readonly #counts = new Map<string, number>()
  #total = 0
  /** Subjects with emissions that no commit has counted. */
  readonly #uncounted = new Set<string>()
  readonly #streamIds = new Set<string>()

  constructor(settings: UncommittedSettings) {
    this.#settings = settings
    this.#committedCounts = settings.replay.emissionCounts
  }

  /** Whether an earlier attempt failed. A retry may take another path, so it sets values again. */
  get #isRetry(): boolean {
    return this.#settings.replay.failures > 0
  }

  /** Whether there is nothing to commit. */
  get isEmpty(): boolean {
    return this.#records.length === 0 && this.#changes.length === 0 && this.#uncounted.size === 0
  }

  /** Adds the record of a hook that does not commit by itself. */
  addRecord(record: HookRecord): void {
    this.#records.push(record)
  }

  /** Writes a chunk, unless the log holds it from an earlier attempt. */
  emit(chunk: Chunk): PromiseLike<void> {
    return this.#countEmission('message') ? this.#settings.lane.write(chunk) : Promise.resolve()
  }

  /** Writes an update of a structured object, unless the log holds it. Throws if the update is rejected, also on replay. */
  emitStructured(chunk: StructuredDataChunk, label: string): PromiseLike<void> {
    const subject = `structured:${chunk.streamId}`
    const isNew = this.#countEmission(subject)
    const refusal = `refused:${this.#counts.get(subject)}:${subject}`
    const isRepeated = !isNew && this.#isRetry && chunk.kind === 'set'
    if (!isNew && !isRepeated) {
      if (!this.#committedCounts.has(refusal)) return Promise.resolve()
      throw new ValidationError(
        `${label}: the update was rejected in the first execution of the node: a replay rejects it again`,
      )
    }
    this.#uncounted.add(subject)
    this.#streamIds.add(chunk.streamId)
    try {
      return this.#settings.streams.write(this.#settings.lane, chunk, label)
    } catch (error) {
      this.#countEmission(refusal)
      throw error
    }
  }

  /** Changes the state value of a read with the next commit. */
  setState(read: StateRead, update: WorkflowStateUpdate): void {
    const { key } = read
    const checked = typeof update === 'function' ? update : checkStateValue(key, update)
    const isNew = this.#countEmission(`state:${key}`)
    const isRepeated = this.#isRetry && typeof update !== 'function'
    if (!isNew && !isRepeated) return
    this.#changes.push({ key, update: checked })
    this.#settings.replay.section.change(read)
  }

  /** A state value with the uncommitted changes of this execution. */
  readState(key: string): Json | undefined {
    return this.#settings.state.read(key, this.#changes)
  }

  /** Ends the section of the code, because a hook is answered. */
  endSection(): void {
    const { state, replay } = this.#settings
    try {
      if (replay.section.needsRecord) this.#recordSection(state.after(this.#changes))
    } catch {
      // The next commit reports that the changes are no valid state.
    }
    // The repeated code may have skipped what the log has counted.
    for (const [subject, count] of replay.repeatedCounts) {
      const skipped = count - (this.#counts.get(subject) ?? 0)
      if (skipped <= 0) continue
      this.#counts.set(subject, count)
      this.#total += skipped
    }
    replay.endSection()
  }

  /** Adds the records of the current section: its changed reads, and what it has counted. */
  #recordSection(values: ReadonlyMap<string, Json | undefined>): void {
    const { state, replay } = this.#settings
    const { section } = replay
    this.#records.push(...section.takeReads(key => (values.has(key) ? values.get(key) : state.read(key))))
    if (!section.needsRecord) return
    this.#records.push(replay.sectionRecord(this.#counts))
    section.markRecorded()
  }

  /**
   * Prepares a commit of everything so far, together with one more record. `previousShown` holds the counts of the record that this one replaces.
   * @throws if the changes are no valid state
   */
  prepareCommit(record: HookRecord, previousShown?: HookResult['shown']): PreparedCommit {
    const { lane, state } = this.#settings
    // Copies, because code may add to the originals during the commit.
    const changes = [...this.#changes]
    const values = state.after(changes)
    this.#recordSection(values)
    const count = this.#records.length
    // The last record of a read counts, in the place of the first.
    const ownRecords = [...new Map(this.#records.map(record => [record.hookId, record])).values()]
    const uncounted = new Set(this.#uncounted)
    const counts = Object.fromEntries([...uncounted].map(subject => [subject, this.#counts.get(subject) as number]))
    // One record carries the counts of the entire commit.
    const shown = { ...previousShown, ...counts }
    const emissions = this.#total
    const countingRecord = {
      ...record,
      result: { ...record.result, ...(Object.keys(shown).length > 0 && { shown }) },
      emissions,
    }
    const records = [...ownRecords, countingRecord]
    return {
      records,
      entries: [...records.map(entryRecord => hookRecordEntry(entryRecord, lane)), ...this.#stateEntries(values)],
      onCommitted: () => {
        for (const [key, value] of values) state.set(key, value)
        this.#records = this.#records.slice(count)
        this.#changes = this.#changes.slice(changes.length)
        for (const subject of uncounted) {
          if (this.#counts.get(subject) === counts[subject]) this.#uncounted.delete(subject)
        }
      },
    }
  }

  /** Prepares the last commit of the execution. It needs no records, because the execution is never replayed again. */
  prepareFinalCommit(): PreparedCommit {
    const { state } = this.#settings
    const values = state.after(this.#changes)
    const onCommitted = () => {
      for (const [key, value] of values) state.set(key, value)
      this.#changes = []
    }
    return { records: [], entries: this.#stateEntries(values), onCommitted }
  }

  /** Drops everything after it was discarded in the log. */
  clear(): void {
    this.#records = []
    this.#changes = []
    for (const streamId of this.#streamIds) this.#settings.streams.forget(streamId)
  }

  /** Counts an emission. Returns whether it is new: the log does not hold it. */
  #countEmission(subject: string): boolean {
    this.#total++
    const count = (this.#counts.get(subject) ?? 0) + 1
    this.#counts.set(subject, count)
    if (count <= (this.#committedCounts.get(subject) ?? 0)) return false
    this.#uncounted.add(subject)
    this.#settings.replay.section.addSubject(subject)
    return true
  }

  #stateEntries(values: ReadonlyMap<string, Json | undefined>): BatchItem[] {
    const { scope, lane } = this.#settings
    return [...values].map(([key, value]) => {
      const result = { ...(value !== undefined && { value }) }
      return hookRecordEntry({ hookId: stateIdOf(scope, keyOf(key)), hook: 'state', result }, lane)
    })
  }
}

/** Messages for log errors that the node's own update causes. */
const REFUSALS: Partial<Record<LogError['code'], string>> = {
  refused: 'another branch updates this object at the same time: give each branch its own streamId',
  'too-large': 'the update exceeds the size limit of the log: send it in parts, or a reference',
  'queue-full': 'too many updates are waiting to be written: await each',
  invalid: 'the log rejected the update as invalid',
}

/** The current structured objects of a workflow. An invalid update fails in the node that writes it, not in the client. */
export class StructuredStreams {
  readonly #session: Session
  readonly #objects = new Map<string, StructuredAccumulator>()

  constructor(session: Session) {
    this.#session = session
  }

  /**
   * Writes an update to the log.
   * @throws if the update does not fit its object, or the log refuses it
   */
  write(lane: Lane, chunk: StructuredDataChunk, label: string): PromiseLike<void> {
    this.#apply(chunk, label)
    try {
      return lane.write(chunk)
    } catch (error) {
      this.forget(chunk.streamId)
      const refusal = error instanceof LogError ? REFUSALS[error.code] : undefined
      throw refusal === undefined ? error : new ValidationError(`${label}: ${refusal}`, { cause: error })
    }
  }

  #apply(chunk: StructuredDataChunk, label: string): void {
    const { streamId } = chunk
    const cached = this.#objects.get(streamId)
    const object = cached ?? StructuredAccumulator.restore({ state: this.#session.structured(streamId) })
    try {
      object.write(chunk)
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      throw new ValidationError(`${label}: ${error.message}`, { cause: error })
    }
    if (cached === undefined) this.#objects.set(streamId, object)
  }

  /** Drops the cached object. The next update reads it from the log. */
  forget(streamId: string): void {
    this.#objects.delete(streamId)
  }
}

/** Token usage of completed model answers that no commit contains yet. It counts even if the answer is discarded. */
export class UncommittedUsage {
  /** By hook id. */
  readonly #usages = new Map<string, Usage>()

  /** Adds the usage of a completed answer. */
  add(hookId: string, usage: Usage | undefined): void {
    if (usage) this.#usages.set(hookId, usage)
  }

  /** Removes the usage of a hook, because a commit contains it. */
  markCommitted(hookId: string): void {
    this.#usages.delete(hookId)
  }

  /** Discards what a hook has written on its lane since its last commit, and reports the usage. */
  async discard(hookId: string, lane: Lane, discard: Discard): Promise<void> {
    const usage = this.#usages.get(hookId)
    this.#usages.delete(hookId)
    // The usage must be in the log before the discard: it counts as discarded only if the discard takes something back.
    if (usage) await lane.write({ type: 'step-finish', usage, finishReason: 'error' }).appended
    await lane.discard({ ...discard, ...(usage && { usage }) })
  }
}
