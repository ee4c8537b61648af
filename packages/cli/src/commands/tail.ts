import { createConnection, RequestError } from '@millrace/client'
import type { Entry } from '@millrace/protocol'
import { RetryDelay, reconnecting } from '@millrace/protocol/retry'
import type { Command } from '../command/command.ts'
import { integerOption, usageError } from '../command/parse-arguments.ts'
import { entryLine } from '../show/entry-line.ts'
import { assertSessionExists, readLog, requestFailure } from '../source/read-log.ts'
import { openSource, type Source, sourceOptions } from '../source/source.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `millrace tail <session>`: follows the entries of a session. */
export const tailCommand: Command = {
  name: 'tail',
  takes: '<session>',
  about: 'print the entries of a session as they arrive, until Ctrl-C',
  positionals: [1, 1],
  options: {
    ...sourceOptions,
    after: { value: 'N', about: 'start after this sequence (default: 0)' },
    'no-follow': { about: 'print the existing entries and exit' },
  },
  examples: [
    ['millrace tail trip-1', 'follow a session of the server'],
    ['millrace tail trip-1 --after 120 --json', 'print entries as JSON, from 121'],
    ['millrace tail trip-1 --store sqlite:.millrace/millrace.db', 'read the database file, without a server'],
  ],
  async run(args, terminal) {
    const [sessionId] = args.positionals
    if (sessionId === undefined) throw usageError(tailCommand, 'expected <session>')
    const after = integerOption(tailCommand, args, 'after', 0) ?? 0
    const source = await openSource(args)
    const show = (entry: Entry) =>
      terminal.write(`${terminal.isJson ? JSON.stringify(entry) : entryLine(entry, terminal)}\n`)
    try {
      if (args.values['no-follow'] === true) {
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
  startAfter: string,
  terminal: Terminal,
  show: (entry: Entry) => Promise<void>,
): Promise<void> {
  // A missing session is an error. Later failures are retried.
  await assertSessionExists(source, sessionId)
  const { signal } = terminal
  const delay = new RetryDelay()
  let after = startAfter
  // The connection reconnects by itself. It gives up after repeated replies with an unexpected status, such as from a proxy.
  async function* connect(): AsyncGenerator<Entry, boolean, undefined> {
    const connection = createConnection({
      ...source.options,
      session: sessionId,
      after,
      includeDiscarded: true,
      onSnapshot: ({ cursor, sequence }) => {
        after = cursor
        terminal.say(`These entries are no longer in the log. Continuing after ${sequence}.`)
      },
    })
    const close = () => connection.close()
    signal.addEventListener('abort', close)
    let isOffline = false
    connection.subscribe(() => {
      const { status, reason } = connection.state
      if (status === 'offline' && !isOffline)
        terminal.say(`Lost the connection to ${source.name} (${reason}). Reconnecting.`)
      if (status === 'live' && isOffline) terminal.say(`Reconnected to ${source.name}.`)
      isOffline = status === 'offline' || (isOffline && status !== 'live')
    })
    try {
      for await (const { sessionId: _, cursor, ...entry } of connection) {
        delay.progressed()
        yield entry
        after = cursor ?? after
      }
      return signal.aborted
    } finally {
      signal.removeEventListener('abort', close)
      connection.close()
    }
  }
  const isFinal = (error: unknown) => !(error instanceof RequestError && error.retryable)
  try {
    for await (const entry of reconnecting(connect, delay, isFinal, error => error, signal)) await show(entry)
  } catch (error) {
    if (!signal.aborted) throw requestFailure(error, source)
  }
}
