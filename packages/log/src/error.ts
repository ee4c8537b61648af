/**
 * What can go wrong with a log. `unavailable`: the store cannot be reached or gave no answer in time; `fenced`: another writer has the log;
 * `regressed`: the log lost entries that were acknowledged; `moved`: the ticket is another by now; `busy`: somebody holds the log; `absent`: there is no such log;
 * `closed`: the writer or manager was closed; `refused`: it does not fit what the log says, `reason` tells why; `too-large`; `queue-full`: writes were
 * not waited for; `invalid`: the call itself is wrong.
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
