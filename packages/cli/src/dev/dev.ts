import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CommandError } from '../error/command-error.ts'
import { escapeControl } from '../terminal/escape-control.ts'
import { type DevEvent, Supervisor } from './supervisor.ts'

/** Options of `dev`. */
export interface DevOptions {
  /** A file that exports an app as `app` or as default. */
  readonly file: string
  /** The port. 0 selects a free port. @default 4400 */
  readonly port?: number
  /** The folder of the studio's page. @default the folder in this package */
  readonly page?: string
  /** Whether to restart when code in the folder of the file changes. @default true */
  readonly reload?: boolean
  /** The destination of the file's output. @default 'stdout' */
  readonly output?: 'stdout' | 'stderr'
  /** Called with each event. @default prints to the console */
  readonly onEvent?: (event: DevEvent) => void
}

/** A running dev host. */
export interface DevHost {
  /** The URL of the app. */
  readonly url: string
  /** The URL of the studio. Equals `url` unless the app has its own page. */
  readonly studio: string
  /** Stops its processes gracefully. */
  close(): Promise<void>
}

/** Signals within this time count as one Ctrl-C, in ms: the terminal and the parent process may both send one. */
const SIGNAL_DEBOUNCE_MS = 300
const INTERRUPTED_EXIT_CODE = 130
/** The studio's page in the published package. */
const PAGE_FOLDER = fileURLToPath(new URL('../../page', import.meta.url))

/**
 * Serves an app and the studio, with a worker process, until a signal. The first signal stops gracefully, a second Ctrl-C kills.
 * @throws CommandError `file_missing`, `page_missing` or `port_taken`; without `reload` also if the file or the store fails.
 */
export async function dev({
  file,
  port,
  page,
  reload = true,
  onEvent = printEvent,
  output = 'stdout',
}: DevOptions): Promise<DevHost> {
  assertFile(file)
  const options = { file, port: port ?? (await defaultPort()), page: studioPageFolder(page), reload, onEvent, output }
  const supervisor = new Supervisor(options)
  let firstSignalAt: number | undefined
  const onSignal = (signal: NodeJS.Signals) => {
    const now = performance.now()
    if (signal === 'SIGINT' && firstSignalAt !== undefined && now - firstSignalAt > SIGNAL_DEBOUNCE_MS) {
      supervisor.kill()
      process.exit(INTERRUPTED_EXIT_CODE)
    }
    firstSignalAt ??= now
    void close().then(() => process.exit(0))
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, onSignal)
  const close = async () => {
    await supervisor.stop()
    for (const signal of signals) process.off(signal, onSignal)
  }
  try {
    return { ...(await supervisor.start()), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** @throws CommandError if the file does not exist at the start. If it disappears later, the host waits for it. */
function assertFile(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found?.isFile()) return
  const message =
    found === undefined
      ? `There is no file ${file}: check the path.`
      : `Expected a file, found the folder ${file}: choose a file in it.`
  throw new CommandError('not-found', message, 'file_missing')
}

/** Returns the folder of the studio's page. @throws CommandError if it has no page */
function studioPageFolder(page: string | undefined): string {
  const folder = page ?? PAGE_FOLDER
  if (existsSync(join(folder, 'index.html'))) return folder
  const next =
    page === undefined
      ? 'reinstall @millrace/cli, or build the studio and pass its folder with --page'
      : 'build it first'
  throw new CommandError('not-found', `Expected the studio in ${folder}, found no index.html: ${next}.`, 'page_missing')
}

/** Prints the `up` event to standard output, all others to standard error. */
function printEvent(event: DevEvent): void {
  const text = escapeControl(eventText(event))
  if (event.event === 'up') console.log(text)
  else console.error(text)
}

/** The default port. Loads the server package only if no port is given, which makes the start faster. */
const defaultPort = async (): Promise<number> => (await import('@millrace/server/internal')).DEFAULT_PORT

/** An event of a dev host as one line of text. */
export function eventText(event: DevEvent): string {
  switch (event.event) {
    case 'up': {
      const studio = event.studio === event.url ? '' : `\nThe studio is at ${event.studio}`
      return `Millrace is running at ${event.url}${studio}`
    }
    case 'alone':
      return 'The store is in memory: server and worker run in one process.'
    case 'loading':
      return `${event.file} is still loading. Check for a top-level await that never resolves.`
    case 'reloading':
      return `${event.changed} changed. Restarting.`
    case 'back':
      return 'The server is running again.'
    case 'broken':
      return `${event.message}\nWaiting for changes.`
    case 'failed':
      return `The ${event.process} cannot start: ${event.message} ${restartText(event.againMs)}`
    case 'ended': {
      const how = typeof event.how === 'number' ? `with code ${event.how}` : `by ${event.how}`
      return `The ${event.process} exited ${how}. ${restartText(event.againMs)}`
    }
  }
}

const restartText = (ms: number): string => (ms === 0 ? 'Restarting.' : `Restarting in ${(ms / 1000).toFixed(1)} s.`)
