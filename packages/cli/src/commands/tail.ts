import { setTimeout } from 'node:timers/promises'
import { createConnection, RequestError } from '@millrace/client'
import type { Entry } from '@millrace/protocol'
import type { Command } from '../command/command.ts'
import { integerOption, usageError } from '../command/parse-call.ts'
import { entryLine } from '../show/entry-line.ts'
import { mustBeThere, readLog } from '../source/read-log.ts'
import { requestFailure } from '../source/request-failure.ts'
import { openSource, type Source, sourceOptions } from '../source/source.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The delay before a retry after a retryable error, in ms. */
const RETRY_MS = 1_000

/** `millrace tail <session>`: follows the entries of a session. */
export const tailCommand: Command = {
  name: 'tail',
  takes: '<session>',
  about: 'follow a session: a line for each entry, through drops and restarts, until Ctrl-C',
  positionals: [1, 1],
  options: {
    ...sourceOptions,
    after: { value: 'N', about: 'only what lies after this sequence; all, if nothing is said' },
    'no-follow': { about: 'end when all that is there was shown' },
  },
  examples: [
    ['millrace tail trip-1', 'of the server that millrace dev started'],
    ['millrace tail trip-1 --after 120 --json', 'an entry a line as JSON, from the 121st on'],
    ['millrace tail trip-1 --store sqlite:.millrace/millrace.db', 'from the file, with no server running'],
  ],
  async run(call, terminal) {
    const [sessionId] = call.positionals
    if (sessionId === undefined) throw usageError(tailCommand, 'expected <session>')
    const after = integerOption(tailCommand, call, 'after', 0) ?? 0
    const source = await openSource(call)
    const show = (entry: Entry) =>
      terminal.write(`${terminal.isJson ? JSON.stringify(entry) : entryLine(entry, terminal)}\n`)
    try {
      if (call.values['no-follow'] === true) {
        for await (const entry of readLog(source, sessionId, { after })) await show(entry)
      } else await follow(source, sessionId, String(after), terminal, show)
    } finally {
      await source.close()
    }
    return 0
  },
}

/** Shows entries as they arrive until Ctrl-C. After a lost connection it continues from the last cursor. */
async function follow(
  source: Source,
  sessionId: string,
  from: string,
  terminal: Terminal,
  show: (entry: Entry) => Promise<void>,
): Promise<void> {
  // A missing session is an error. Later failures are retried.
  await mustBeThere(source, sessionId)
  let after = from
  while (!terminal.signal.aborted) {
    const connection = createConnection({
      ...source.options,
      session: sessionId,
      after,
      whole: true,
      onSnapshot: ({ cursor, sequence }) => {
        after = cursor
        terminal.say(`These entries are no longer in the log. Continuing after ${sequence}.`)
      },
    })
    const close = () => connection.close()
    terminal.signal.addEventListener('abort', close)
    let isAway = false
    connection.subscribe(() => {
      const { status, reason } = connection.state
      if (status === 'offline' && !isAway) terminal.say(`${source.name} is away (${reason}): trying again.`)
      if (status === 'live' && isAway) terminal.say(`${source.name} is back.`)
      isAway = status === 'offline' || (isAway && status !== 'live')
    })
    try {
      for await (const { sessionId: _, cursor, ...entry } of connection) {
        await show(entry)
        after = cursor ?? after
      }
    } catch (error) {
      // Retryable errors are retried from the last shown entry.
      if (!(error instanceof RequestError && error.retryable)) throw requestFailure(error, source)
      await setTimeout(RETRY_MS, undefined, { signal: terminal.signal }).catch(() => {})
    } finally {
      terminal.signal.removeEventListener('abort', close)
      connection.close()
    }
  }
}
