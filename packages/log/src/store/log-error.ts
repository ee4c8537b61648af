import type { Truncation } from './log-store.ts'

/**
 * What can go wrong with a log. `unavailable`: the store cannot be reached or gave no answer in time; `fenced`: another writer has the log;
 * `regressed`: the log lost entries that were acknowledged; `moved`: the ticket is another by now; `busy`: somebody holds the log; `absent`: there is no such log;
 * `closed`: the writer or manager was closed; `refused`: it does not fit what the log says, `reason` tells why; `too-large`; `queue-full`: writes were
 * not waited for; `truncated`: what somebody reads, or had read, is not in the log any more; `invalid`: the call itself is wrong.
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

/** A failure of a log: `code` is for programs, `message` says what was wrong and what to do. */
export class LogError extends Error {
  override readonly name: string = 'LogError'
  readonly code: LogErrorCode

  constructor(code: LogErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The place from which somebody wanted to read is not in the log: take a snapshot, and read on from there (law 2). */
export class TruncatedError extends LogError {
  override readonly name = 'TruncatedError'
  readonly reason: Truncation
  readonly head: number
  readonly floor: number

  constructor(reason: Truncation, message: string, head: number, floor: number) {
    super('truncated', `${message} (${reason}): take a snapshot and read on from there`)
    this.reason = reason
    this.head = head
    this.floor = floor
  }
}

/** What a reader had read was taken back: all after the step `truncatedAtStep`, by what stands at `atSequence`. */
export class StreamTruncatedError extends LogError {
  override readonly name = 'StreamTruncatedError'
  readonly truncatedAtStep: number
  readonly atSequence: number

  constructor(truncatedAtStep: number, atSequence: number) {
    super('truncated', `what came after step ${truncatedAtStep} was taken back at ${atSequence}: read the log again`)
    this.truncatedAtStep = truncatedAtStep
    this.atSequence = atSequence
  }
}
