import { execFile } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { find, type Program } from './program.ts'
import { type ServerSpec, type Service, start } from './server.ts'

export const program: Program = {
  name: 'Postgres',
  commands: ['postgres'],
  places: [
    '/usr/lib/postgresql/*/bin/postgres',
    '/opt/homebrew/opt/postgresql@*/bin/postgres',
    '/usr/local/opt/postgresql@*/bin/postgres',
  ],
  apt: 'postgresql',
  brew: 'postgresql@17',
}

const ANSWER_MS = 5_000

const run = promisify(execFile)

/**
 * A Postgres of one's own: a fresh cluster with its default settings but these, e.g. `{ synchronous_commit: 'off' }`, and a superuser
 * who needs no password. Only a power cut, which `kill()` is not, loses anything by `{ fsync: 'off' }`, and a restart after a crash is
 * then some fifty times faster.
 */
export async function postgres({ settings = {} }: { settings?: Record<string, string> } = {}): Promise<Service> {
  // On the PATH it may be a link; initdb and psql stand beside the program itself.
  const path = realpathSync(await find(program))
  const bin = dirname(path)
  const user = await unprivileged()
  const url = (port: number) => `postgres://postgres@127.0.0.1:${port}/postgres`
  const psql = async (port: number, ...commands: string[]) => {
    const args = [url(port), '-At', ...commands.flatMap(command => ['-c', command])]
    return (await run(join(bin, 'psql'), args, { timeout: ANSWER_MS })).stdout.trim()
  }
  return start({
    name: 'postgres',
    url,
    spec(folder, port) {
      const data = join(folder, 'data')
      const flags = ['-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--no-locale', '--no-sync']
      const before = { program: join(bin, 'initdb'), args: ['-D', data, ...flags] }
      const own = { listen_addresses: '127.0.0.1', port: `${port}`, unix_socket_directories: folder }
      const all = Object.entries({ ...settings, ...own }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
      return {
        before,
        server: { program: path, args: ['-D', data, ...all] },
        // Who has the number that a killed server had is not that server, but Postgres could take it for that.
        stale: [join(data, 'postmaster.pid')],
        // It reads its input, which is empty, and ends; shared memory of the one before goes with its own.
        sweep: { program: path, args: ['--single', '-F', '-D', data, 'postgres'] },
        ...(user && { user }),
      }
    },
    answers: (folder, port) =>
      psql(port, 'show data_directory').then(
        directory => directory === join(folder, 'data'),
        () => false,
      ),
    async settle(port) {
      // A commit that writes something and waits for the disk brings all those before it there, also those that did not wait.
      await psql(port, 'set synchronous_commit = on', `select pg_logical_emit_message(true, '', '')`)
    },
  })
}

/** Postgres refuses to run as root; its package brings a user for it. */
async function unprivileged(): Promise<ServerSpec['user']> {
  if (process.getuid?.() !== 0) return undefined
  const id = async (flag: string) => Number((await run('id', [flag, 'postgres'])).stdout)
  return { uid: await id('-u'), gid: await id('-g') }
}
