import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { access, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = resolve(import.meta.dirname, '../..')
const cache = join(root, '.cache', 'chat')
const SOURCES = [
  'pnpm-lock.yaml',
  'examples/chat/{index.html,vite.config.ts}',
  'examples/chat/{src,styles,public}/**',
  'packages/{protocol,dialects,client,react}/{package.json,src/**}',
]

/** The folder of the page, built when its sources have changed since the last time; `tell` hears of how it goes. */
export async function build(tell: (line: string) => void = () => {}): Promise<string> {
  const folder = join(cache, await fingerprint())
  if (await isThere(folder)) return folder
  const from = performance.now()
  tell('Building the page')
  // Built aside and moved into place: who is interrupted leaves nothing half done, and two at once do not meet.
  const aside = `${folder}.${process.pid}`
  await vite('build', import.meta.dirname, '--outDir', aside, '--emptyOutDir', '--logLevel', 'warn')
  await rename(aside, folder).catch(async (error: unknown) => {
    await rm(aside, { recursive: true, force: true })
    if (!(await isThere(folder))) throw error
  })
  await removeOthers(folder)
  tell(`Built in ${((performance.now() - from) / 1000).toFixed(1)} s`)
  return folder
}

/** A process of its own: it is large, and says by its environment whether a page is for people or for tests. */
async function vite(...args: readonly string[]): Promise<void> {
  const program = join(fileURLToPath(import.meta.resolve('vite/package.json')), '../bin/vite.js')
  const env = { ...process.env, NODE_ENV: 'production' }
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`The page could not be built: vite ended with ${code}.`)
}

/** What the page is made of, in a word: file times say little after a clone. */
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

/** Of pages that were built, the last is enough; what is just being built stays. */
async function removeOthers(folder: string): Promise<void> {
  for (const name of await readdir(cache)) {
    const other = join(cache, name)
    if (other !== folder && !name.includes('.')) await rm(other, { recursive: true, force: true })
  }
}
