// Answers the hooks of one execution from the log, and detects code that changed since the log was written.

import { LogError } from '@millrace/log'
import { excerpt } from '@millrace/protocol/internal'
import { BudgetError, MillraceError, ProviderError, RunError, ToolError, ValidationError } from '../../error/error.ts'
import type { ErrorCode } from '../../error/error-codes.ts'
import { logErrorCode } from '../../error/log-error-code.ts'
import { shortKeyOf } from '../../session/key.ts'
import { type HookRecord, type HookResult, isPartOfHook, isRead, sectionId } from './journal.ts'
import type { OpenExecution } from './position.ts'
import { Section } from './section.ts'

/** The maximum length of a hook's id, which is part of the names of its lane and of its tool calls. */
export const MAX_HOOK_ID_LENGTH = 64

export class Replay {
  readonly #at: OpenExecution
  /** The prefix of the ids of all hooks of the execution. */
  readonly #prefix: string
  /** By hook id. Commits add to it. */
  readonly #records: Map<string, HookRecord>
  /** How often each name was used. */
  readonly #uses = new Map<string, number>()
  /** The hooks that the code has called. */
  readonly #consumed = new Set<string>()
  /** The hooks that the log held at the start and that ran without others beside them, in recorded order. */
  readonly #sequence: readonly HookRecord[]
  readonly #sequenceIndexes: ReadonlyMap<string, number>
  /** How many of the sequence were consumed without a gap. */
  #sequenceIndex = 0
  #section: Section
  #sectionCount = 0
  /** Whether a read has returned another value than in the first execution. */
  #isChangedByState = false
  /** The first mismatch between code and log. Every later call throws it again, in case the code catches it. */
  #mismatch: MillraceError | undefined

  constructor(at: OpenExecution, scope: string, records: Map<string, HookRecord>) {
    this.#at = at
    this.#prefix = `${scope}${at.execution}/`
    this.#records = records
    this.#sequence = [...records.values()].filter(
      ({ hookId, result }) => result.beside === undefined && !isPartOfHook(hookId),
    )
    this.#sequenceIndexes = new Map(this.#sequence.map(({ hookId }, index) => [hookId, index]))
    this.#section = this.#nextSection()
  }

  /** The work of the code until a hook is answered. */
  get section(): Section {
    return this.#section
  }

  /** How many emissions of the execution are in the log, by subject. */
  get emissionCounts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const { result } of this.#records.values()) {
      for (const [subject, count] of Object.entries(result.shown ?? {})) {
        counts.set(subject, Math.max(count, counts.get(subject) ?? 0))
      }
    }
    return counts
  }

  /** The last recorded place in the order of answers. */
  get lastPlace(): number {
    return Math.max(0, ...[...this.#records.values()].map(({ result }) => result.place ?? 0))
  }

  /** How often the execution has failed before. */
  get failures(): number {
    return this.#at.failures ?? 0
  }

  /** The last interrupt of each hook that is not completed. */
  get openQuestions(): readonly string[] {
    return [...this.#records.values()].flatMap(({ result }) => result.asked?.slice(-1) ?? [])
  }

  /** The id of a hook in its run: the execution, the caller's id, and how often that name was used. */
  identify(hook: string, id: string | undefined, unnamed = '@'): string {
    if (id !== undefined && !(typeof id === 'string' && id.length > 0 && id.length <= MAX_HOOK_ID_LENGTH)) {
      throw new ValidationError(`${hook}: id: expected text of 1 to ${MAX_HOOK_ID_LENGTH} characters`)
    }
    const name = id === undefined ? unnamed : `${hook}:${shortKeyOf(id, MAX_HOOK_ID_LENGTH)}`
    const use = this.usesOf(name) + 1
    this.#uses.set(name, use)
    return this.#idOf(name, use)
  }

  /** The id of a read or an object, which code that starts again may skip. */
  identifyInSection(hook: string, id?: string): string {
    const hookId = this.identify(hook, id, hook)
    this.#section.names.add(hookId.slice(this.#prefix.length, hookId.lastIndexOf('.')))
    return hookId
  }

  /** How often a name was used. */
  usesOf(name: string): number {
    return this.#uses.get(name) ?? 0
  }

  /**
   * The record of a hook that the code calls; undefined if the hook has to run.
   * @throws `workflow_changed` if the log holds another hook in its place
   */
  consume(hookId: string, hook: string): HookRecord | undefined {
    if (this.#mismatch) throw this.#mismatch
    const record = this.#records.get(hookId)
    this.#consumed.add(hookId)
    // The code that a changed read makes it skip may have reads of its own.
    const isFree = this.#section.isRepeated && isRead({ hook })
    if (record?.result.section !== undefined) {
      this.#section.repeated.add(record.result.section)
      this.#isChangedByState = true
    }
    if (isFree) return record
    // A retry runs the hooks again that failed in earlier attempts.
    if (record === undefined || (record.result.error && record.result.error.failures < this.failures)) {
      this.#checkMayRun(hookId)
      return undefined
    }
    if (record.hook !== hook)
      throw this.#changed(`it calls ${hook} where it called ${record.hook} in the first execution`)
    this.#checkOrder(record)
    return record
  }

  /**
   * Checks that the code has called every recorded hook when it ends.
   * @throws `workflow_changed` if it has not
   */
  checkComplete(): void {
    if (this.#mismatch) throw this.#mismatch
    const [first] = this.#unconsumed()
    if (first) throw this.#changed(`it ended without ${first.hookId}, which has a recorded result`)
  }

  /** Ends the section. Continues the names where the repeated code left them, because it may have skipped some. */
  endSection(): void {
    for (const name of this.#section.repeated) {
      for (const [readName, use] of Object.entries(this.#recordOf(name).uses ?? {})) this.#skip(readName, use)
    }
    this.#section = this.#nextSection()
  }

  /** The record of the current section, with how often the code has used names and written subjects. */
  sectionRecord(counts: ReadonlyMap<string, number>): HookRecord {
    const { name, names, subjects, repeated } = this.#section
    const recorded = [name, ...repeated].map(section => this.#recordOf(section))
    const uses = Object.fromEntries([...names].map(readName => [readName, this.usesOf(readName)]))
    const shown = Object.fromEntries([...subjects].map(subject => [subject, counts.get(subject) ?? 0]))
    return {
      hookId: sectionId(this.#prefix, name),
      hook: 'section',
      result: {
        uses: highestCounts([...recorded.map(result => result.uses), uses]),
        shown: highestCounts([...recorded.map(result => result.shown), shown]),
      },
    }
  }

  /** The counts of emissions and changes at the ends of the sections that the code has repeated. */
  get repeatedCounts(): readonly (readonly [subject: string, count: number])[] {
    return [...this.#section.repeated].flatMap(name => Object.entries(this.#recordOf(name).shown ?? {}))
  }

  /** Adds a committed record. */
  add(record: HookRecord): void {
    this.#records.set(record.hookId, record)
  }

  /** The recorded result of a hook. Does not consume it. */
  resultOf(hookId: string): HookResult | undefined {
    return this.#records.get(hookId)?.result
  }

  /** The recorded results of the parts of a hook: all records with this prefix. */
  resultsUnder(prefix: string): readonly HookResult[] {
    const parts = [...this.#records.values()].filter(({ hookId }) => hookId.startsWith(prefix))
    return parts.map(({ result }) => result)
  }

  /** An unrecorded hook may run only after all recorded ones were called, unless hooks ran concurrently. */
  #checkMayRun(hookId: string): void {
    const unconsumed = this.#unconsumed()
    if (unconsumed.length > 0 && unconsumed.every(({ result }) => result.beside === undefined)) {
      throw this.#changed(`it calls ${hookId} before ${unconsumed[0]?.hookId}, which has a recorded result`)
    }
  }

  /** Hooks that did not run concurrently are called in their recorded order. */
  #checkOrder({ hookId, result }: HookRecord): void {
    const isDone = (record: HookRecord) => this.#consumed.has(record.hookId) || this.#maySkip(record)
    let next = this.#sequence[this.#sequenceIndex]
    while (next && isDone(next)) next = this.#sequence[++this.#sequenceIndex]
    if (next === undefined || result.beside || this.failures > 0) return
    if ((this.#sequenceIndexes.get(hookId) ?? -1) > this.#sequenceIndex) {
      throw this.#changed(`it calls ${hookId} before ${next.hookId}, which came first in the first execution`)
    }
  }

  /** The recorded hooks that the code has not called. */
  #unconsumed(): readonly HookRecord[] {
    // A retry may take another path.
    if (this.failures > 0) return []
    return [...this.#records.values()].filter(
      record => !this.#consumed.has(record.hookId) && !isPartOfHook(record.hookId) && !this.#maySkip(record),
    )
  }

  /** Whether the code may have skipped a recorded hook because a read has returned another value. */
  #maySkip(record: HookRecord): boolean {
    return this.#section.isRepeated && isRead(record)
  }

  /** Continues a name after a number of uses. */
  #skip(name: string, uses: number): void {
    for (let use = uses; use > 0 && !this.#consumed.has(this.#idOf(name, use)); use--) {
      this.#consumed.add(this.#idOf(name, use))
    }
    this.#uses.set(name, Math.max(uses, this.usesOf(name)))
  }

  #idOf(name: string, use: number): string {
    return `${this.#prefix}${name}.${use}`
  }

  #nextSection(): Section {
    return new Section(`${this.failures}.${this.#sectionCount++}`)
  }

  /** The recorded counts of a section. */
  #recordOf(section: string): HookResult {
    return this.resultOf(sectionId(this.#prefix, section)) ?? {}
  }

  #changed(difference: string): MillraceError {
    this.#mismatch = this.changedError(difference)
    return this.#mismatch
  }

  /** The error for code that differs from its first execution. */
  changedError(difference: string): MillraceError {
    const { node } = this.#at
    const problem = this.#isChangedByState
      ? `node ${node} behaved differently when it started again: ${difference}. Its code or a state value differs: a read of state returns what the node sets before its next hook. Set the state after the hooks that depend on the earlier value. If the code changed, give`
      : `the code of node ${node} changed while the node was running: ${difference}. Give`
    return new MillraceError('workflow_changed', `${problem} the workflow a new version, and migrate such runs`)
  }
}

/** The highest count of each name. */
function highestCounts(
  all: readonly ({ readonly [name: string]: number } | undefined)[],
): Readonly<Record<string, number>> {
  const highest = new Map<string, number>()
  for (const [name, count] of all.flatMap(counts => Object.entries(counts ?? {}))) {
    highest.set(name, Math.max(count, highest.get(name) ?? 0))
  }
  return Object.fromEntries(highest)
}

type RecordedError = NonNullable<HookResult['error']>

/** Converts the error of a hook for its caller. Log errors stay as they are, except that the log refused a result as too large. */
export function toHookError(error: unknown, hook: string): MillraceError | LogError {
  if (logErrorCode(error) === 'too-large') {
    const problem = `the result of ${hook}, with the state that the node read and set before it, exceeds the size limit of the log: return less, or a reference`
    return new MillraceError('hook_result_too_large', problem, { cause: error })
  }
  if (error instanceof LogError || MillraceError.isInstance(error)) return error
  const message = error instanceof Error ? error.message : `${hook} failed`
  return new MillraceError('hook_failed', message, { cause: error })
}

/** The error classes that code may test for. */
const CLASSES = { ProviderError, ToolError, BudgetError, RunError, ValidationError }

/** Serializes the error of a hook for its record, which no reader sees. */
export function serializeHookError(failure: MillraceError, failures: number): RecordedError {
  const { code, message, retryable } = failure
  const { statusCode, retryAfterMs } = failure instanceof ProviderError ? failure : {}
  const [className] = Object.entries(CLASSES).find(([, errorClass]) => failure instanceof errorClass) ?? []
  return {
    code,
    message: excerpt(message),
    failures,
    ...(className !== undefined && { class: className }),
    ...(retryable === true && { retryable }),
    ...(statusCode !== undefined && { statusCode }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}

/** Restores a recorded error, so that code which branches on it does the same on replay. Only the first throw has a cause. */
export function restoreHookError(recorded: RecordedError, cause?: unknown): MillraceError {
  const { message, class: className, retryable = false, statusCode, retryAfterMs } = recorded
  const code = recorded.code as ErrorCode
  const options = { retryable, cause }
  switch (className) {
    case 'ProviderError':
      return new ProviderError(code, message, { ...options, statusCode, retryAfterMs })
    case 'ToolError':
      return new ToolError(message, { ...options, code })
    case 'BudgetError':
      return new BudgetError(code, message, options)
    case 'RunError':
      return new RunError(code, message, options)
    case 'ValidationError':
      return new ValidationError(message, options)
    default:
      return new MillraceError(code, message, options)
  }
}
