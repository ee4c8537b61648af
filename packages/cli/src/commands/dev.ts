import type { Command } from '../command/command.ts'
import { integerOption, stringOption, usageError } from '../command/parse-arguments.ts'
import { dev, eventText } from '../dev/dev.ts'

/** `millrace dev <file>`: serves an app with reload and the studio. */
export const devCommand: Command = {
  name: 'dev',
  takes: '<file>',
  about: 'serve the app of a file with the studio, and restart when its code changes',
  positionals: [1, 1],
  options: {
    port: { value: 'N', short: 'p', about: 'port to listen on (default: 4400; 0: any free port)' },
    'no-reload': { about: 'do not restart when code changes' },
    page: { value: 'FOLDER', about: 'serve this folder instead of the studio' },
  },
  examples: [
    ['millrace dev agent.ts', 'serve the app that agent.ts exports, at http://127.0.0.1:4400'],
    ['millrace dev agent.ts --port 8080', 'use another port'],
    ['millrace dev agent.ts --json', 'print each event as a line of JSON'],
  ],
  async run(args, terminal) {
    const [file] = args.positionals
    if (file === undefined) throw usageError(devCommand, 'expected <file>')
    const port = integerOption(devCommand, args, 'port', 0, 65_535)
    const page = stringOption(args, 'page')
    await dev({
      file,
      reload: args.values['no-reload'] !== true,
      ...(port !== undefined && { port }),
      ...(page !== undefined && { page }),
      // With --json, standard output has only JSON events.
      output: terminal.isJson ? 'stderr' : 'stdout',
      onEvent: event => {
        if (terminal.isJson) void terminal.write(`${JSON.stringify(event)}\n`)
        else if (event.event === 'up') void terminal.write(`${eventText(event)}\n`)
        else terminal.say(eventText(event))
      },
    })
    // Runs until a signal ends the process.
    return new Promise(() => {})
  },
}
