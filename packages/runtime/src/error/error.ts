import { categoryOf, type ErrorCode } from './error-codes.ts'

const MARK = Symbol.for('millrace.error')

export interface ErrorOptions {
  /** Whether the same may work later. */
  readonly retryable?: boolean
  readonly cause?: unknown
}

/** Something that went wrong, with a message fit to show to people; its cause is for the log of the process. */
export class MillraceError extends Error {
  readonly code: ErrorCode
  readonly category: string
  readonly retryable: boolean
  readonly [MARK] = true

  constructor(code: ErrorCode, message: string, { retryable = false, cause }: ErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = new.target.name
    this.code = code
    this.category = categoryOf(code)
    this.retryable = retryable
  }

  /** Tells such an error, also one from another copy of this package; never throws, whatever it is asked about. */
  static isInstance(error: unknown): error is MillraceError {
    try {
      if (typeof error !== 'object' || error === null || !(MARK in error)) return false
      const { code, message } = error as Partial<MillraceError>
      return typeof code === 'string' && typeof message === 'string'
    } catch {
      // What cannot be looked at is nobody's error of ours.
      return false
    }
  }
}

/** A model call failed. */
export class ProviderError extends MillraceError {
  readonly statusCode: number | undefined
  /** How long the provider asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined

  constructor(
    code: ErrorCode,
    message: string,
    options: ErrorOptions & {
      readonly statusCode?: number | undefined
      readonly retryAfterMs?: number | undefined
    } = {},
  ) {
    super(code, message, options)
    this.statusCode = options.statusCode
    this.retryAfterMs = options.retryAfterMs
  }
}

/** A tool call failed; thrown by a tool's own code, its message reaches the model and whoever looks on. */
export class ToolError extends MillraceError {
  constructor(message: string, options: ErrorOptions & { readonly code?: ErrorCode } = {}) {
    super(options.code ?? 'tool_execution_failed', message, options)
  }
}

/** A run was not allowed to go further. */
export class BudgetError extends MillraceError {}

/** A run cannot start, go on or end as was asked. */
export class RunError extends MillraceError {}

/** What was given is not valid. */
export class ValidationError extends MillraceError {
  constructor(message: string, options: ErrorOptions = {}) {
    super('validation_failed', message, options)
  }
}
