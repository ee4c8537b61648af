// `npm test -- --wide`: Millrace with software that the core does not depend on, such as other hosts and runtimes. Its packages are
// installed into `wide/node_modules` from a lockfile of their own.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { command, root } from './command.ts'
import { pnpmEnv } from './pnpm-env.ts'
import { WIDE } from './testing/suites.ts'

const folder = join(root, WIDE)

process.exitCode =
  (await install()) ||
  (await types()) ||
  (await command('vitest', ['run', join(folder, '/'), ...process.argv.slice(2)])).code

/** Installs if the manifest, the lockfile or the settings have changed since the last install. */
async function install(): Promise<number> {
  const stamp = join(folder, 'node_modules', '.installed')
  const hash = createHash('sha256')
  for (const file of ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml'])
    hash.update(readFileSync(join(folder, file)))
  const now = hash.digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === now) return 0
  const args = ['install', '--frozen-lockfile', '--reporter=append-only']
  const { code } = await command('pnpm', args, { cwd: folder, env: await pnpmEnv() })
  if (code === 0) writeFileSync(stamp, now)
  return code
}

async function types(): Promise<number> {
  return (await command('tsc', ['-p', folder])).code
}
