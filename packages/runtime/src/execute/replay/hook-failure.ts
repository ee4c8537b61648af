// Why a hook failed: as its node is told, as the log keeps it, and as the node is told again from there.

import { LogError } from '@millrace/log'
import { BudgetError, MillraceError, ProviderError, RunError, ToolError, ValidationError } from '../../error/error.ts'
import type { ErrorCode } from '../../error/error-codes.ts'
import { excerpt } from '../../error/excerpt.ts'
import { logErrorCode } from '../../error/log-error.ts'
import type { HookResult } from './record.ts'

type KeptError = NonNullable<HookResult['error']>

/** Why a hook failed, in our words; what is wrong with the log is not about it, unless it was too large for it. */
export function failureOf(error: unknown, hook: string): MillraceError | LogError {
  if (logErrorCode(error) === 'too-large') {
    const what = `what ${hook} gives, or that with what the node read and set before it, is larger than the log takes: return less, or a reference`
    return new MillraceError('hook_result_too_large', what, { cause: error })
  }
  if (error instanceof LogError || MillraceError.isInstance(error)) return error
  const message = error instanceof Error ? error.message : `${hook} failed`
  return new MillraceError('hook_failed', message, { cause: error })
}

/** The errors that code can tell by their class. */
const CLASSES = { ProviderError, ToolError, BudgetError, RunError, ValidationError }

/** Why a hook failed, as it is kept: no reader sees it. */
export function errorKept(failure: MillraceError, failures: number): KeptError {
  const { code, message, retryable } = failure
  const { statusCode, retryAfterMs } = failure instanceof ProviderError ? failure : {}
  const known = Object.entries(CLASSES).find(([, one]) => failure instanceof one)
  return {
    code,
    message: excerpt(message),
    failures,
    ...(known && { class: known[0] }),
    ...(retryable === true && { retryable }),
    ...(statusCode !== undefined && { statusCode }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}

/** The error that was kept: code that decides by it decides the same when its node starts again; only who threw it first adds its cause. */
export function errorRestored({ message, class: known, ...about }: KeptError, cause?: unknown): MillraceError {
  const code = about.code as ErrorCode
  const { retryable = false, statusCode, retryAfterMs } = about
  const options = { retryable, cause }
  switch (known) {
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
