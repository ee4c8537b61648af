// What a command ends with when it does not do what it was asked to.

/** How a command ends: each is a number that scripts can go by. */
export const exitCodes = {
  /** Something went wrong. */
  failed: 1,
  /** It was called wrongly. */
  usage: 2,
  /** There is no such session, file or run. */
  'not-found': 3,
  /** The server or the store is out of reach. */
  unreachable: 4,
} as const

export type ExitReason = keyof typeof exitCodes

/** Why a command does not do what it was asked to; the message says what to do next. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly reason: ExitReason
  /** What is wrong, for programs. */
  readonly code: string

  constructor(reason: ExitReason, message: string, code: string = reason) {
    super(message)
    this.reason = reason
    this.code = code
  }

  get exitCode(): number {
    return exitCodes[this.reason]
  }
}
