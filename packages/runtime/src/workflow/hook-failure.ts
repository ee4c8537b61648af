import { LogError } from '@millrace/log'
import { MillraceError } from '../error/error.ts'
import { excerpt, refusalOf } from '../model/room.ts'
import type { Given } from './record.ts'

/** Why a hook failed, in the words in which it is told again when the node starts again; what is wrong with the log is not about it, unless it was too large for it. */
export function failureOf(error: unknown, hook: string): MillraceError | LogError {
  if (refusalOf(error) === 'too-large') {
    const what = `what ${hook} gives is larger than the log takes: return less, or a reference`
    return new MillraceError('hook_result_too_large', what, { cause: error })
  }
  if (error instanceof LogError || MillraceError.isInstance(error)) return error
  const message = error instanceof Error ? error.message : `${hook} failed`
  return new MillraceError('hook_failed', excerpt(message), { cause: error })
}

/** Why a hook failed, as it is kept: no reader sees it. */
export const errorOf = ({ code, message }: MillraceError, failures: number): NonNullable<Given['error']> => ({
  code,
  message: excerpt(message),
  failures,
})
