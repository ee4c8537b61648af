import type { Failure } from '@millrace/protocol'

/** A request that was refused or failed. */
export class RequestError extends Error implements Failure {
  /** Name of the class. */
  override readonly name = 'RequestError'
  /** Code of the error, such as `network_error`, or `http_500` if the server sent none. */
  readonly code: string
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  /** Status of the response. Undefined without a response. */
  readonly status: number | undefined
  /** Delay that the server asks for, in ms. */
  readonly retryAfter: number | undefined

  constructor({ code, message, retryable = false }: Failure, status?: number, retryAfter?: number) {
    super(message)
    this.code = code
    this.retryable = retryable
    this.status = status
    this.retryAfter = retryAfter
  }
}

/** Whether a thrown value is a `Failure`. Errors of other libraries may have a `code`, too, but no `retryable`. */
const isFailure = (error: unknown): error is Failure & { readonly status?: number } =>
  typeof (error as Partial<Failure> | null)?.code === 'string' &&
  typeof (error as Failure).message === 'string' &&
  (!(error instanceof Error) || 'retryable' in error)

/** The message of any thrown value, such as a `Response` or a plain object. */
function messageOf(error: unknown): string {
  const { message, status } = Object(error) as { readonly message?: unknown; readonly status?: unknown }
  if (typeof message === 'string') return message
  if (status !== undefined) return `The server answered with status ${status}.`
  return Object(error) === error
    ? `Expected an error, found an object: ${Object.keys(error as object)}.`
    : String(error)
}

/** Turns any thrown value into a `RequestError`. A value without a code of its own gets `code`. */
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
