import { failureOf } from '@millrace/dialects/internal'

export { RequestError } from '@millrace/dialects'
export { failureOf }

/** The operation that failed. */
export type ErrorSource = 'send' | 'stream' | 'history' | 'adapter' | 'answer'

/** An error of a chat, with a `code` for programs and a `message` for people. */
export interface ChatError {
  /** Snake case. The part before the first underscore is the category. */
  readonly code: string
  /** A sentence for people, without secrets. */
  readonly message: string
  /** The operation that failed. */
  readonly source: ErrorSource
  /** Whether the chat can go on: nothing is lost. */
  readonly recoverable: boolean
  /** Whether the same operation may succeed when it is repeated. */
  readonly retryable: boolean
  /** Data about the error, such as the `messageId` of a failed send. */
  readonly details?: unknown
}

/** Code of an error in the page's own code or data, such as a value that is not JSON. A retry fails again. */
export const CLIENT_FAILED = 'client_failed'

/** Turns any thrown value into a `ChatError`. */
export const chatErrorOf = (
  error: unknown,
  source: ErrorSource,
  details?: unknown,
  recoverable: boolean = true,
): ChatError => {
  const { code, message, retryable } = failureOf(error, CLIENT_FAILED)
  return { code, message, source, recoverable, retryable, ...(details !== undefined && { details }) }
}
