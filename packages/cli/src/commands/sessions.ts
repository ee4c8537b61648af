import { createConnection } from '@millrace/client'
import { encodeRecording } from '@millrace/client/log'
import type { View } from '@millrace/protocol'
import type { SessionSummary } from '@millrace/server'
import type { Command, ParsedArguments } from '../command/command.ts'
import { nearest } from '../command/nearest.ts'
import { integerOption, usageError } from '../command/parse-arguments.ts'
import { CommandError } from '../error/command-error.ts'
import { messageText } from '../show/chunk-summary.ts'
import { readLog, requestFailure } from '../source/read-log.ts'
import { openSource, type Source, sourceOptions } from '../source/source.ts'
import { oneLine } from '../terminal/escape-control.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The maximum page size of a session list. */
const MAX_PAGE_SIZE = 200
/** The number of entries between progress messages. */
const PROGRESS_ENTRIES = 10_000

const VERBS = ['list', 'show', 'export', 'rm'] as const
type Verb = (typeof VERBS)[number]

/** `millrace sessions`: lists, shows, exports and removes sessions. */
export const sessionsCommand: Command = {
  name: 'sessions',
  takes: '[list | show <id> | export <id> | rm <id>]',
  about: 'list, show, export or remove sessions',
  positionals: [0, 2],
  options: {
    ...sourceOptions,
    limit: { value: 'N', about: 'number of sessions to list, newest first (default: 50)' },
    yes: { short: 'y', about: 'remove without confirmation' },
  },
  examples: [
    ['millrace sessions', 'list sessions, newest first'],
    ['millrace sessions show trip-1', 'show messages, runs and pending requests'],
    ['millrace sessions export trip-1 > trip-1.jsonl', 'export for millrace replay or the studio'],
    ['millrace sessions rm trip-1 --yes', 'remove a session with all its data'],
    ['millrace sessions --store sqlite:.millrace/millrace.db --json', 'read the database file, print JSON'],
  ],
  async run(args, terminal) {
    const { verb, id } = parseVerb(args)
    const source = await openSource(args)
    try {
      if (id === undefined) await list(source, integerOption(sessionsCommand, args, 'limit', 1) ?? 50, terminal)
      else if (verb === 'show') await show(source, id, terminal)
      else if (verb === 'export') await exportSession(source, id, terminal)
      else return await remove(source, id, terminal, args.values['yes'] === true)
    } catch (error) {
      throw requestFailure(error, source)
    } finally {
      await source.close()
    }
    return 0
  },
}

function parseVerb({ positionals }: ParsedArguments): { readonly verb: Verb; readonly id?: string } {
  const [input = 'list', id] = positionals
  const verb = VERBS.find(name => name === input)
  if (verb === undefined) {
    const suggestion = nearest(input, VERBS)
    const hint = suggestion === undefined ? `expected one of ${VERBS.join(', ')}` : `did you mean ${suggestion}?`
    throw usageError(sessionsCommand, `unknown subcommand ${input}: ${hint}`)
  }
  if (verb === 'list' && id !== undefined) throw usageError(sessionsCommand, `list takes no session, found ${id}`)
  if (verb !== 'list' && id === undefined) throw usageError(sessionsCommand, `${verb} needs a session: ${verb} <id>`)
  return id === undefined ? { verb } : { verb, id }
}

const pathOf = (sessionId: string): string => `/sessions/${encodeURIComponent(sessionId)}`

const apiOf = ({ options }: Source) => createConnection(options).api

interface ListPage {
  readonly sessions: readonly SessionSummary[]
  readonly next: string | null
}

async function list(source: Source, limit: number, terminal: Terminal): Promise<void> {
  let remaining = limit
  let after = ''
  let isEmpty = true
  while (remaining > 0) {
    const page: ListPage = await apiOf(source).ask(
      'GET',
      `/sessions?limit=${Math.min(remaining, MAX_PAGE_SIZE)}${after}`,
    )
    for (const session of page.sessions) {
      isEmpty = false
      await terminal.write(`${terminal.isJson ? JSON.stringify(session) : rowOf(session, terminal)}\n`)
    }
    remaining -= page.sessions.length
    if (page.next === null || page.sessions.length === 0) break
    after = `&after=${encodeURIComponent(page.next)}`
  }
  if (isEmpty) terminal.say(`No sessions at ${source.name}.`)
}

function rowOf(
  { sessionId, title, line = '', status, updated, sequence }: SessionSummary,
  { paint }: Terminal,
): string {
  const isFinished = status === 'ended' || status === 'idle'
  return [
    paint('bold', oneLine(sessionId, 64).padEnd(24)),
    paint(isFinished ? 'dim' : 'yellow', oneLine(status, 16).padEnd(8)),
    paint('dim', new Date(updated).toISOString().replace('T', ' ').slice(0, 19)),
    paint('dim', String(sequence).padStart(7)),
    oneLine(title ?? line, 60),
  ].join('  ')
}

interface SessionDetails {
  readonly sequence: number
  readonly title?: string
  readonly view: {
    readonly messages: readonly {
      readonly role: string
      readonly agentType?: string
      readonly parts: readonly { readonly type: string }[]
    }[]
    readonly pendings: readonly { readonly kind: string }[]
    readonly runs: readonly { readonly runId: string; readonly status: string; readonly program?: string }[]
  }
}

async function show(source: Source, id: string, terminal: Terminal): Promise<void> {
  const session: SessionDetails = await apiOf(source).ask('GET', pathOf(id))
  if (terminal.isJson) return terminal.write(`${JSON.stringify(session)}\n`)
  const { view, sequence, title } = session
  const { paint } = terminal
  const lines = [paint('bold', title ?? id), `${view.messages.length} messages, ${sequence} entries`, '']
  for (const { role, agentType, parts } of view.messages) {
    lines.push(`${paint('cyan', oneLine(agentType ?? role, 40))}  ${messageText(parts.filter(isShown))}`)
  }
  for (const { runId, status, program = '' } of view.runs) {
    lines.push(paint('dim', `run ${oneLine(runId, 64)} ${oneLine(program, 64)} ${oneLine(status, 16)}`))
  }
  for (const { kind } of view.pendings) lines.push(paint('yellow', `waits for ${oneLine(kind, 40)}`))
  await terminal.write(`${lines.join('\n')}\n`)
}

const isShown = ({ type }: { readonly type: string }): boolean => type !== 'step-start' && type !== 'reasoning'

/** The view that replaces the trimmed entries, and the cursor to continue from: at the floor of the log, or at the head if the source has only the current view. */
async function snapshotAt(source: Source, id: string, floor: number): Promise<Snapshot> {
  if (source.viewAt) return { view: await source.viewAt(id, floor), sequence: floor, cursor: String(floor) }
  return apiOf(source).ask('GET', pathOf(id))
}

interface Snapshot {
  readonly view: View
  readonly sequence: number
  readonly cursor: string
}

/** Streams a session into the lines of a recording. */
async function exportSession(source: Source, id: string, terminal: Terminal): Promise<void> {
  let count = 0
  let hasStarted = false
  const writeHeader = async (base?: View) => {
    if (hasStarted) return
    hasStarted = true
    for (const line of encodeRecording({ sessionId: id, entries: [], base })) await terminal.write(line)
  }
  const onTrimmed = async (floor: number) => {
    if (hasStarted) {
      throw new CommandError('failed', `Entries up to ${floor} were trimmed during the export: export it again.`)
    }
    const { view, cursor, sequence } = await snapshotAt(source, id, floor)
    terminal.say(`Entries up to ${sequence} were trimmed: exported as a snapshot instead.`)
    await writeHeader(view)
    return cursor
  }
  for await (const entry of readLog(source, id, { onTrimmed })) {
    // Only after the first entry is read, so that a missing session writes nothing.
    await writeHeader()
    await terminal.write(`${JSON.stringify(entry)}\n`)
    if (++count % PROGRESS_ENTRIES === 0) terminal.say(`${count} entries`)
  }
  await writeHeader()
  terminal.say(`${count} entries of ${id}`)
}

async function remove(source: Source, id: string, terminal: Terminal, isConfirmed: boolean): Promise<number> {
  await apiOf(source).ask('GET', `${pathOf(id)}?messages=last:1`)
  if (!isConfirmed) {
    const answer = await terminal.ask(`Remove the session ${id} with all its data? [y/N] `)
    if (answer === undefined)
      throw new CommandError(
        'usage',
        'Cannot ask for confirmation without a terminal. Use --yes to remove the session.',
      )
    if (!/^y(es)?$/i.test(answer.trim())) {
      terminal.say('Not removed.')
      return 1
    }
  }
  await apiOf(source).request('DELETE', pathOf(id))
  if (terminal.isJson) await terminal.write(`${JSON.stringify({ removed: id })}\n`)
  else terminal.say(`Removed the session ${id}.`)
  return 0
}
