import type { Terminal } from '../terminal/terminal.ts'

/** An option of a command: with a value if it names one, else it is there or not. */
export interface Option {
  /** What its value is called in the help. */
  readonly value?: string
  readonly short?: string
  readonly about: string
}

/** What a command was called with: positionals, and options by their names. */
export interface Call {
  readonly positionals: readonly string[]
  readonly values: Readonly<Record<string, string | true>>
}

/** Something that `millrace` does. */
export interface Command {
  readonly name: string
  /** What it is called with, beside options. */
  readonly takes: string
  readonly about: string
  /** As many positionals as it takes, at least and at most. */
  readonly positionals: readonly [least: number, most: number]
  readonly options: Readonly<Record<string, Option>>
  readonly examples: readonly (readonly [line: string, about: string])[]
  /** Does it; the exit code, if it is not 0. */
  run(call: Call, terminal: Terminal): Promise<number | undefined>
}
