// Errors of the log as errors of the runtime.

import { LogError } from '@millrace/log'
import { MillraceError, RunError, ValidationError } from '../error/error.ts'

/** There is no such session. */
export const sessionUnknown = (sessionId: string): RunError =>
  new RunError('session_unknown', `there is no session ${sessionId}: start a run in it`)

/** Whether something failed because there is no such session. */
export const isSessionUnknown = (error: unknown): boolean =>
  error instanceof RunError && error.code === 'session_unknown'

/** What a log has no answer to, in the runtime's own words; whatever else went wrong is as it is. */
function told(sessionId: string, error: unknown): unknown {
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
        `the store of session ${sessionId} is out of reach: try again later`,
        {
          retryable: true,
          cause: error,
        },
      )
    default:
      return new MillraceError('internal_error', `the log of session ${sessionId} did not do it: ${code}`, {
        cause: error,
      })
  }
}

/** Does something with the log of a session: what it has no answer to is told in the runtime's own words. */
export async function withLog<T>(sessionId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw told(sessionId, error)
  }
}

/** Whether something failed because what was to be read is not in the log any more. */
export function isTruncated(error: unknown): boolean {
  const cause = error instanceof RunError ? error.cause : error
  return cause instanceof LogError && cause.code === 'truncated'
}
