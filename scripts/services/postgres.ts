import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram, type Program } from './program.ts'
import { type ServerSpec, type Service, type ServiceOptions, startServer } from './server.ts'

export const program: Program = {
  name: 'Postgres',
  commands: ['postgres'],
  paths: [
    '/usr/lib/postgresql/*/bin/postgres',
    '/opt/homebrew/opt/postgresql@*/bin/postgres',
    '/usr/local/opt/postgresql@*/bin/postgres',
  ],
  apt: 'postgresql',
  brew: 'postgresql@17',
}

const ANSWER_TIMEOUT_MS = 30_000
const CACHE = join(import.meta.dirname, '../../.cache/services')
const INITDB = ['-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--no-locale', '--no-sync']

const run = promisify(execFile)

type PostgresOptions = ServiceOptions & {
  /** Cache folder for the result of initdb. @default .cache/services of the repository */
  cache?: string
}

/**
 * Starts a Postgres with a fresh cluster, settings such as `{ synchronous_commit: 'off' }`, and a superuser without a password. With `{ fsync: 'off' }` only a power cut loses data,
 * `kill()` does not, and a restart after a crash is about fifty times faster.
 */
export async function postgres({
  settings = {},
  isOnDisk = false,
  cache = CACHE,
}: PostgresOptions = {}): Promise<Service> {
  // The program on the PATH can be a link. initdb and psql are beside its target.
  const path = realpathSync(await findProgram(program))
  const bin = dirname(path)
  const user = await unprivileged()
  const url = (port: number) => `postgres://postgres@127.0.0.1:${port}/postgres`
  const psql = async (port: number, ...commands: string[]) => {
    const args = [url(port), '-At', ...commands.flatMap(command => ['-c', command])]
    return (await run(join(bin, 'psql'), args, { timeout: ANSWER_TIMEOUT_MS })).stdout.trim()
  }
  return startServer({
    name: 'postgres',
    isOnDisk,
    url,
    spec(folder, port) {
      const data = join(folder, 'data')
      const requiredSettings = { listen_addresses: '127.0.0.1', port: `${port}`, unix_socket_directories: folder }
      const all = Object.entries({ ...settings, ...requiredSettings }).flatMap(([name, value]) => [
        '-c',
        `${name}=${value}`,
      ])
      return {
        prepare: { program: join(bin, 'initdb'), args: ['-D', data, ...INITDB] },
        cache: join(cache, `postgres-${versionOf(path, user)}`),
        server: { program: path, args: ['-D', data, ...all] },
        // Another process can get the id of the killed server, and Postgres would take it for the server.
        staleFiles: [join(data, 'postmaster.pid')],
        // It reads empty input and ends. On exit it also removes the shared memory of the killed server.
        cleanUp: { program: path, args: ['--single', '-F', '-D', data, 'postgres'] },
        ...(user && { user }),
      }
    },
    isReady: async (folder, port) => isReady(join(folder, 'data'), port),
    async flush(port) {
      // A commit that waits for the disk also flushes all earlier commits.
      await psql(port, 'set synchronous_commit = on', `select pg_logical_emit_message(true, '', '')`)
    },
  })
}

/** Postgres refuses to run as root. Its package creates a user for it. */
async function unprivileged(): Promise<ServerSpec['user']> {
  if (process.getuid?.() !== 0) return undefined
  const id = async (flag: string) => Number((await run('id', [flag, 'postgres'])).stdout)
  return { uid: await id('-u'), gid: await id('-g') }
}

/** Whether the server of this data folder accepts connections, according to its lock file, which `pg_ctl` also uses. */
function isReady(data: string, port: number): boolean {
  try {
    const lines = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
    return lines[3] === `${port}` && lines[7]?.trim() === 'ready'
  } catch {
    return false
  }
}

/** A short name for everything that a cluster depends on: the program, its version, the owner of the files and the flags. */
function versionOf(path: string, user: ServerSpec['user']): string {
  const { mtimeMs, size } = statSync(path)
  const parts = [path, mtimeMs, size, user?.uid ?? process.getuid?.(), ...INITDB]
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 16)
}
