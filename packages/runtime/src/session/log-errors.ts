// Converts errors of the log to errors of the runtime.

import { LogError } from '@millrace/log'
import { MillraceError, RunError, ValidationError } from '../error/error.ts'

/** The error for a session that does not exist. */
export const sessionUnknown = (sessionId: string): RunError =>
  new RunError('session_unknown', `there is no session ${sessionId}: start a run to create it`)

/** Whether an error says that the session does not exist. */
export const isSessionUnknown = (error: unknown): boolean =>
  error instanceof RunError && error.code === 'session_unknown'

/** Converts an error of the log. Other errors are returned unchanged. */
function toRuntimeError(sessionId: string, error: unknown): unknown {
  if (!(error instanceof LogError)) return error
  const { code, message } = error
  switch (code) {
    case 'absent':
      return sessionUnknown(sessionId)
    case 'exists':
      return new RunError('session_exists', message, { cause: error })
    case 'invalid':
    case 'too-large':
      return new ValidationError(message, { cause: error })
    case 'truncated':
      return new RunError('session_trimmed', message, { cause: error })
    case 'unavailable':
      return new MillraceError(
        'store_unavailable',
        `the store of session ${sessionId} is unavailable: try again later`,
        {
          retryable: true,
          cause: error,
        },
      )
    default:
      return new MillraceError('internal_error', `the log of session ${sessionId} failed: ${code}`, {
        cause: error,
      })
  }
}

/** Runs an operation on the log of a session and converts its errors. */
export async function withLog<T>(sessionId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toRuntimeError(sessionId, error)
  }
}

/** Whether an error says that the requested entries were removed from the log. */
export function isTruncated(error: unknown): boolean {
  const cause = error instanceof RunError ? error.cause : error
  return cause instanceof LogError && cause.code === 'truncated'
}

/** Whether the store could not be reached in time. */
export const isUnavailable = (error: unknown): boolean => error instanceof LogError && error.code === 'unavailable'
