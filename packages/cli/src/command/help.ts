import { exitCodes } from '../error/command-error.ts'
import type { Command } from './command.ts'
import { COMMON_OPTIONS } from './parse-arguments.ts'

/** Prints the help of `millrace`, as JSON with `--json`. */
export function helpOf(commands: readonly Command[], isJson: boolean): string {
  if (isJson)
    return `${JSON.stringify({ commands: commands.map(commandJson), exitCodes: { done: 0, ...exitCodes } })}\n`
  return `millrace: serve agents and manage their sessions

Usage: millrace <command> [options]

${table(commands.map(({ name, takes, about }) => [`${name} ${takes}`.trim(), about]))}

${table(EXIT_CODES)}

See millrace <command> --help for options and examples.
`
}

const EXIT_CODES: [string, string][] = [
  ['exit 0', 'success'],
  ['exit 1', 'an error, or a failed check'],
  ['exit 2', 'invalid arguments'],
  ['exit 3', 'session or file not found'],
  ['exit 4', 'server or store unavailable'],
]

/** The JSON description of a command. */
function commandJson({ name, takes, about, options, examples }: Command) {
  return { name, takes, about, options: { ...options, ...COMMON_OPTIONS }, examples: examples.map(([line]) => line) }
}

/** Prints the help of one command, as JSON with `--json`. */
export function helpOfCommand(command: Command, isJson: boolean): string {
  if (isJson) return `${JSON.stringify(commandJson(command))}\n`
  const { name, takes, about, options, examples } = command
  const all = { ...options, ...COMMON_OPTIONS }
  const rows = Object.entries(all).map(([option, { value, short, about }]): [string, string] => [
    `${short === undefined ? '' : `-${short}, `}--${option}${value === undefined ? '' : ` ${value}`}`,
    about,
  ])
  const lines = examples.map(([line, about]): [string, string] => [line, about])
  return `millrace ${name}: ${about}

Usage: millrace ${[name, takes, '[options]'].filter(Boolean).join(' ')}

Options:
${table(rows)}

Examples:
${table(lines)}
`
}

function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')
}
