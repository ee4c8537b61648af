import type { Json } from '@millrace/protocol'
import { describeType } from '../../error/check-object.ts'
import { ValidationError } from '../../error/error.ts'
import { type Jsonified, toJson } from '../../schema/json.ts'
import { assertJsonSize } from '../../session/assert-json-size.ts'
import { keyOf } from '../../session/key.ts'
import { currentExecution, suppressUnhandled, withoutHooks } from '../replay/execution.ts'

/** Argument of the code of a step. */
export interface StepContext {
  /** Stays the same when the step is retried. A step may be interrupted before its result is stored. */
  readonly idempotencyKey: string
  /** Aborted when the run stops, or when another process has taken over. */
  readonly abortSignal: AbortSignal
}

/**
 * Runs code with side effects and stores its result. Once the result is in the log, the code is not run again.
 * @throws {MillraceError} `hook_failed` if the code throws; a `MillraceError` of the code passes unchanged.
 * @throws {MillraceError} `hook_result_too_large` or `workflow_changed`.
 * @throws {ValidationError} if the result is not JSON.
 */
export function useStep<T>(
  key: string,
  code: (context: StepContext) => T | PromiseLike<T>,
): Promise<Jsonified<Awaited<T>>> {
  return suppressUnhandled(stepHook(key, code))
}

async function stepHook<T>(
  key: string,
  code: (context: StepContext) => T | PromiseLike<T>,
): Promise<Jsonified<Awaited<T>>> {
  const execution = currentExecution('useStep')
  const { work } = execution
  if (typeof key !== 'string') throw new ValidationError(`useStep: key: expected text, found ${describeType(key)}`)
  if (typeof code !== 'function')
    throw new ValidationError(`useStep ${key}: expected a function, found ${describeType(code)}`)
  const value = await execution.call('useStep', key, async ({ hookId, signal }) => {
    // Side effects start only while the lease is valid for sure.
    await work.writer.whenLeaseValid()
    const idempotencyKey = keyOf(work.session.id, execution.effectRunId, hookId)
    const result = await withoutHooks(() => code({ idempotencyKey, abortSignal: signal }))
    return { value: resultOf(key, result, work.writer.maxValueBytes) }
  })
  return value as Jsonified<Awaited<T>>
}

/** The result of a step as JSON. */
function resultOf(key: string, value: unknown, maxBytes: number): Json | undefined {
  if (value === undefined) return undefined
  assertJsonSize(value, maxBytes, `useStep ${key}`)
  const problem = `useStep ${key}: the result is not JSON and cannot be stored`
  return toJson(value, cause => new ValidationError(problem, { cause }))
}
