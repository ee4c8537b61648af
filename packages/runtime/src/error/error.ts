import { categoryOf, type ErrorCode } from './error-codes.ts'

const MARK = Symbol.for('millrace.error')

/** Options of an error. */
export interface ErrorOptions {
  /** Whether a retry may succeed. @default false */
  readonly retryable?: boolean
  /** The error behind it, only for the logger. @default none */
  readonly cause?: unknown
}

/** Base class of all errors. The message is safe to show to users; the cause is only for the logger. */
export class MillraceError extends Error {
  /** Error code, for programs. */
  readonly code: ErrorCode
  /** The part of the code before the first underscore. */
  readonly category: string
  /** Whether a retry may succeed. */
  readonly retryable: boolean
  readonly [MARK] = true

  constructor(code: ErrorCode, message: string, { retryable = false, cause }: ErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = new.target.name
    this.code = code
    this.category = categoryOf(code)
    this.retryable = retryable
  }

  /** Whether a value is a `MillraceError`, also one of another copy of this package. Never throws. */
  static isInstance(error: unknown): error is MillraceError {
    try {
      if (typeof error !== 'object' || error === null || !(MARK in error)) return false
      const { code, message } = error as Partial<MillraceError>
      return typeof code === 'string' && typeof message === 'string'
    } catch {
      // A proxy or a getter may throw.
      return false
    }
  }
}

/** A model call failed. */
export class ProviderError extends MillraceError {
  /** HTTP status of the reply of the provider, if there was one. */
  readonly statusCode: number | undefined
  /** The delay that the provider asks for before a retry, in ms. */
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

/** A tool call failed. A tool may throw it: the model and all readers see its message. */
export class ToolError extends MillraceError {
  constructor(message: string, options: ErrorOptions & { readonly code?: ErrorCode } = {}) {
    super(options.code ?? 'tool_execution_failed', message, options)
  }
}

/** A run, or one answer in it, exceeded its limits. */
export class BudgetError extends MillraceError {}

/** A run cannot start, continue or end as requested. */
export class RunError extends MillraceError {}

/** The caller has used up its time for checks of answers, or too many checks wait. Its code is `checks_limit`. */
export class CheckLimitError extends MillraceError {
  /** The delay before a retry, in ms. */
  readonly retryAfterMs: number

  constructor(message: string, retryAfterMs: number) {
    super('checks_limit', message, { retryable: true })
    this.retryAfterMs = retryAfterMs
  }
}

/** An argument, an option or a definition is not valid. */
export class ValidationError extends MillraceError {
  constructor(message: string, options: ErrorOptions = {}) {
    super('validation_failed', message, options)
  }
}
