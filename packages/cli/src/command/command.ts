import type { Terminal } from '../terminal/terminal.ts'

/** An option of a command. Without `value` it is a flag. */
export interface Option {
  /** The name of its value in the help. */
  readonly value?: string
  readonly short?: string
  readonly about: string
}

/** The parsed arguments of a command: positionals, and options by name. */
export interface ParsedArguments {
  readonly positionals: readonly string[]
  readonly values: Readonly<Record<string, string | true>>
}

/** A command of `millrace`. */
export interface Command {
  readonly name: string
  /** Its positionals, for the help. */
  readonly takes: string
  readonly about: string
  /** The minimum and maximum number of positionals. */
  readonly positionals: readonly [min: number, max: number]
  readonly options: Readonly<Record<string, Option>>
  readonly examples: readonly (readonly [line: string, about: string])[]
  /** Runs the command. Returns the exit code. @default 0 */
  run(args: ParsedArguments, terminal: Terminal): Promise<number | undefined>
}
