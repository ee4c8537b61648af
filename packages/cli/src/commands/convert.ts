import { convert } from '@millrace/dialects'
import { ProtocolError } from '@millrace/protocol'
import type { Call, Command } from '../command/command.ts'
import { nearest } from '../command/nearest.ts'
import { stringOption, usageError } from '../command/parse-call.ts'
import { dialectNames, dialectOf } from '../convert/dialects.ts'
import { EventInput } from '../convert/event-input.ts'
import { LogDecoder } from '../convert/log-dialect.ts'
import { CommandError } from '../error/command-error.ts'

/** `millrace convert`: converts a stream between dialects. */
export const convertCommand: Command = {
  name: 'convert',
  takes: '',
  about: 'turn a stream on standard input from one dialect into another',
  positionals: [0, 0],
  options: {
    from: { value: 'DIALECT', about: `what comes: ${dialectNames.join(', ')}` },
    to: { value: 'DIALECT', about: 'what is wanted: the same names' },
    run: { value: 'ID', about: 'of a log: which run, the first if nothing is said; to a log: what the run is called' },
    sse: { about: 'write Server-Sent Events, and not a line of JSON each' },
  },
  examples: [
    ['millrace convert --from millrace --to ai-sdk < trip-1.jsonl', 'a recorded session as a UI message stream'],
    ['curl -sN $URL | millrace convert --from ai-sdk --to ag-ui --sse', 'what a server of the AI SDK says, as AG-UI'],
    [
      'millrace convert --from helix --to millrace < said.txt > said.jsonl',
      'a log to replay, and to import in the studio',
    ],
  ],
  async run(call, terminal) {
    const [from, to] = [nameOf(call, 'from'), nameOf(call, 'to')]
    const run = stringOption(call, 'run')
    const [source, target] = [await dialectOf(from, run, from), await dialectOf(to, run, from)]
    const isSse = call.values['sse'] === true
    const decoder = source.decoder()
    const input = new EventInput(process.stdin.setEncoding('utf8'))
    try {
      for await (const event of convert(input, { decoder: () => decoder }, target)) {
        const text = JSON.stringify(event)
        await terminal.write(isSse ? `data: ${text}\n\n` : `${text}\n`)
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      if (error.code === 'stream-cut' && decoder instanceof LogDecoder) mustBeIn(decoder, run)
      throw new CommandError('failed', `line ${input.line}: ${error.message}`, error.code)
    }
    if (isSse && target.closing !== undefined) await terminal.write(target.closing)
    if (decoder instanceof LogDecoder && decoder.others > 0) {
      terminal.say(`Converted the run ${decoder.runId}. The log has ${decoder.others} more: choose one with --run.`)
    }
    return 0
  },
}

function nameOf(call: Call, option: 'from' | 'to'): string {
  const name = stringOption(call, option)
  if (name === undefined) throw usageError(convertCommand, `expected --${option} DIALECT: ${dialectNames.join(', ')}`)
  if (dialectNames.includes(name)) return name
  const meant = nearest(name, dialectNames)
  const hint = meant === undefined ? `there are ${dialectNames.join(', ')}` : `did you mean ${meant}?`
  throw usageError(convertCommand, `--${option}: there is no dialect ${name}; ${hint}`)
}

/** Throws if a log does not have the run. An incomplete run is no error. */
function mustBeIn(decoder: LogDecoder, run: string | undefined): void {
  if (run === undefined || decoder.hasBegun) return
  throw new CommandError('not-found', `There is no run ${run} in this log.`, 'run_unknown')
}
