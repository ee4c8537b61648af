import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CommandError } from '../error/command-error.ts'
import { escapeControl } from '../terminal/escape-control.ts'
import { eventText } from './event-text.ts'
import { type DevEvent, Supervisor } from './supervisor.ts'

export interface DevOptions {
  /** A file that exports an app, by the name `app` or as its default. */
  readonly file: string
  /** 4400, if nothing is said; 0 for any that is free. */
  readonly port?: number
  /** The folder of the studio's page; the package's own, if nothing is said. */
  readonly page?: string
  /** Whether all starts anew when code beside the file changes; so if nothing is said. */
  readonly reload?: boolean
  /** Where that goes which the file prints; standard output, if nothing is said. */
  readonly output?: 'stdout' | 'stderr'
  /** Is told what happens; the console is, if nothing is said. */
  readonly tell?: (event: DevEvent) => void
}

/** A dev host that is up. */
export interface DevHost {
  readonly url: string
  /** Where the studio is: the same, unless the app has a page of its own. */
  readonly studio: string
  /** Ends its processes in good order. */
  close(): Promise<void>
}

/** A terminal and who started this may both send the one Ctrl-C that a person meant: so long it counts as one, in milliseconds. */
const ONE_SIGNAL_MS = 300
const INTERRUPTED = 130
/** The studio's page in the published package. */
const PAGE_FOLDER = fileURLToPath(new URL('../../page', import.meta.url))

/** Serves an app and the studio, with a worker beside them, until the process is told to go: once in good order, twice at once. */
export async function dev({
  file,
  port,
  page,
  reload = true,
  tell = say,
  output = 'stdout',
}: DevOptions): Promise<DevHost> {
  mustBeFile(file)
  const options = { file, port: port ?? (await usualPort()), page: studioPageFolder(page), reload, tell, output }
  const supervisor = new Supervisor(options)
  let since: number | undefined
  const leave = (signal: NodeJS.Signals) => {
    const now = performance.now()
    if (signal === 'SIGINT' && since !== undefined && now - since > ONE_SIGNAL_MS) {
      supervisor.kill()
      process.exit(INTERRUPTED)
    }
    since ??= now
    void close().then(() => process.exit(0))
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, leave)
  const close = async () => {
    await supervisor.stop()
    for (const signal of signals) process.off(signal, leave)
  }
  try {
    return { ...(await supervisor.start()), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Throws where there is no file by that name: a file that comes later is waited for only where there was one. */
function mustBeFile(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found?.isFile()) return
  const why = found === undefined ? `There is no file ${file}.` : `${file} is a folder: name the file in it.`
  throw new CommandError('not-found', why, 'file_missing')
}

/** Returns the folder of the studio's page. @throws CommandError if it has no page */
function studioPageFolder(given: string | undefined): string {
  const folder = given ?? PAGE_FOLDER
  if (existsSync(join(folder, 'index.html'))) return folder
  const next = given === undefined ? 'install @millrace/cli again, or build it and give its folder' : 'build it first'
  throw new CommandError('not-found', `The page of the studio is not in ${folder}: ${next}.`, 'page_missing')
}

/** Says that it is up where programs read, and the rest where people do. */
function say(event: DevEvent): void {
  const text = escapeControl(eventText(event))
  if (event.event === 'up') console.log(text)
  else console.error(text)
}

/** Whoever says which port starts sooner: the server is a process of its own, and need not be loaded here. */
const usualPort = async (): Promise<number> => (await import('@millrace/server/internal')).DEFAULT_PORT
