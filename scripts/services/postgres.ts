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

/** A Postgres of one's own: a fresh cluster with its default settings, and a superuser who needs no password. */
export async function postgres(): Promise<Service> {
  // On the PATH it may be a link; initdb and psql stand beside the program itself.
  const path = realpathSync(await find(program))
  const bin = dirname(path)
  const user = await unprivileged()
  const url = (port: number) => `postgres://postgres@127.0.0.1:${port}/postgres`
  return start({
    name: 'postgres',
    url,
    spec(folder, port) {
      const flags = ['-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--no-locale', '--no-sync']
      const before = { program: join(bin, 'initdb'), args: ['-D', join(folder, 'data'), ...flags] }
      const settings = ['listen_addresses=127.0.0.1', `port=${port}`, `unix_socket_directories=${folder}`]
      const args = ['-D', join(folder, 'data'), ...settings.flatMap(setting => ['-c', setting])]
      return { before, server: { program: path, args }, ...(user && { user }) }
    },
    async answers(folder, port) {
      const psql = run(join(bin, 'psql'), [url(port), '-Atc', 'show data_directory'], { timeout: ANSWER_MS })
      return psql.then(({ stdout }) => stdout.trim() === join(folder, 'data')).catch(() => false)
    },
  })
}

/** Postgres refuses to run as root; its package brings a user for it. */
async function unprivileged(): Promise<ServerSpec['user']> {
  if (process.getuid?.() !== 0) return undefined
  const id = async (flag: string) => Number((await run('id', [flag, 'postgres'])).stdout)
  return { uid: await id('-u'), gid: await id('-g') }
}
