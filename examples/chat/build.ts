import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import { access, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'

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
  // Only who builds needs this, and it is large.
  const vite = await import('vite')
  // Built aside and moved into place: who is interrupted leaves nothing half done, and two at once do not meet.
  const aside = `${folder}.${process.pid}`
  await vite.build({
    configFile: join(import.meta.dirname, 'vite.config.ts'),
    logLevel: 'warn',
    build: { outDir: aside, emptyOutDir: true },
  })
  await rename(aside, folder).catch(async (error: unknown) => {
    await rm(aside, { recursive: true, force: true })
    if (!(await isThere(folder))) throw error
  })
  await removeOthers(folder)
  tell(`Built in ${((performance.now() - from) / 1000).toFixed(1)} s`)
  return folder
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
