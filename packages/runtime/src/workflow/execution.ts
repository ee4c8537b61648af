// One try at one execution of a node: its code runs, and each hook that it calls is answered from the log or done and committed. What it says meanwhile is
// numbered, so that code which starts again says nothing twice.

import { AsyncLocalStorage } from 'node:async_hooks'
import { type Lane, LogError, type Said } from '@millrace/log'
import type { Chunk, Json, StructuredDataChunk } from '@millrace/protocol'
import { keyOf } from '../agent/key.ts'
import { checkpointId, type Working } from '../agent/work.ts'
import type { ErrorCode } from '../error/code.ts'
import { MillraceError, ValidationError } from '../error/error.ts'
import { excerpt, refusalOf } from '../model/room.ts'
import type { At } from './position.ts'
import { type Given, type HookRecord, recordOf } from './record.ts'
import { type Change, stateOf, type Update, type WorkflowState } from './state.ts'
import type { Streams } from './streams.ts'

/** A hook at work. */
export interface Call {
  readonly hookId: string
  readonly execution: Execution
  /** The hook's own line of work: what waits there waits for itself alone. */
  readonly lane: Lane
  readonly signal: AbortSignal
  /** What the log holds of it, if it was begun before. */
  readonly begun: Given | undefined
  /** Commits what belongs to the hook while it is not done. */
  commit(said: readonly Said[], given: Given): Promise<void>
  /** Waits until somebody may have answered, or the time is over: as long as nobody has, the node can do without this process. */
  park(on: readonly string[], until: number): Promise<void>
  /** Waits for ever: another process is to go on. */
  leave(): Promise<never>
  /** Writes on the hook's lane until it is done or told to stop: nothing is taken back before that. */
  write<T>(work: Promise<T>): Promise<T>
}

/** What comes of a hook, and what its commit says beside. */
export interface Came {
  readonly value: Json | undefined
  readonly said?: readonly Said[]
}

/** Why a hook does not go on here. */
type Parked = { readonly on: readonly string[]; readonly until: number } | 'left'

export interface ExecutionSettings {
  readonly work: Working
  readonly at: At
  readonly lane: Lane
  readonly state: WorkflowState
  readonly streams: Streams
  /** What stands before the names of all records of this workflow in its run. */
  readonly scope: string
  /** What the log holds of this execution, by hook; what is committed is added. */
  readonly records: Map<string, HookRecord>
  /** Called when a hook begins, waits, goes on or ends. */
  onChange(): void
}

/** The execution that code runs in. */
const running = new AsyncLocalStorage<Execution | undefined>()

/** The execution that a hook is called in; throws where it is called elsewhere. */
export function executionOf(hook: string): Execution {
  const execution = running.getStore()
  if (execution) return execution
  throw new ValidationError(`${hook}: expected to be called while a node runs, not in a tool, a step, or after its end`)
}

/** Runs code in which hooks are refused: it may run more often, or elsewhere, than the node that it works for. */
export const withoutHooks = <T>(code: () => T): T => running.run(undefined, code)

/** Why what is left of a node is let go. */
export const OVER = new MillraceError('internal_error', 'the node is not at work any more')

const never = (): Promise<never> => new Promise(() => {})

export class Execution {
  readonly work: Working
  readonly at: At
  readonly lane: Lane
  readonly scope: string
  readonly #settings: ExecutionSettings
  readonly #controller = new AbortController()
  /** How often each name was used. */
  readonly #uses = new Map<string, number>()
  readonly #asked = new Set<string>()
  readonly #flights = new Map<string, Parked | undefined>()
  readonly #lanes = new Set<Lane>()
  /** What writes on lanes of hooks, and stops when it is told to. */
  readonly #writing = new Set<Promise<unknown>>()
  /** What was given at once, and no commit holds yet. */
  #given: HookRecord[] = []
  #changes: Change[] = []
  #emitted = 0
  /** As many emissions are in the log. */
  readonly #counted: number
  readonly #texts = new Set<string>()
  readonly #streamIds = new Set<string>()
  #unnamed: string | undefined
  #trouble: unknown

  constructor(settings: ExecutionSettings) {
    const { work, at, lane, scope, records } = settings
    this.#settings = settings
    this.work = work
    this.at = at
    this.lane = lane
    this.scope = scope
    this.#counted = Math.max(0, ...[...records.values()].map(({ emissions = 0 }) => emissions))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Whether it has hooks under way that all wait. */
  get isParked(): boolean {
    return this.#flights.size > 0 && [...this.#flights.values()].every(parked => parked !== undefined)
  }

  /** What it waits for. */
  get parked(): readonly Parked[] {
    return [...this.#flights.values()].filter(parked => parked !== undefined)
  }

  /** Runs the code of the node; throws what it throws, and where it did not ask for what the log says it was given. */
  async run<T>(code: () => T | PromiseLike<T>): Promise<T> {
    const result = await running.run(this, async () => code())
    if (this.#trouble !== undefined) throw this.#trouble
    const [flying] = this.#flights.keys()
    if (flying !== undefined) {
      throw new ValidationError(`node ${this.at.node} ended while ${flying} was under way: await every hook`)
    }
    const [left] = this.#unasked()
    if (left) throw this.#changed(`it ended without ${left.hookId}, which it was given before`)
    return result
  }

  /** Nothing of it goes on: what its hooks give reaches nobody. */
  close(reason: unknown): void {
    this.#controller.abort(reason)
  }

  /** Takes back what it has said and changed since its last commit; nothing of it goes on. */
  async takeBack({ code }: MillraceError): Promise<void> {
    this.close(OVER)
    this.#changes = []
    await Promise.allSettled(this.#writing)
    for (const streamId of this.#streamIds) this.#settings.streams.forget(streamId)
    for (const lane of [...this.#lanes, this.lane]) await lane.discard({ reason: code, attempt: this.#failures + 1 })
  }

  /** What a hook gives: what the log holds, or what comes of it now. */
  async call(hook: string, id: string | undefined, live: (call: Call) => Promise<Came>): Promise<Json | undefined> {
    // Who is left of a node that has ended gets no answer, and does no harm.
    if (this.signal.aborted) return never()
    const hookId = this.#identify(hook, id)
    const known = this.#take(hookId, hook)
    if (known && known.given.asked === undefined) {
      const { error, value } = known.given
      if (error) throw new MillraceError(error.code as ErrorCode, error.message)
      return structuredClone(value)
    }
    if (known === undefined) this.#mustBeNext(hookId)
    if (id === undefined) this.#unnamed = hookId
    this.#fly(hookId, undefined)
    try {
      const { work } = this
      if (work.leaving.aborted && known === undefined) return await this.#park(hookId, 'left')
      return await this.#live(hookId, hook, known?.given, live)
    } finally {
      if (this.#unnamed === hookId) this.#unnamed = undefined
      this.#flights.delete(hookId)
      this.#settings.onChange()
    }
  }

  /** What a hook gives that cannot wait: what the log holds, or what it finds now, which the next commit keeps. */
  now(hook: string, id: string | undefined, find: () => Json | undefined): Json | undefined {
    const hookId = this.#identify(hook, id, true)
    const known = this.#take(hookId, hook)
    if (known) return structuredClone(known.given.value)
    this.#mustBeNext(hookId)
    const value = find()
    this.#given.push({ hookId, hook, given: { ...(value !== undefined && { value }) } })
    return value
  }

  /** Shows something, once: not where the log holds it from before. */
  emit(chunk: Chunk): PromiseLike<void> {
    this.#mustBeOpen()
    this.#emitted++
    if (this.#emitted <= this.#counted) return Promise.resolve()
    return this.lane.write(chunk)
  }

  /** As `emit`, for an update of a structured object, which has to fit. */
  emitStructured(chunk: StructuredDataChunk, what: string): PromiseLike<void> {
    this.#mustBeOpen()
    if (this.#emitted >= this.#counted) {
      this.#settings.streams.write(chunk, what)
      this.#streamIds.add(chunk.streamId)
    }
    return this.emit(chunk)
  }

  /** Changes the state, with the next commit. */
  change(key: string, update: Update): void {
    this.#mustBeOpen()
    const checked = typeof update === 'function' ? update : stateOf(key, update)
    this.#emitted++
    if (this.#emitted > this.#counted) this.#changes.push({ key, update: checked })
  }

  read(key: string): Json | undefined {
    return this.#settings.state.read(key, this.#changes)
  }

  /** Takes down a record that another commit than its own keeps: of a part of what a hook does. */
  note(record: HookRecord): void {
    this.#settings.records.set(record.hookId, record)
  }

  /** What the log holds of the parts of what a hook does, by how their names begin. */
  partsOf(prefix: string): readonly Given[] {
    const own = [...this.#settings.records.values()].filter(({ hookId }) => hookId.startsWith(prefix))
    return own.map(({ given }) => given)
  }

  /** How often something of a kind was asked for before, in this try. */
  place(kind: string): number {
    return this.#uses.get(kind) ?? 0
  }

  /** Which of the run's workflows it is in. */
  get leg(): string {
    return this.at.execution.split('.', 1)[0] as string
  }

  /** The name of something that is the same whenever the code comes to it. */
  nameOf(kind: string, id?: string): string {
    return this.#identify(kind, id, true)
  }

  /** Notes a text that was shown, and tells whether it was before. */
  hasSaid(text: string): boolean {
    return this.#texts.has(text.trim())
  }

  noteText(text: string): void {
    this.#texts.add(text.trim())
  }

  /** What no caller waits for: its failure is the node's. */
  mind(work: PromiseLike<unknown>): void {
    work.then(undefined, error => {
      this.#trouble ??= error
    })
  }

  /** Commits with all that was said and changed so far; the records are kept for who starts again. */
  async commit(said: () => readonly Said[], record?: HookRecord): Promise<void> {
    await this.work.turn(async () => {
      for (;;) {
        this.#mustGoOn()
        const { batch, taken } = this.#batch(said(), record)
        try {
          const done = await this.lane.commit(batch)
          if (done.outcome === 'moved') continue
        } catch (error) {
          throw tooLarge(error, record)
        }
        return taken()
      }
    })
  }

  /** The changes of state that the end of the execution keeps, as they are by then; called when its commit is built. */
  leftChanges(): readonly Said[] {
    return this.#stateRecords(this.#settings.state.after(this.#changes))
  }

  /** Takes down that the changes are in the log. */
  keepChanges(): void {
    for (const [key, value] of this.#settings.state.after(this.#changes)) this.#settings.state.set(key, value)
    this.#changes = []
  }

  #batch(said: readonly Said[], record: HookRecord | undefined): { batch: readonly Said[]; taken: () => void } {
    const { state, records } = this.#settings
    const given = [...this.#given]
    const changes = [...this.#changes]
    const values = state.after(changes)
    const emissions = Math.max(this.#emitted, this.#counted)
    const kept = [...given, ...(record ? [record] : [])].map(one => ({ ...one, emissions }))
    const batch = [
      ...said,
      ...kept.map(one => recordOf(one, this.lane)),
      ...this.#stateRecords(values),
      { chunk: sealOf(this.lane), lane: this.lane },
    ]
    const taken = () => {
      for (const one of kept) records.set(one.hookId, one)
      for (const [key, value] of values) state.set(key, value)
      this.#given = this.#given.slice(given.length)
      this.#changes = this.#changes.slice(changes.length)
    }
    return { batch, taken }
  }

  #stateRecords(values: ReadonlyMap<string, Json | undefined>): Said[] {
    return [...values].map(([key, value]) =>
      recordOf(
        { hookId: stateIdOf(this.scope, key), hook: 'state', given: { ...(value !== undefined && { value }) } },
        this.lane,
      ),
    )
  }

  async #live(
    hookId: string,
    hook: string,
    begun: Given | undefined,
    live: (call: Call) => Promise<Came>,
  ): Promise<Json | undefined> {
    const { work } = this
    const { origin } = this.lane
    const lane = work.writer.lane({ ...origin, lane: `${origin.lane}/${hookId.slice(hookId.indexOf('/') + 1)}` })
    this.#lanes.add(lane)
    const beside = () => (this.#flights.size > 1 ? ({ beside: true } as const) : {})
    const call: Call = {
      hookId,
      execution: this,
      lane,
      signal: this.signal,
      begun,
      commit: (said, given) => this.commit(() => said, { hookId, hook, given: { ...given, ...beside() } }),
      park: (on, until) => this.#wait(hookId, on, until),
      leave: () => this.#park(hookId, 'left'),
      write: work => this.#hold(work),
    }
    try {
      const { value, said = [] } = await live(call)
      if (this.signal.aborted) return await never()
      await this.commit(() => said, { hookId, hook, given: { ...(value !== undefined && { value }), ...beside() } })
      if (this.signal.aborted) return await never()
      // Who is given it may write into it; what is kept is what it was.
      return structuredClone(value)
    } catch (error) {
      if (this.signal.aborted) return await never()
      work.signal.throwIfAborted()
      if (error instanceof LogError) throw error
      // Where the code goes on in spite of it, the next commit says so.
      work.logger.warn('a hook failed', { runId: work.runId, hookId, cause: error })
      this.#given.push({ hookId, hook, given: { error: errorOf(error, this.#failures), ...beside() } })
      throw error
    }
  }

  async #wait(hookId: string, on: readonly string[], until: number): Promise<void> {
    const { moved, timers, clock, session } = this.work
    const { count } = moved
    this.#fly(hookId, { on, until })
    let cancel: (() => void) | undefined
    const late = Number.isFinite(until)
      ? [
          new Promise<void>(
            resolve => (cancel = timers.after(Math.min(Math.max(until - clock(), 1), 2 ** 31 - 1), resolve, true)),
          ),
        ]
      : []
    try {
      await Promise.race([moved.after(count), ...late])
    } finally {
      cancel?.()
    }
    if (this.signal.aborted) return never()
    this.#fly(hookId, undefined)
    await session.catchUp()
  }

  #hold<T>(work: Promise<T>): Promise<T> {
    this.#writing.add(work)
    work.catch(() => {}).finally(() => this.#writing.delete(work))
    return work
  }

  #park(hookId: string, parked: Parked): Promise<never> {
    this.#fly(hookId, parked)
    return never()
  }

  #fly(hookId: string, parked: Parked | undefined): void {
    this.#flights.set(hookId, parked)
    this.#settings.onChange()
  }

  /** The name of a hook in its run: the execution, its id or its place among those without one, and how often that was used. */
  #identify(hook: string, id: string | undefined, isAtOnce = false): string {
    this.#mustBeOpen()
    if (id !== undefined && !(typeof id === 'string' && id.length > 0 && id.length <= LONGEST_ID)) {
      throw new ValidationError(`${hook}: id: expected text of 1 to ${LONGEST_ID} characters`)
    }
    if (!isAtOnce && this.#flights.size > 0 && (id === undefined || this.#unnamed !== undefined)) {
      throw new ValidationError(
        `${hook}: another hook of node ${this.at.node} is under way: give both an id, so that they are told apart when the node starts again`,
      )
    }
    const name = id === undefined ? (isAtOnce ? hook : '@') : `${hook}:${keyOf(id)}`
    const use = (this.#uses.get(name) ?? 0) + 1
    this.#uses.set(name, use)
    return `${this.scope}${this.at.execution}/${name}.${use}`
  }

  #take(hookId: string, hook: string): HookRecord | undefined {
    const known = this.#settings.records.get(hookId)
    this.#asked.add(hookId)
    // What failed in a try before this one is tried again.
    if (known === undefined || (known.given.error && known.given.error.failures < this.#failures)) return undefined
    if (known.hook !== hook) throw this.#changed(`it calls ${hook} where it called ${known.hook} before`)
    return known
  }

  /** What the log holds was asked for before this: unless hooks were under way side by side, this one was not there. */
  #mustBeNext(hookId: string): void {
    const left = this.#unasked()
    if (left.length > 0 && left.every(({ given }) => given.beside === undefined)) {
      throw this.#changed(`it calls ${hookId} before ${left[0]?.hookId}, which it was given before`)
    }
  }

  /** What the log holds and the code has not asked for. */
  #unasked(): readonly HookRecord[] {
    // A try after one that failed may go another way.
    if (this.#failures > 0) return []
    return [...this.#settings.records.values()].filter(({ hookId }) => !this.#asked.has(hookId) && !isPart(hookId))
  }

  get #failures(): number {
    return this.at.failures ?? 0
  }

  #changed(how: string): MillraceError {
    return new MillraceError(
      'workflow_changed',
      `the code of node ${this.at.node} is not what it was when the run came there: ${how}. Give the workflow another version, and say in migrate how such runs go on`,
    )
  }

  #mustBeOpen(): void {
    if (!this.signal.aborted) return
    throw new ValidationError(`a hook of node ${this.at.node} was called after the node had ended`)
  }

  #mustGoOn(): void {
    this.work.signal.throwIfAborted()
    this.signal.throwIfAborted()
  }
}

/** The longest id of a hook: it is in the name of its lane, and in those of the calls below. */
export const LONGEST_ID = 64

/** The record of a value of the state. */
export const stateIdOf = (scope: string, key: string): string => `${scope}state/${keyOf(key)}`

/** Whether a record is about a part of what a hook does, and not asked for by the code of a node. */
const isPart = (hookId: string): boolean => hookId.split('/').length > 2

/** The end of a commit within the execution of a node. */
export const sealOf = ({ origin }: Lane, closesStep = false): Chunk => ({
  type: 'checkpoint-created',
  checkpointId: checkpointId(origin, origin.step, closesStep),
  stepCount: origin.step,
  closesStep,
})

/** Why a hook failed, as it is kept: no reader sees it. */
function errorOf(error: unknown, failures: number): NonNullable<Given['error']> {
  const { code, message } = MillraceError.isInstance(error)
    ? error
    : { code: 'hook_failed', message: error instanceof Error ? error.message : String(error) }
  return { code, message: excerpt(message), failures }
}

function tooLarge(error: unknown, record: HookRecord | undefined): unknown {
  if (refusalOf(error) !== 'too-large') return error
  const what = record ? `what ${record.hook} gives` : 'what the node says'
  return new MillraceError(
    'hook_result_too_large',
    `${what} is larger than the log takes: return less, or a reference`,
    { cause: error },
  )
}
