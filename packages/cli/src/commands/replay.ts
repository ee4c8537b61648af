import { createReadStream, statSync } from 'node:fs'
import { RecordingDecoder } from '@millrace/client/log'
import type { Timers } from '@millrace/log'
import { type Entry, ProtocolError } from '@millrace/protocol'
import type { Command, ParsedArguments } from '../command/command.ts'
import { integerOption, stringOption, usageError } from '../command/parse-arguments.ts'
import { CommandError } from '../error/command-error.ts'
import { Pacer } from '../show/pacer.ts'
import { Transcript } from '../show/transcript.ts'
import { readLog } from '../source/read-log.ts'
import { openSource, sourceOptions } from '../source/source.ts'

/** The default of `--idle`. */
const IDLE_SECONDS = 3

/** `millrace replay <file|session>`: replays a session. */
export const replayCommand: Command = {
  name: 'replay',
  takes: '<file.jsonl | session>',
  about: 'replay a session: text, tool calls, approvals and discarded drafts, at their original pace',
  positionals: [1, 1],
  options: {
    ...sourceOptions,
    speed: { value: 'X', about: 'speed factor, or max for no pauses (default: 1)' },
    idle: { value: 'SECONDS', about: `longest pause (default: ${IDLE_SECONDS})` },
    from: { value: 'N', about: 'first sequence to show' },
    to: { value: 'N', about: 'last sequence to show' },
  },
  examples: [
    ['millrace replay trip-1', 'replay a session of the server'],
    ['millrace replay trip-1.jsonl --speed 4', 'replay an exported file at four times the speed'],
    ['millrace replay - --speed max < trip-1.jsonl', 'read standard input, without pauses'],
    ['millrace replay trip-1 --from 20 --to 60 --json', 'print these entries as JSON'],
  ],
  async run(args, terminal) {
    const pacer = pacerOf(args)
    const from = integerOption(replayCommand, args, 'from', 0) ?? 0
    const to = integerOption(replayCommand, args, 'to', from) ?? Number.MAX_SAFE_INTEGER
    const transcript = new Transcript(terminal)
    for await (const entry of entriesOf(args, from, terminal.say)) {
      if (entry.sequence < from) continue
      if (entry.sequence > to || terminal.signal.aborted) break
      await pacer?.until(entry.timestamp, terminal.signal)
      if (terminal.signal.aborted) break
      if (terminal.isJson) await terminal.write(`${JSON.stringify(entry)}\n`)
      else await transcript.show(entry)
    }
    if (!terminal.isJson) await transcript.end()
    return 0
  },
}

/** The pacer for `--speed` and `--idle`. None with `--speed max`. */
export function pacerOf(args: ParsedArguments, timers?: Timers): Pacer | undefined {
  const speed = speedOf(args)
  const idleMs = (integerOption(replayCommand, args, 'idle', 0, 86_400) ?? IDLE_SECONDS) * 1000
  return speed === 'max' ? undefined : new Pacer(speed, idleMs, timers)
}

function speedOf(args: ParsedArguments): number | 'max' {
  const text = stringOption(args, 'speed') ?? '1'
  if (text === 'max') return text
  const speed = Number(text.replace(/x$/, ''))
  if (speed > 0 && Number.isFinite(speed)) return speed
  throw usageError(replayCommand, `--speed: expected a number above 0, or max, found ${text}`)
}

/** The entries of a file, of standard input or of a session. */
async function* entriesOf(
  args: ParsedArguments,
  from: number,
  printLine: (line: string) => void,
): AsyncGenerator<Entry> {
  const [target = ''] = args.positionals
  const found = target === '-' ? undefined : statSync(target, { throwIfNoEntry: false })
  // A session can have the same name as a folder here. `--server` or `--store` selects the session.
  const hasSource = stringOption(args, 'server') !== undefined || stringOption(args, 'store') !== undefined
  if (target === '-' || (found && !found.isDirectory())) {
    yield* recordedEntries(target)
    return
  }
  if (found && !hasSource) {
    const next = 'choose a file in it, or use --server or --store to replay the session with this name'
    throw new CommandError('not-found', `Expected a recording, found the folder ${target}: ${next}.`)
  }
  if (/\.jsonl$/.test(target)) throw new CommandError('not-found', `There is no file ${target}: check the path.`)
  const source = await openSource(args)
  try {
    const onTrimmed = async (floor: number) => void printLine(`Entries up to ${floor} are no longer in the log.`)
    yield* readLog(source, target, { after: Math.max(0, from - 1), onTrimmed })
  } finally {
    await source.close()
  }
}

/** Streams the entries of a recording. */
async function* recordedEntries(file: string): AsyncGenerator<Entry> {
  const input = file === '-' ? process.stdin : createReadStream(file)
  const decoder = new RecordingDecoder()
  let yielded = 0
  try {
    for await (const text of input.setEncoding('utf8')) {
      decoder.push(text)
      for (; yielded < decoder.entries.length; yielded++) yield decoder.entries[yielded] as Entry
    }
    decoder.end()
    for (; yielded < decoder.entries.length; yielded++) yield decoder.entries[yielded] as Entry
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    const name = file === '-' ? 'standard input' : file
    throw new CommandError('failed', `${name}: ${error.message}`, error.code)
  }
}
