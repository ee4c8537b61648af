// One attempt to execute a node: runs its code, and answers each hook from the log or runs it and commits the result.

import { AsyncLocalStorage } from 'node:async_hooks'
import { type BatchItem, type Lane, LogError } from '@millrace/log'
import type { Chunk, Json, StructuredDataChunk } from '@millrace/protocol'
import type { Agent } from '../../define/agent.ts'
import { MillraceError, ValidationError } from '../../error/error.ts'
import type { AgentTelemetry } from '../../telemetry/agent-span.ts'
import type { ProgramExecution } from '../program-execution.ts'
import {
  checkpointOf,
  commitSuffix,
  type HookRecord,
  type HookResult,
  localHookId,
  parseHookRecord,
} from './journal.ts'
import type { OpenExecution } from './position.ts'
import { Replay, restoreHookError, serializeHookError, toHookError } from './replay.ts'
import { HookScheduler, type ParkedHook, waitForTicketChange } from './scheduler.ts'
import type { StateRead } from './section.ts'
import type { WorkflowState, WorkflowStateUpdate } from './state.ts'
import { type PreparedCommit, type StructuredStreams, UncommittedChanges, UncommittedUsage } from './uncommitted.ts'

export interface ExecutionSettings {
  readonly work: ProgramExecution
  /** The position of the workflow: the node, its input and its failures so far. */
  readonly at: OpenExecution
  readonly lane: Lane
  readonly state: WorkflowState
  readonly streams: StructuredStreams
  readonly telemetry: AgentTelemetry
  /** The prefix of the ids of all records of this workflow in its run. */
  readonly scope: string
  /** The run whose id is in the idempotency keys of this execution. */
  readonly effectRunId: string
  /** The records of this execution in the log, by hook id. Commits add to it. */
  readonly records: Map<string, HookRecord>
  /** Called when a hook starts, parks, continues or finishes. */
  onChange(): void
}

/** A running hook, as its implementation sees it. */
export interface HookCall {
  readonly hookId: string
  readonly execution: NodeExecution
  /** The hook's own lane. Waiting on it does not block other hooks. */
  readonly lane: Lane
  readonly signal: AbortSignal
  readonly telemetry: AgentTelemetry
  /** The hook's record in the log, if an earlier attempt has started it. */
  readonly recorded: HookResult | undefined
  /** Commits the node's uncommitted results, changes and emissions, so that they precede the commits of the hook itself. */
  commitPending(): Promise<void>
  /** Commits entries of the hook before it is completed. */
  commit(entries: readonly BatchItem[], result: HookResult): Promise<void>
  /** Waits for a ticket change or a deadline. If all hooks are parked, the run can leave this process. */
  park(on: readonly string[], until: number): Promise<void>
  /** Never resolves: another process continues the hook. */
  handOver(): Promise<never>
  /** Tracks work that writes on the hook's lane. Nothing is discarded before it settles. */
  trackWrite<T>(work: Promise<T>): Promise<T>
}

/** The return value of a hook, and the entries of its commit. */
export interface HookOutcome {
  readonly value: Json | undefined
  readonly entries?: readonly BatchItem[]
}

/** A hook's place in the order of answers, once it has one. */
interface AnswerOrder {
  place?: number | undefined
}

/** The abort reason for hooks of an ended node. */
export const NODE_ENDED = new MillraceError('internal_error', 'the node has ended')

const never = (): Promise<never> => new Promise(() => {})

const storage = new AsyncLocalStorage<NodeExecution | undefined>()

/**
 * The execution that a hook is called in.
 * @throws if the hook is called outside a node's code
 */
export function currentExecution(hook: string): NodeExecution {
  const execution = storage.getStore()
  if (execution) return execution
  throw new ValidationError(`${hook}: expected to be called while a node runs, not in a tool, a step, or after its end`)
}

/** Runs code that must not call hooks, because it may run more often or elsewhere than its node. */
export const withoutHooks = <T>(code: () => T): T => storage.run(undefined, code)

/** Keeps the rejection of a hook that the node does not await from ending the process. The node's own failure is logged. */
export function suppressUnhandled<T>(result: Promise<T>): Promise<T> {
  if (storage.getStore()) result.catch(() => {})
  return result
}

export class NodeExecution {
  readonly work: ProgramExecution
  /** The position of the workflow: the node, its input and its failures so far. */
  readonly at: OpenExecution
  readonly lane: Lane
  /** The run whose id is in idempotency keys: an earlier run if this one resumes it and repeats its interrupted work. */
  readonly effectRunId: string
  readonly replay: Replay
  readonly telemetry: AgentTelemetry
  readonly usage = new UncommittedUsage()
  readonly #scheduler: HookScheduler
  readonly #uncommitted: UncommittedChanges
  readonly #controller = new AbortController()
  /** The lanes of hooks, by hook id. */
  readonly #lanes = new Map<string, Lane>()
  /** Pending work that writes on lanes of hooks. It stops when the signal aborts. */
  readonly #writes = new Set<Promise<unknown>>()
  /** Texts that were written to readers. */
  readonly #texts = new Set<string>()
  /** The first failure of work that the node does not await. */
  #backgroundError: unknown
  /** Rejects with the log error that ends this execution. */
  readonly #logFailure = Promise.withResolvers<never>()

  constructor(settings: ExecutionSettings) {
    const { work, at, lane, scope, effectRunId, records, telemetry, onChange } = settings
    this.work = work
    this.telemetry = telemetry
    this.at = at
    this.lane = lane
    this.effectRunId = effectRunId
    this.replay = new Replay(at, scope, records)
    this.#scheduler = new HookScheduler(this.replay.lastPlace, onChange)
    this.#uncommitted = new UncommittedChanges({ ...settings, replay: this.replay })
    this.#logFailure.promise.catch(() => {})
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Whether hooks are active and all of them are parked. */
  get isParked(): boolean {
    return this.#scheduler.isParked
  }

  get parked(): readonly ParkedHook[] {
    return this.#scheduler.parked
  }

  /** The number of the workflow within its run, as text. A transition starts the next one. */
  get workflowIndex(): string {
    return this.at.execution.split('.', 1)[0] as string
  }

  /**
   * Runs the node's code.
   * @throws what the code throws, or `workflow_changed` if the code did not call a recorded hook
   */
  async run<T>(code: () => T | PromiseLike<T>): Promise<T> {
    const result = await Promise.race([storage.run(this, async () => code()), this.#logFailure.promise])
    if (this.#backgroundError !== undefined) throw this.#backgroundError
    const { first } = this.#scheduler
    if (first !== undefined) {
      throw new ValidationError(`node ${this.at.node} ended while ${first} was running: await every hook`)
    }
    this.replay.checkComplete()
    return result
  }

  /** Aborts all hooks. Their callers are never answered. */
  close(reason: unknown): void {
    this.#controller.abort(reason)
  }

  /** Aborts all hooks and waits for their writes. */
  async abortHooks(): Promise<void> {
    this.close(NODE_ENDED)
    await Promise.allSettled(this.#writes)
    this.#uncommitted.clear()
    // Waits for writes that were queued before the abort.
    await this.work.commitLock.idle()
  }

  /** Aborts all hooks and discards everything since the last commit. */
  async discard({ code }: MillraceError): Promise<void> {
    await this.abortHooks()
    const attempt = this.replay.failures + 1
    for (const [hookId, lane] of this.#lanes) await this.usage.discard(hookId, lane, { reason: code, attempt })
    await this.lane.discard({ reason: code, attempt })
  }

  /** Answers a hook from the log, or runs it and commits its result. */
  async call(
    hook: string,
    id: string | undefined,
    live: (call: HookCall) => Promise<HookOutcome>,
    agent?: Agent,
  ): Promise<Json | undefined> {
    // Code that still runs after its node ended gets no answer.
    if (this.signal.aborted) return never()
    if (!this.#scheduler.canStart(id)) {
      throw new ValidationError(
        `${hook}: another hook of node ${this.at.node} is running: give both an id, so that a replay can tell them apart`,
      )
    }
    const hookId = this.replay.identify(hook, id)
    if (this.#scheduler.isActive(hookId)) {
      throw new ValidationError(
        `${hook}: another hook with the id ${id} is running in node ${this.at.node}: give each its own id`,
      )
    }
    const recorded = this.replay.consume(hookId, hook)?.result
    this.replay.section.callHook()
    const order: AnswerOrder = { place: recorded?.place }
    this.#scheduler.start(hookId, hook, id !== undefined)
    try {
      if (recorded && recorded.asked === undefined) return structuredClone(recordedValue(recorded))
      if (this.work.handover.aborted && recorded === undefined) return await this.#handOver(hookId)
      const telemetry = this.telemetry.hook({ hook, id, agent })
      return await this.#withTelemetry(telemetry, () => this.#runLive(hookId, hook, recorded, live, telemetry, order))
    } finally {
      await this.#scheduler.waitForTurn(order.place ?? this.#scheduler.reservePlace())
      // Code that still runs after its node ended gets no answer.
      if (this.signal.aborted) await never()
      this.#uncommitted.endSection()
      this.#scheduler.finish(hookId)
    }
  }

  async #withTelemetry<T>(telemetry: AgentTelemetry, work: () => Promise<T>): Promise<T> {
    try {
      const value = await telemetry.within(work)
      telemetry.end('completed')
      return value
    } catch (error) {
      telemetry.end('failed', error)
      throw error
    }
  }

  /** Answers a synchronous hook from the log, or with the computed value, which the next commit records. */
  callSync(hook: string, id: string | undefined, compute: () => Json | undefined): Json | undefined {
    // A copy, because the caller may change its value before the commit.
    return structuredClone(this.#readRecord(hook, id, compute).result.value)
  }

  #readRecord(hook: string, id: string | undefined, compute: () => Json | undefined): HookRecord {
    this.#checkOpen()
    const hookId = this.replay.identifyInSection(hook, id)
    const recorded = this.replay.consume(hookId, hook)
    if (recorded) return recorded
    const value = compute()
    const record = { hookId, hook, result: { ...(value !== undefined && { value }), ...this.#concurrencyMark(0) } }
    this.#uncommitted.addRecord(record)
    return record
  }

  /** Writes a chunk, unless the log holds it from an earlier attempt. */
  emit(chunk: Chunk): PromiseLike<void> {
    this.#checkOpen()
    return this.#uncommitted.emit(chunk)
  }

  /** Like `emit`, for an update of a structured object. Throws if the update is rejected. */
  emitStructured(chunk: StructuredDataChunk, label: string): PromiseLike<void> {
    this.#checkOpen()
    return this.#uncommitted.emitStructured(chunk, label)
  }

  /** Reads a state value, with the uncommitted changes of this execution, or from the log. */
  readState(hook: string, id: string | undefined, key: string, initial: Json | undefined): StateRead {
    const record = this.#readRecord(hook, id, () => {
      const value = this.#uncommitted.readState(key)
      return value === undefined ? initial : value
    })
    const read = { key, record, section: this.replay.section }
    read.section.addRead(read)
    return read
  }

  /** Changes the state value of a read with the next commit. */
  setState(read: StateRead, update: WorkflowStateUpdate): void {
    this.#checkOpen()
    if (storage.getStore() !== this) {
      const reason = 'a replay does not repeat what a tool or a step does'
      throw new ValidationError(`state of node ${this.at.node}: set it in the node's own code: ${reason}`)
    }
    this.#uncommitted.setState(read, update)
  }

  /** The next name of a kind. A replay gets the same names in the same order. */
  nextName(kind: string): string {
    this.#checkOpen()
    return this.replay.identifyInSection(kind)
  }

  /**
   * The next index for hooks without an id.
   * @throws if other hooks are active, because then the index could differ on replay
   */
  nextSlot(hook: string): number {
    this.#checkOpen()
    if (!this.#scheduler.canStart(undefined)) {
      throw new ValidationError(`${hook}: other hooks of node ${this.at.node} are running: call it before them`)
    }
    return this.replay.usesOf(hook)
  }

  /** Whether this execution has written a text to readers. */
  hasText(text: string): boolean {
    return this.#texts.has(text.trim())
  }

  addText(text: string): void {
    this.#texts.add(text.trim())
  }

  /** Fails the node if work rejects that the node may not await. */
  failOnRejection(work: PromiseLike<unknown>): void {
    work.then(undefined, error => {
      this.#backgroundError ??= error
    })
  }

  /** Prepares the commit that ends this execution. */
  prepareFinalCommit(): PreparedCommit {
    return this.#uncommitted.prepareFinalCommit()
  }

  /** Commits everything uncommitted with the record of an active hook, so that a replay finds it when it reaches that hook. */
  async commitPending(hookId = this.#scheduler.first): Promise<void> {
    if (hookId === undefined || this.#uncommitted.isEmpty) return
    await this.#commit([], () => {
      const hook = this.#scheduler.hookOf(hookId)
      if (hook === undefined || this.#uncommitted.isEmpty) return undefined
      const { asked = [], askedAfter } = this.replay.resultOf(hookId) ?? {}
      const result = { asked, ...(askedAfter !== undefined && { askedAfter }), ...this.#concurrencyMark() }
      return { hookId, hook, result }
    })
  }

  /** Commits entries and a record together with everything uncommitted, and adds the records to the replay. */
  async #commit(entries: readonly BatchItem[], createRecord: () => HookRecord | undefined): Promise<void> {
    await this.work.commitLock.run(async () => {
      for (;;) {
        // The code finishes its section first: what it does after it has set a value would be skipped on replay, but not be in the log.
        if (this.replay.section.isUnrecorded) await new Promise(resolve => setImmediate(resolve))
        this.work.signal.throwIfAborted()
        this.signal.throwIfAborted()
        // No await between here and the commit: what is emitted later is not part of it.
        const record = createRecord()
        if (record === undefined) return
        const prepared = this.#uncommitted.prepareCommit(record, this.replay.resultOf(record.hookId)?.shown)
        const checkpoint = { chunk: checkpointOf(this.lane, false, commitSuffix(record)), lane: this.lane }
        const { outcome } = await this.lane.commit([...entries, ...prepared.entries, checkpoint])
        if (outcome === 'moved') continue
        const hookRecords = entries.flatMap(({ chunk }) =>
          chunk.type === 'hook-completed' ? [parseHookRecord(chunk)] : [],
        )
        for (const added of [...hookRecords, ...prepared.records]) this.replay.add(added)
        // A commit without entries of the hook is made while the hook runs, and does not contain its usage.
        if (entries.length > 0) this.usage.markCommitted(record.hookId)
        return prepared.onCommitted()
      }
    })
  }

  async #runLive(
    hookId: string,
    hook: string,
    recorded: HookResult | undefined,
    live: (call: HookCall) => Promise<HookOutcome>,
    telemetry: AgentTelemetry,
    order: AnswerOrder,
  ): Promise<Json | undefined> {
    const { work } = this
    const { origin } = this.lane
    const lane = work.writer.lane({ ...origin, lane: `${origin.lane}/${localHookId(hookId)}` })
    this.#lanes.set(hookId, lane)
    const call: HookCall = {
      hookId,
      execution: this,
      lane,
      signal: this.signal,
      telemetry,
      recorded,
      commitPending: () => this.commitPending(hookId),
      commit: (entries, result) =>
        this.#commit(entries, () => ({ hookId, hook, result: { ...result, ...this.#concurrencyMark() } })),
      park: (on, until) => this.#park(hookId, on, until),
      handOver: () => this.#handOver(hookId),
      trackWrite: write => this.#trackWrite(write),
    }
    try {
      const { value, entries = [] } = await live(call)
      if (this.signal.aborted) return await never()
      await this.#commit(entries, () => {
        order.place ??= this.#scheduler.reservePlace()
        const result = { ...(value !== undefined && { value }), place: order.place, ...this.#concurrencyMark() }
        return { hookId, hook, result }
      })
      // The run's usage includes the hook's usage from here on.
      if (entries.length > 0) await work.session.current()
      // A copy, because the caller may change it.
      return this.signal.aborted ? await never() : structuredClone(value)
    } catch (error) {
      if (this.signal.aborted || work.signal.aborted) return await never()
      const failure = toHookError(error, hook)
      if (failure instanceof LogError) return await this.#failOnLogError(failure)
      work.logger.warn('a hook failed', { runId: work.runId, hookId, cause: error })
      // If the code catches the error, the next commit records it. This record replaces the hook's earlier one and takes over its counts.
      const { shown } = this.replay.resultOf(hookId) ?? {}
      const recordedError = serializeHookError(failure, this.replay.failures)
      order.place ??= this.#scheduler.reservePlace()
      this.#uncommitted.addRecord({
        hookId,
        hook,
        result: { error: recordedError, place: order.place, ...this.#concurrencyMark(), ...(shown && { shown }) },
      })
      throw restoreHookError(recordedError, failure.cause)
    }
  }

  /** Fails the execution. The node's code never sees a log error, so it cannot catch it and continue. */
  #failOnLogError(failure: LogError): Promise<never> {
    this.#logFailure.reject(failure)
    return never()
  }

  /** Marks a result if other hooks are or were active: their order may differ on replay. `ownCount` is 1 if the hook itself is active. */
  #concurrencyMark(ownCount = 1): Pick<HookResult, 'beside'> {
    return this.#scheduler.size > ownCount || this.#scheduler.wereConcurrent ? { beside: true } : {}
  }

  async #park(hookId: string, on: readonly string[], until: number): Promise<void> {
    this.#scheduler.park(hookId, { on, until })
    await waitForTicketChange(this.work, until, this.signal)
    if (this.signal.aborted) return never()
    this.#scheduler.unpark(hookId)
    await this.work.session.catchUp()
  }

  #handOver(hookId: string): Promise<never> {
    this.#scheduler.park(hookId, 'handed-over')
    return never()
  }

  #trackWrite<T>(work: Promise<T>): Promise<T> {
    this.#writes.add(work)
    work.catch(() => {}).finally(() => this.#writes.delete(work))
    return work
  }

  #checkOpen(): void {
    if (!this.signal.aborted) return
    throw new ValidationError(`a hook of node ${this.at.node} was called after the node had ended`)
  }
}

/** The recorded value of a hook. Throws the recorded error. */
function recordedValue({ error, value }: HookResult): Json | undefined {
  if (error) throw restoreHookError(error)
  return value
}
