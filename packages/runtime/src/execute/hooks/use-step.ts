import type { Json } from '@millrace/protocol'
import { describeType } from '../../error/check-object.ts'
import { ValidationError } from '../../error/error.ts'
import { type Jsonified, toJson } from '../../schema/json.ts'
import { keyOf } from '../../session/key.ts'
import { currentExecution, suppressUnhandled, withoutHooks } from '../replay/execution.ts'

/** What the code of a step is given. */
export interface StepContext {
  /** The same whenever this step is done again, for those who can tell: it may be cut off before its result is kept. */
  readonly idempotencyKey: string
  readonly abortSignal: AbortSignal
}

/** Does something with effects, and keeps what came of it: once that is in the log it is not done again. */
export function useStep<T>(
  key: string,
  code: (context: StepContext) => T | PromiseLike<T>,
): Promise<Jsonified<Awaited<T>>> {
  return suppressUnhandled(stepped(key, code))
}

async function stepped<T>(
  key: string,
  code: (context: StepContext) => T | PromiseLike<T>,
): Promise<Jsonified<Awaited<T>>> {
  const execution = currentExecution('useStep')
  const { work } = execution
  if (typeof key !== 'string') throw new ValidationError(`useStep: key: expected text, found ${describeType(key)}`)
  if (typeof code !== 'function')
    throw new ValidationError(`useStep ${key}: expected code, found ${describeType(code)}`)
  const value = await execution.call('useStep', key, async ({ hookId, signal }) => {
    // What others must not do meanwhile begins only while the lease surely lasts.
    await work.writer.sure()
    const idempotencyKey = keyOf(work.session.id, execution.effectRunId, hookId)
    const result = await withoutHooks(() => code({ idempotencyKey, abortSignal: signal }))
    return { value: resultOf(key, result) }
  })
  return value as Jsonified<Awaited<T>>
}

/** What a step gave, as JSON has it; nothing stays nothing. */
function resultOf(key: string, value: unknown): Json | undefined {
  if (value === undefined) return undefined
  const what = `useStep ${key}: the result is not JSON and cannot be stored`
  return toJson(value, cause => new ValidationError(what, { cause }))
}
