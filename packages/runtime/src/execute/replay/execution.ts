// One try at one execution of a node: its code runs, and each hook that it calls is answered from the log, or done and committed.

import { type BatchItem, type Lane, LogError } from '@millrace/log'
import type { Chunk, Json, StructuredDataChunk } from '@millrace/protocol'
import type { Agent } from '../../define/agent.ts'
import { MillraceError, ValidationError } from '../../error/error.ts'
import type { AgentTelemetry } from '../../telemetry/agent-span.ts'
import type { ProgramExecution } from '../program-execution.ts'
import type { Came, HookCall } from './call.ts'
import { Flights, type Parked } from './flights.ts'
import { Gate } from './gate.ts'
import { errorKept, errorRestored, failureOf } from './hook-failure.ts'
import type { At } from './position.ts'
import { type HookRecord, type HookResult, recordIn } from './record.ts'
import { Replay } from './replay.ts'
import { isRunning, running } from './running.ts'
import { markOf, pieceOf, sealOf } from './seal.ts'
import { Spent } from './spent.ts'
import type { WorkflowState, WorkflowStateUpdate } from './state.ts'
import type { Streams } from './streams.ts'
import { type Keeping, Unkept } from './unkept.ts'
import { movedOrLate } from './wait.ts'

export interface ExecutionSettings {
  readonly work: ProgramExecution
  readonly at: At
  readonly lane: Lane
  readonly state: WorkflowState
  readonly streams: Streams
  /** To whom it is told what the node does. */
  readonly telemetry: AgentTelemetry
  /** What stands before the names of all records of this workflow in its run. */
  readonly scope: string
  /** The run by whose name its effects go. */
  readonly keys: string
  /** What the log holds of this execution, by hook; what is committed is added. */
  readonly records: Map<string, HookRecord>
  /** Called when a hook begins, waits, goes on or ends. */
  onChange(): void
}

/** Where a hook is in the order of answers, once it is. */
interface Order {
  place?: number | undefined
}

/** Why what is left of a node is let go. */
export const OVER = new MillraceError('internal_error', 'the node is not at work any more')

const never = (): Promise<never> => new Promise(() => {})

export class NodeExecution {
  readonly work: ProgramExecution
  readonly at: At
  readonly lane: Lane
  /** The run by whose name its effects go: one before its own, where what was cut off there is done again. */
  readonly keys: string
  readonly replay: Replay
  readonly telemetry: AgentTelemetry
  readonly #gate: Gate
  readonly #unkept: Unkept
  readonly #flights: Flights
  readonly #controller = new AbortController()
  readonly spent = new Spent()
  readonly #lanes = new Map<string, Lane>()
  /** What writes on lanes of hooks, and stops when it is told to. */
  readonly #writing = new Set<Promise<unknown>>()
  /** Texts that were shown. */
  readonly #texts = new Set<string>()
  #slots = 0
  #trouble: unknown
  readonly #broken = Promise.withResolvers<never>()

  constructor(settings: ExecutionSettings) {
    const { work, at, lane, scope, keys, records, telemetry, onChange } = settings
    this.work = work
    this.telemetry = telemetry
    this.at = at
    this.lane = lane
    this.keys = keys
    this.replay = new Replay(at, scope, records)
    this.#gate = new Gate(this.replay.lastPlace)
    this.#unkept = new Unkept({
      ...settings,
      counted: this.replay.shown,
      isRetry: this.replay.failures > 0,
    })
    this.#flights = new Flights(onChange)
    this.#broken.promise.catch(() => {})
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Whether it has hooks under way that all wait. */
  get isParked(): boolean {
    return this.#flights.areParked
  }

  /** What it waits for. */
  get parked(): readonly Parked[] {
    return this.#flights.parked
  }

  /** Which of the run's workflows it is in. */
  get leg(): string {
    return this.at.execution.split('.', 1)[0] as string
  }

  /** Runs the code of the node; throws what it throws, and where it did not ask for what the log says it was given. */
  async run<T>(code: () => T | PromiseLike<T>): Promise<T> {
    const result = await Promise.race([running(this, async () => code()), this.#broken.promise])
    if (this.#trouble !== undefined) throw this.#trouble
    const { first } = this.#flights
    if (first !== undefined) {
      throw new ValidationError(`node ${this.at.node} ended while ${first} was under way: await every hook`)
    }
    this.replay.mustBeAtItsEnd()
    return result
  }

  /** Nothing of it goes on: what its hooks give reaches nobody. */
  close(reason: unknown): void {
    this.#controller.abort(reason)
  }

  /** Takes back what it has said and changed since its last commit; nothing of it goes on. */
  async takeBack({ code }: MillraceError): Promise<void> {
    this.close(OVER)
    await Promise.allSettled(this.#writing)
    this.#unkept.drop()
    const attempt = this.replay.failures + 1
    // What was on its way when it was told to stop is in the log by then.
    await this.work.turn(async () => {})
    for (const [hookId, lane] of this.#lanes) await this.spent.discard(hookId, lane, { reason: code, attempt })
    await this.lane.discard({ reason: code, attempt })
  }

  /** What a hook gives: what the log holds, or what comes of it now. */
  async call(
    hook: string,
    id: string | undefined,
    live: (call: HookCall) => Promise<Came>,
    agent?: Agent,
  ): Promise<Json | undefined> {
    // Who is left of a node that has ended gets no answer, and does no harm.
    if (this.signal.aborted) return never()
    if (!this.#flights.admits(id)) {
      throw new ValidationError(
        `${hook}: another hook of node ${this.at.node} is under way: give both an id, so that they are told apart when the node starts again`,
      )
    }
    const hookId = this.replay.identify(hook, id, '@')
    if (this.#flights.has(hookId)) {
      throw new ValidationError(
        `${hook}: another by the id ${id} is under way in node ${this.at.node}: give each its own`,
      )
    }
    const known = this.replay.take(hookId, hook)?.given
    const order: Order = { place: known?.place }
    this.#flights.begin(hookId, hook, id !== undefined)
    try {
      if (known && known.asked === undefined) return structuredClone(givenBy(known))
      if (this.work.handover.aborted && known === undefined) return await this.#leave(hookId)
      const told = this.telemetry.hook({ hook, id, agent })
      return await this.#told(told, () => this.#live(hookId, hook, known, live, told, order))
    } finally {
      await this.#gate.pass(order.place ?? this.#gate.take())
      // Who is left of a node that has ended is answered by nobody.
      if (this.signal.aborted) await never()
      this.#flights.end(hookId)
    }
  }

  async #told<T>(told: AgentTelemetry, work: () => Promise<T>): Promise<T> {
    try {
      const value = await told.within(work)
      told.end('completed')
      return value
    } catch (error) {
      told.end('failed', error)
      throw error
    }
  }

  /** What a hook gives that cannot wait: what the log holds, or what it finds now, which the next commit keeps. */
  now(hook: string, id: string | undefined, find: () => Json | undefined): Json | undefined {
    this.#mustBeOpen()
    const hookId = this.replay.identify(hook, id, hook)
    const known = this.replay.take(hookId, hook)
    if (known) return structuredClone(known.given.value)
    const value = find()
    const given = { ...(value !== undefined && { value }), ...this.#beside(0) }
    this.#unkept.add({ hookId, hook, given })
    // Who is given it may write into it before the commit.
    return structuredClone(value)
  }

  /** Shows something, once: not where the log holds it from before. */
  emit(chunk: Chunk): PromiseLike<void> {
    this.#mustBeOpen()
    return this.#unkept.emit(chunk)
  }

  /** As `emit`, for an update of a structured object, which has to fit. */
  emitStructured(chunk: StructuredDataChunk, what: string): PromiseLike<void> {
    this.#mustBeOpen()
    return this.#unkept.emitStructured(chunk, what)
  }

  /** Changes the state, with the next commit. */
  change(key: string, update: WorkflowStateUpdate): void {
    this.#mustBeOpen()
    if (!isRunning(this)) {
      const why = 'what a tool or a step does is not done again when the node starts again'
      throw new ValidationError(`state of node ${this.at.node}: set it where the node's own code runs: ${why}`)
    }
    this.#unkept.change(key, update)
  }

  /** A value of the state, with the changes of this execution. */
  read(key: string): Json | undefined {
    return this.#unkept.read(key)
  }

  /** The name of something that is the same whenever the code comes to it. */
  nameOf(kind: string): string {
    this.#mustBeOpen()
    return this.replay.identify(kind, undefined, kind)
  }

  /** The place of a call among those of the node that have no id; throws where that may be another when the node starts again. */
  slotOf(hook: string): number {
    this.#mustBeOpen()
    if (!this.#flights.admits(undefined)) {
      throw new ValidationError(`${hook}: other hooks of node ${this.at.node} are under way: call it before them`)
    }
    return this.#slots++
  }

  /** Whether a text was shown. */
  hasSaid(text: string): boolean {
    return this.#texts.has(text.trim())
  }

  noteText(text: string): void {
    this.#texts.add(text.trim())
  }

  /** What no caller may wait for: its failure is the node's. */
  mind(work: PromiseLike<unknown>): void {
    work.then(undefined, error => {
      this.#trouble ??= error
    })
  }

  /** What the commit of its end keeps of it. */
  keepingLast(): Keeping {
    return this.#unkept.keepingLast()
  }

  /** Commits what no commit holds yet, by the record of a hook that is under way: who starts again has it when the code comes there. */
  async keep(hookId = this.#flights.first): Promise<void> {
    if (hookId === undefined || this.#unkept.isEmpty) return
    await this.#commit([], () => {
      const hook = this.#flights.hookOf(hookId)
      if (hook === undefined || this.#unkept.isEmpty) return undefined
      const { asked = [], askedAfter } = this.replay.knownOf(hookId) ?? {}
      const begun = { asked, ...(askedAfter !== undefined && { askedAfter }), ...this.#beside() }
      return { hookId, hook, given: begun }
    })
  }

  /** Commits with all that was said and changed so far; the records are kept for who starts again. */
  async #commit(said: readonly BatchItem[], record: () => HookRecord | undefined): Promise<void> {
    await this.work.turn(async () => {
      for (;;) {
        this.work.signal.throwIfAborted()
        this.signal.throwIfAborted()
        // Taken together with the commit's place in the queue: what is said from here on is not in it.
        const own = record()
        if (own === undefined) return
        const { said: kept, records, kept: done } = this.#unkept.keeping(own, this.replay.knownOf(own.hookId)?.shown)
        const seal = { chunk: sealOf(this.lane, false, markOf(own)), lane: this.lane }
        const { outcome } = await this.lane.commit([...said, ...kept, seal])
        if (outcome === 'moved') continue
        const beside = said.flatMap(({ chunk }) => (chunk.type === 'hook-completed' ? [recordIn(chunk)] : []))
        for (const one of [...beside, ...records]) this.replay.note(one)
        // Where it says nothing of the hook it is made while that is at work.
        if (said.length > 0) this.spent.said(own.hookId)
        return done()
      }
    })
  }

  async #live(
    hookId: string,
    hook: string,
    begun: HookResult | undefined,
    live: (call: HookCall) => Promise<Came>,
    telemetry: AgentTelemetry,
    order: Order,
  ): Promise<Json | undefined> {
    const { work } = this
    const { origin } = this.lane
    const lane = work.writer.lane({ ...origin, lane: `${origin.lane}/${pieceOf(hookId)}` })
    this.#lanes.set(hookId, lane)
    const commit = (said: readonly BatchItem[], given: HookResult) =>
      this.#commit(said, () => ({ hookId, hook, given: { ...given, ...this.#beside() } }))
    const call: HookCall = {
      hookId,
      execution: this,
      lane,
      signal: this.signal,
      telemetry,
      begun,
      keep: () => this.keep(hookId),
      commit,
      park: (on, until) => this.#park(hookId, on, until),
      leave: () => this.#leave(hookId),
      write: writing => this.#hold(writing),
    }
    try {
      const { value, said = [] } = await live(call)
      if (this.signal.aborted) return await never()
      await this.#commit(said, () => {
        order.place ??= this.#gate.take()
        return { hookId, hook, given: { ...(value !== undefined && { value }), place: order.place, ...this.#beside() } }
      })
      // What it used is in the run's usage from here on.
      if (said.length > 0) await work.session.refresh()
      // Who is given it may write into it; what is kept is what it was.
      return this.signal.aborted ? await never() : structuredClone(value)
    } catch (error) {
      if (this.signal.aborted || work.signal.aborted) return await never()
      const failure = failureOf(error, hook)
      if (failure instanceof LogError) return await this.#break(failure)
      work.logger.warn('a hook failed', { runId: work.runId, hookId, cause: error })
      // Where the code goes on in spite of it, the next commit says so.
      const { shown } = this.replay.knownOf(hookId) ?? {}
      // What its record had counted is counted by this one, which comes in its place.
      const kept = errorKept(failure, this.replay.failures)
      order.place ??= this.#gate.take()
      this.#unkept.add({
        hookId,
        hook,
        given: { error: kept, place: order.place, ...this.#beside(), ...(shown && { shown }) },
      })
      throw errorRestored(kept, failure.cause)
    }
  }

  /** What is wrong with the log is not for the code of a node to catch, and go on as if a hook had given nothing. */
  #break(failure: LogError): Promise<never> {
    this.#broken.reject(failure)
    return never()
  }

  /** Whether others are or were under way beside a hook, which may itself be: then what came first may come second the next time. */
  #beside(own = 1): Pick<HookResult, 'beside'> {
    return this.#flights.size > own || this.#flights.wereBeside ? { beside: true } : {}
  }

  async #park(hookId: string, on: readonly string[], until: number): Promise<void> {
    this.#flights.set(hookId, { on, until })
    await movedOrLate(this.work, until, this.signal)
    if (this.signal.aborted) return never()
    this.#flights.set(hookId, undefined)
    await this.work.session.catchUp()
  }

  #leave(hookId: string): Promise<never> {
    this.#flights.set(hookId, 'left')
    return never()
  }

  #hold<T>(work: Promise<T>): Promise<T> {
    this.#writing.add(work)
    work.catch(() => {}).finally(() => this.#writing.delete(work))
    return work
  }

  #mustBeOpen(): void {
    if (!this.signal.aborted) return
    throw new ValidationError(`a hook of node ${this.at.node} was called after the node had ended`)
  }
}

/** What the log says that a hook gave; throws what it says that it threw. */
function givenBy({ error, value }: HookResult): Json | undefined {
  if (error) throw errorRestored(error)
  return value
}
