import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { access, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = resolve(import.meta.dirname, '..')
const cache = join(root, '.cache', 'studio')
const KEPT_MS = 7 * 24 * 3_600_000
const SOURCES = [
  'pnpm-lock.yaml',
  'studio/{index.html,vite.config.ts}',
  'studio/{src,styles,public}/**',
  'packages/{protocol,dialects,client,react}/{package.json,src/**}',
]

/** Builds the page if its sources have changed. Returns its folder. */
export async function build(report: (line: string) => void = () => {}): Promise<string> {
  const folder = join(cache, await fingerprint())
  if (await isThere(folder)) {
    await utimes(folder, new Date(), new Date())
    return folder
  }
  const from = performance.now()
  report('Building the studio…')
  // Built in a temporary folder and renamed, so that interrupted and concurrent builds leave no partial output.
  const temporary = `${folder}.${process.pid}`
  await vite('build', import.meta.dirname, '--outDir', temporary, '--emptyOutDir', '--logLevel', 'warn')
  await rename(temporary, folder).catch(async (error: unknown) => {
    await rm(temporary, { recursive: true, force: true })
    if (!(await isThere(folder))) throw error
  })
  await removeOld()
  report(`Studio built in ${((performance.now() - from) / 1000).toFixed(1)} s`)
  return folder
}

/** Runs Vite in a child process, with NODE_ENV for production. */
async function vite(...args: readonly string[]): Promise<void> {
  const program = join(fileURLToPath(import.meta.resolve('vite/package.json')), '../bin/vite.js')
  const env = { ...process.env, NODE_ENV: 'production' }
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`Expected vite to build the studio, but it exited with code ${code}.`)
}

/** Hash of all sources. File times are not reliable after a clone. */
async function fingerprint(): Promise<string> {
  const files = globSync(SOURCES, { cwd: root, withFileTypes: true })
    .filter(entry => entry.isFile() && !/\.(test|fixture)\.tsx?$/.test(entry.name))
    .map(entry => join(entry.parentPath, entry.name))
    .sort()
  const hash = createHash('sha256')
  for (const file of files) hash.update(file.slice(root.length)).update(await readFile(file))
  return hash.digest('hex').slice(0, 16)
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** Removes builds that were not used for 7 days. Newer ones may still be served. */
async function removeOld(): Promise<void> {
  for (const name of await readdir(cache)) {
    const path = join(cache, name)
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }))
    if (mtimeMs < Date.now() - KEPT_MS) await rm(path, { recursive: true, force: true })
  }
}
