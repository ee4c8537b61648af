import type { Failure } from '@millrace/protocol'

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

/** A request that did not work. */
export class RequestError extends Error implements Failure {
  override readonly name = 'RequestError'
  readonly code: string
  readonly retryable: boolean
  /** The status of the reply; none, where there was no reply. */
  readonly status: number | undefined
  /** When to come back, in milliseconds, where the server said so. */
  readonly retryAfter: number | undefined

  constructor({ code, message, retryable = false }: Failure, status?: number, retryAfter?: number) {
    super(message)
    this.code = code
    this.retryable = retryable
    this.status = status
    this.retryAfter = retryAfter
  }
}

const isFailure = (error: unknown): error is Failure =>
  typeof (error as Partial<Failure> | null)?.code === 'string' && typeof (error as Failure).message === 'string'

/** Anything that was thrown or told, as a failure: what has no code of its own never reached the server, or came back broken. */
export const failureOf = (error: unknown): RequestError =>
  error instanceof RequestError
    ? error
    : isFailure(error) && !(error instanceof Error)
      ? new RequestError(error)
      : new RequestError({
          code: 'network_error',
          message: error instanceof Error ? error.message : String(error),
          retryable: true,
        })

/** An error of the chat, of what a request was refused with. */
export const chatErrorOf = (error: unknown, source: ErrorSource, details?: unknown): ChatError => {
  const { code, message, retryable } = failureOf(error)
  return { code, message, source, recoverable: true, retryable, ...(details !== undefined && { details }) }
}
