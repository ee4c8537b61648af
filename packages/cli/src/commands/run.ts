import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import type { Command } from '../command/command.ts'
import { helpOf, helpOfCommand } from '../command/help.ts'
import { nearest } from '../command/nearest.ts'
import { parseArguments } from '../command/parse-arguments.ts'
import { CommandError } from '../error/command-error.ts'
import { escapeControl } from '../terminal/escape-control.ts'
import { processTerminal } from '../terminal/terminal.ts'

/** The commands by name. Each is loaded on demand: `tail` does not need the server. */
const loaders: Readonly<Record<string, () => Promise<Command>>> = {
  dev: async () => (await import('./dev.ts')).devCommand,
  tail: async () => (await import('./tail.ts')).tailCommand,
  replay: async () => (await import('./replay.ts')).replayCommand,
  sessions: async () => (await import('./sessions.ts')).sessionsCommand,
  convert: async () => (await import('./convert.ts')).convertCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
}

/** Every command. */
export const allCommands = (): Promise<readonly Command[]> => Promise.all(Object.values(loaders).map(load => load()))

/** Runs `millrace` with arguments. Returns the exit code. */
export async function run(args: readonly string[]): Promise<number> {
  const isJson = args.includes('--json')
  const terminal = processTerminal(isJson)
  try {
    const [name = 'help', ...rest] = args
    if (name === '--version' || name === '-v') {
      await terminal.write(isJson ? `${JSON.stringify({ version: version() })}\n` : `${version()}\n`)
      return 0
    }
    if (name === '--help' || name === '-h' || name === 'help') {
      const [topic] = rest.filter(arg => !arg.startsWith('-'))
      if (topic !== undefined) await terminal.write(helpOfCommand(await commandOf(topic), isJson))
      else await terminal.write(helpOf(await allCommands(), isJson))
      return 0
    }
    const command = await commandOf(name)
    const parsed = parseArguments(command, rest)
    if (parsed.values['help'] === true) {
      await terminal.write(helpOfCommand(command, isJson))
      return 0
    }
    return (await command.run(parsed, terminal)) ?? 0
  } catch (error) {
    const { code, message, exitCode } = commandErrorOf(error)
    terminal.say(isJson ? JSON.stringify({ error: { code, message } }) : message)
    return exitCode
  }
}

/** Converts an unexpected error to the error of a command. With `MILLRACE_DEBUG`, prints its stack. */
function commandErrorOf(error: unknown): CommandError {
  if (error instanceof CommandError) return error
  if (process.env['MILLRACE_DEBUG']) console.error(escapeControl(inspect(error)))
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof Error && 'code' in error && error.code === 'unavailable')
    return new CommandError('unreachable', message)
  return new CommandError('failed', `millrace: ${message}`)
}

async function commandOf(name: string): Promise<Command> {
  if (Object.hasOwn(loaders, name)) return (loaders[name] as () => Promise<Command>)()
  const names = Object.keys(loaders)
  const suggestion = nearest(name, names)
  const hint = suggestion === undefined ? `expected one of ${names.join(', ')}` : `did you mean ${suggestion}?`
  throw new CommandError('usage', `millrace: unknown command ${name}: ${hint}\nSee millrace --help`)
}

function version(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
}
