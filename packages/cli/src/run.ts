import { readFileSync } from 'node:fs'
import { callOf } from './command/call.ts'
import type { Command } from './command/command.ts'
import { helpOf, helpOfCommand } from './command/help.ts'
import { nearest } from './command/nearest.ts'
import { processTerminal } from './command/terminal.ts'
import { devCommand } from './commands/dev.ts'
import { CommandError } from './error.ts'

export const commands: readonly Command[] = [devCommand]

/** Does what was written after `millrace`: its exit code. */
export async function run(args: readonly string[]): Promise<number> {
  const isJson = args.includes('--json')
  const terminal = processTerminal(isJson)
  try {
    const [name = 'help', ...rest] = args
    if (name === '--version' || name === '-v') {
      await terminal.write(`${version()}\n`)
      return 0
    }
    if (name === '--help' || name === '-h' || name === 'help') {
      const [about] = rest.filter(arg => !arg.startsWith('-'))
      await terminal.write(about === undefined ? helpOf(commands) : helpOfCommand(commandOf(about)))
      return 0
    }
    const command = commandOf(name)
    const call = callOf(command, rest)
    if (call.values['help'] === true) {
      await terminal.write(helpOfCommand(command))
      return 0
    }
    return (await command.run(call, terminal)) ?? 0
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    const { code, message } = error
    terminal.say(isJson ? JSON.stringify({ error: { code, message } }) : message)
    return error.exitCode
  }
}

function commandOf(name: string): Command {
  const found = commands.find(command => command.name === name)
  if (found) return found
  const names = commands.map(command => command.name)
  const meant = nearest(name, names)
  const hint = meant === undefined ? `there are ${names.join(', ')}` : `did you mean ${meant}?`
  throw new CommandError('usage', `millrace: there is no command ${name}; ${hint}\nSee millrace --help`)
}

function version(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}
