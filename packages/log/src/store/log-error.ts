import type { Truncation } from './log-store.ts'

/**
 * The reason of a {@link LogError}:
 *
 * - `unavailable`: the store cannot be reached or did not answer in time. The call may have taken effect.
 * - `fenced`: another writer has claimed the log.
 * - `regressed`: the log lost acknowledged entries.
 * - `moved`: the ticket changed after the decision.
 * - `busy`: another owner holds the log.
 * - `absent`: the log does not exist.
 * - `exists`: the log exists already.
 * - `closed`: the writer, reader, store or manager was closed.
 * - `refused`: the call does not fit the state of the log; the message says why.
 * - `too-large`: the value exceeds a size limit.
 * - `queue-full`: the caller wrote faster than the store and did not wait.
 * - `truncated`: the log no longer holds the entries that a reader asks for or has read.
 * - `invalid`: an argument is wrong.
 */
export type LogErrorCode =
  | 'unavailable'
  | 'fenced'
  | 'regressed'
  | 'moved'
  | 'busy'
  | 'absent'
  | 'exists'
  | 'closed'
  | 'refused'
  | 'too-large'
  | 'queue-full'
  | 'truncated'
  | 'invalid'

/** A failure of a log. Programs read `code`; `message` says what was wrong and what to do. */
export class LogError extends Error {
  /** Name of the class. */
  override readonly name: string = 'LogError'
  /** Reason of the error. */
  readonly code: LogErrorCode

  constructor(code: LogErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The cursor is not in the log: read a snapshot and continue from it (law 2). */
export class TruncatedError extends LogError {
  /** Name of the class. */
  override readonly name = 'TruncatedError'
  /** Why the cursor does not match the log. */
  readonly reason: Truncation
  /** The last sequence of the log. */
  readonly head: number
  /** The last sequence that was trimmed; 0 for none. */
  readonly floor: number

  constructor(reason: Truncation, message: string, head: number, floor: number) {
    super('truncated', `${message} (${reason}): read a snapshot and continue from it`)
    this.reason = reason
    this.head = head
    this.floor = floor
  }
}

/**
 * Entries that the reader has read were retracted: all after the step `truncatedAtStep`, by the entry at
 * `atSequence`.
 */
export class StreamTruncatedError extends LogError {
  /** Name of the class. */
  override readonly name = 'StreamTruncatedError'
  /** Number of the last step that was kept. */
  readonly truncatedAtStep: number
  /** Sequence of the entry that retracted the others. */
  readonly atSequence: number

  constructor(truncatedAtStep: number, atSequence: number) {
    super(
      'truncated',
      `all entries after step ${truncatedAtStep} were retracted by entry ${atSequence}: read the log again`,
    )
    this.truncatedAtStep = truncatedAtStep
    this.atSequence = atSequence
  }
}
