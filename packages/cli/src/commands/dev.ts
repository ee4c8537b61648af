import type { Command } from '../command/command.ts'
import { integerOption, stringOption, usageError } from '../command/parse-call.ts'
import { dev } from '../dev/dev.ts'
import { eventText } from '../dev/event-text.ts'

/** `millrace dev <file>`: serves an app with reload and the studio. */
export const devCommand: Command = {
  name: 'dev',
  takes: '<file>',
  about: 'serve the app of a file with the studio, and start anew when its code changes',
  positionals: [1, 1],
  options: {
    port: { value: 'N', short: 'p', about: 'where to listen: 4400 if nothing is said, 0 for any that is free' },
    'no-reload': { about: 'do not start anew when code changes' },
    page: { value: 'FOLDER', about: "serve this folder in place of the studio's page" },
  },
  examples: [
    ['millrace dev agent.ts', 'serve what agent.ts exports as app, on http://127.0.0.1:4400'],
    ['millrace dev agent.ts --port 8080', 'on another port'],
    ['millrace dev agent.ts --json', 'one line of JSON for all that happens'],
  ],
  async run(call, terminal) {
    const [file] = call.positionals
    if (file === undefined) throw usageError(devCommand, 'expected <file>')
    const port = integerOption(devCommand, call, 'port', 0, 65_535)
    const page = stringOption(call, 'page')
    await dev({
      file,
      reload: call.values['no-reload'] !== true,
      ...(port !== undefined && { port }),
      ...(page !== undefined && { page }),
      // With --json, standard output has only JSON events.
      output: terminal.isJson ? 'stderr' : 'stdout',
      tell: event => {
        if (terminal.isJson) void terminal.write(`${JSON.stringify(event)}\n`)
        else if (event.event === 'up') void terminal.write(`${eventText(event)}\n`)
        else terminal.say(eventText(event))
      },
    })
    // Runs until a signal ends the process.
    return new Promise(() => {})
  },
}
