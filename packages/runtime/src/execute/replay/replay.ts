// Answers the hooks of one execution from the log, and detects code that changed since the log was written.

import { LogError } from '@millrace/log'
import { excerpt } from '@millrace/protocol/internal'
import { BudgetError, MillraceError, ProviderError, RunError, ToolError, ValidationError } from '../../error/error.ts'
import type { ErrorCode } from '../../error/error-codes.ts'
import { logErrorCode } from '../../error/log-error-code.ts'
import { shortKeyOf } from '../../session/key.ts'
import type { HookRecord, HookResult } from './journal.ts'
import type { OpenExecution } from './position.ts'

/** The maximum length of a hook's id, which is part of the names of its lane and of its tool calls. */
export const MAX_HOOK_ID_LENGTH = 64

export class Replay {
  readonly #at: OpenExecution
  readonly #scope: string
  /** By hook id. Commits add to it. */
  readonly #records: Map<string, HookRecord>
  /** How often each name was used. */
  readonly #uses = new Map<string, number>()
  /** The hooks that the code has called. */
  readonly #consumed = new Set<string>()
  /** The hooks that the log held at the start and that ran without others beside them, in recorded order. */
  readonly #sequence: readonly string[]
  /** How many of the sequence were consumed without a gap. */
  #sequenceIndex = 0
  /** The first mismatch between code and log. Every later call throws it again, in case the code catches it. */
  #mismatch: MillraceError | undefined

  constructor(at: OpenExecution, scope: string, records: Map<string, HookRecord>) {
    this.#at = at
    this.#scope = scope
    this.#records = records
    const sequential = [...records.values()].filter(
      ({ hookId, result }) => result.beside === undefined && !isPart(hookId),
    )
    this.#sequence = sequential.map(({ hookId }) => hookId)
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

  /** The id of a hook in its run: the execution, the caller's id or `unnamed`, and how often that name was used. */
  identify(hook: string, id: string | undefined, unnamed: string): string {
    if (id !== undefined && !(typeof id === 'string' && id.length > 0 && id.length <= MAX_HOOK_ID_LENGTH)) {
      throw new ValidationError(`${hook}: id: expected text of 1 to ${MAX_HOOK_ID_LENGTH} characters`)
    }
    const name = id === undefined ? unnamed : `${hook}:${shortKeyOf(id, MAX_HOOK_ID_LENGTH)}`
    const use = (this.#uses.get(name) ?? 0) + 1
    this.#uses.set(name, use)
    return `${this.#scope}${this.#at.execution}/${name}.${use}`
  }

  /**
   * The record of a hook that the code calls; undefined if the hook has to run.
   * @throws `workflow_changed` if the log holds another hook in its place
   */
  consume(hookId: string, hook: string): HookRecord | undefined {
    if (this.#mismatch) throw this.#mismatch
    const record = this.#records.get(hookId)
    this.#consumed.add(hookId)
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
    while (this.#consumed.has(this.#sequence[this.#sequenceIndex] ?? '')) this.#sequenceIndex++
    const next = this.#sequence[this.#sequenceIndex]
    if (next === undefined || result.beside || this.failures > 0) return
    const isLater = this.#sequence.indexOf(hookId, this.#sequenceIndex) >= 0
    if (isLater) throw this.#changed(`it calls ${hookId} before ${next}, which came first in the first execution`)
  }

  /** The recorded hooks that the code has not called. */
  #unconsumed(): readonly HookRecord[] {
    // A retry may take another path.
    if (this.failures > 0) return []
    return [...this.#records.values()].filter(({ hookId }) => !this.#consumed.has(hookId) && !isPart(hookId))
  }

  #changed(how: string): MillraceError {
    this.#mismatch = new MillraceError(
      'workflow_changed',
      `the code of node ${this.#at.node} changed while the run was in it: ${how}. Give the workflow a new version, and migrate such runs`,
    )
    return this.#mismatch
  }
}

/** Whether a record belongs to a part of a hook, and not to a call in the node's code. */
const isPart = (hookId: string): boolean => hookId.split('/').length > 2

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
