// Parses the arguments after `millrace <command>`.

import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { CommandError } from '../error/command-error.ts'
import type { Command, Option, ParsedArguments } from './command.ts'
import { nearest } from './nearest.ts'

/** Options of every command. */
export const COMMON_OPTIONS: Readonly<Record<string, Option>> = {
  json: { about: 'print JSON' },
  help: { short: 'h', about: 'show this help' },
}

/** Parses arguments. @throws CommandError with the usage if they are invalid */
export function parseArguments(command: Command, args: readonly string[]): ParsedArguments {
  const known = { ...command.options, ...COMMON_OPTIONS }
  const options: ParseArgsOptionsConfig = {}
  for (const [name, { value, short }] of Object.entries(known)) {
    options[name] = { type: value === undefined ? 'boolean' : 'string', ...(short !== undefined && { short }) }
  }
  const { positionals, tokens } = parseArgs({
    args: [...args],
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  const values: Record<string, string | true> = {}
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const option = Object.hasOwn(known, token.name) ? known[token.name] : undefined
    if (option === undefined) throw unknownOption(command, token.rawName, Object.keys(known))
    if (option.value === undefined && token.value !== undefined) {
      throw usageError(command, `${token.rawName}: expected no value, found ${token.value}`)
    }
    // A value that starts with a dash is another option: the value is missing.
    if (option.value !== undefined && (token.value === undefined || (!token.inlineValue && /^-./.test(token.value)))) {
      throw usageError(command, `${token.rawName} needs a value: ${token.rawName} ${option.value}`)
    }
    values[token.name] = token.value ?? true
  }
  const [min, max] = command.positionals
  if (values['help'] !== true) {
    if (positionals.length < min) throw usageError(command, `expected ${command.takes}, found nothing`)
    if (positionals.length > max)
      throw usageError(command, `expected ${command.takes || 'no arguments'}, found ${positionals.join(' ')}`)
  }
  return { positionals, values }
}

function unknownOption(command: Command, input: string, names: readonly string[]): CommandError {
  const suggestion = nearest(input.replace(/^-+/, ''), names)
  return usageError(
    command,
    `unknown option ${input}${suggestion === undefined ? '' : `: did you mean --${suggestion}?`}`,
  )
}

/** The error for invalid arguments. It points to the help of the command. */
export const usageError = ({ name }: Pick<Command, 'name'>, why: string): CommandError =>
  new CommandError('usage', `millrace ${name}: ${why}\nSee millrace ${name} --help`)

/** Returns the value of a string option. */
export const stringOption = ({ values }: ParsedArguments, name: string): string | undefined => {
  const value = values[name]
  return value === true ? undefined : value
}

/** Returns the value of an integer option. @throws CommandError if it is no integer or out of bounds */
export function integerOption(
  command: Pick<Command, 'name'>,
  args: ParsedArguments,
  name: string,
  min: number,
  max = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const text = stringOption(args, name)
  if (text === undefined) return undefined
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`
  throw usageError(command, `--${name}: expected a whole number ${range}, found ${text}`)
}
