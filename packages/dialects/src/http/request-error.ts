import type { Failure } from '@millrace/protocol'

/** A request that was refused or failed. */
export class RequestError extends Error implements Failure {
  override readonly name = 'RequestError'
  readonly code: string
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
