import { RequestError } from '@millrace/dialects'
import type { Failure } from '@millrace/protocol'

export { RequestError }

/** Where something went wrong. */
export type ErrorSource = 'send' | 'stream' | 'history' | 'adapter' | 'answer'

/** What went wrong, for programs (`code`) and for people; `recoverable` says that nothing is lost, `retryable` that the same again may do. */
export interface ChatError {
  readonly code: string
  readonly message: string
  readonly source: ErrorSource
  readonly recoverable: boolean
  readonly retryable: boolean
  readonly details?: unknown
}

/** Tells what was told from what was thrown by something else, which may have a code, too, but never says whether the same again may do. */
const isFailure = (error: unknown): error is Failure & { readonly status?: number } =>
  typeof (error as Partial<Failure> | null)?.code === 'string' &&
  typeof (error as Failure).message === 'string' &&
  (!(error instanceof Error) || 'retryable' in error)

/** What anything says that was thrown, were it a response or a bare object. */
function messageOf(error: unknown): string {
  const { message, status } = Object(error) as { readonly message?: unknown; readonly status?: unknown }
  if (typeof message === 'string') return message
  if (status !== undefined) return `The reply has the status ${status}.`
  return Object(error) === error ? `It threw an object with the keys ${Object.keys(error as object)}.` : String(error)
}

/** Anything that was thrown or told, as a failure: what has no code of its own is of the network, if nothing else is said. */
export const failureOf = (
  error: unknown,
  code = 'network_error',
  retryable: boolean = code === 'network_error',
): RequestError =>
  error instanceof RequestError
    ? error
    : isFailure(error)
      ? new RequestError(error, error.status)
      : new RequestError({ code, message: messageOf(error), retryable })

/** What the page itself gave cannot be sent, or could not be computed: the same again comes to the same. */
export const CLIENT_FAILED = 'client_failed'

/** An error of the chat, of what a request was refused with. */
export const chatErrorOf = (
  error: unknown,
  source: ErrorSource,
  details?: unknown,
  recoverable: boolean = true,
): ChatError => {
  const { code, message, retryable } = failureOf(error, CLIENT_FAILED)
  return { code, message, source, recoverable, retryable, ...(details !== undefined && { details }) }
}
