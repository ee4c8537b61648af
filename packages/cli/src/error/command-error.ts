// The errors and exit codes of commands.

/** The exit codes, for scripts. */
export const exitCodes = {
  /** Any other error. */
  failed: 1,
  /** Invalid arguments. */
  usage: 2,
  /** The session, file or run does not exist. */
  'not-found': 3,
  /** The server or the store is unreachable. */
  unreachable: 4,
} as const

/** Why a command failed: a key of `exitCodes`. */
export type ExitReason = keyof typeof exitCodes

/** An expected failure of a command. The message says what to do next. */
export class CommandError extends Error {
  /** Name of the class. */
  override readonly name = 'CommandError'
  /** Why the command failed. */
  readonly reason: ExitReason
  /** The error code, for programs. */
  readonly code: string

  constructor(reason: ExitReason, message: string, code: string = reason) {
    super(message)
    this.reason = reason
    this.code = code
  }

  /** The exit code of the process: the entry of `exitCodes` for `reason`. */
  get exitCode(): number {
    return exitCodes[this.reason]
  }
}
