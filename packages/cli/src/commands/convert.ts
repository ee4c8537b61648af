import { convert } from '@millrace/dialects'
import { ProtocolError } from '@millrace/protocol'
import type { Command, ParsedArguments } from '../command/command.ts'
import { nearest } from '../command/nearest.ts'
import { stringOption, usageError } from '../command/parse-arguments.ts'
import { dialectNames, dialectOf } from '../convert/dialects.ts'
import { EventInput } from '../convert/event-input.ts'
import { LogDecoder } from '../convert/log-dialect.ts'
import { CommandError } from '../error/command-error.ts'

/** `millrace convert`: converts a stream between dialects. */
export const convertCommand: Command = {
  name: 'convert',
  takes: '',
  about: 'convert a stream from standard input between dialects',
  positionals: [0, 0],
  options: {
    from: { value: 'DIALECT', about: `dialect of the input: ${dialectNames.join(', ')}` },
    to: { value: 'DIALECT', about: 'dialect of the output, one of the same' },
    run: { value: 'ID', about: 'from a log: the run to convert (default: the first); to a log: the id of the run' },
    sse: { about: 'print Server-Sent Events instead of lines of JSON' },
  },
  examples: [
    ['millrace convert --from millrace --to ai-sdk < trip-1.jsonl', 'convert a recording to a UI message stream'],
    [
      'curl -sN $URL | millrace convert --from ai-sdk --to ag-ui --sse',
      'convert the stream of an AI SDK server to AG-UI',
    ],
    [
      'millrace convert --from helix --to millrace < helix.txt > trip-1.jsonl',
      'make a recording for replay or the studio',
    ],
  ],
  async run(args, terminal) {
    const [from, to] = [nameOf(args, 'from'), nameOf(args, 'to')]
    const run = stringOption(args, 'run')
    const [source, target] = [await dialectOf(from, run, from), await dialectOf(to, run, from)]
    const isSse = args.values['sse'] === true
    const decoder = source.decoder()
    const input = new EventInput(process.stdin.setEncoding('utf8'))
    try {
      for await (const event of convert(input, { decoder: () => decoder }, target)) {
        const text = JSON.stringify(event)
        await terminal.write(isSse ? `data: ${text}\n\n` : `${text}\n`)
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      if (error.code === 'stream-cut' && decoder instanceof LogDecoder) assertRunFound(decoder, run)
      throw new CommandError('failed', `line ${input.line}: ${error.message}`, error.code)
    }
    if (isSse && target.closing !== undefined) await terminal.write(target.closing)
    if (decoder instanceof LogDecoder && decoder.otherRunCount > 0) {
      terminal.say(
        `Converted the run ${decoder.runId}. The log has ${decoder.otherRunCount} more: choose one with --run.`,
      )
    }
    return 0
  },
}

function nameOf(args: ParsedArguments, option: 'from' | 'to'): string {
  const name = stringOption(args, option)
  if (name === undefined) throw usageError(convertCommand, `expected --${option} DIALECT: ${dialectNames.join(', ')}`)
  if (dialectNames.includes(name)) return name
  const suggestion = nearest(name, dialectNames)
  const hint = suggestion === undefined ? `expected one of ${dialectNames.join(', ')}` : `did you mean ${suggestion}?`
  throw usageError(convertCommand, `--${option}: unknown dialect ${name}: ${hint}`)
}

/** @throws CommandError if a log does not have the run. An incomplete run is no error. */
function assertRunFound(decoder: LogDecoder, run: string | undefined): void {
  if (run === undefined || decoder.hasBegun) return
  throw new CommandError('not-found', `There is no run ${run} in this log: choose another with --run.`, 'run_unknown')
}
