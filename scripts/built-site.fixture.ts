import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { build } from '../docs/site/build.ts'
import { root } from '../docs/site/pages.ts'
import { staged } from '../docs/site/stage.ts'

const CACHE = join(root, '.cache/site')
const KEPT_MS = 7 * 24 * 3_600_000

/** The folder of the built site. Builds it, which takes 15 s of CPU time, when the pages or their theme have changed since the last time. */
export async function builtSite(): Promise<string> {
  const folder = join(CACHE, `built-${fingerprint()}`)
  if (existsSync(folder)) {
    utimesSync(folder, new Date(), new Date())
    return folder
  }
  const temporary = await build(`${folder}.${process.pid}`)
  try {
    renameSync(temporary, folder)
  } catch (error) {
    // Another process was faster.
    rmSync(temporary, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  }
  removeOld()
  return folder
}

function fingerprint(): string {
  const hash = createHash('sha256').update(JSON.stringify(staged()))
  const files = globSync(['docs/**', 'docs/.vitepress/**', 'pnpm-lock.yaml'], {
    cwd: root,
    exclude: name => /(^|\/)(node_modules|\.site-[^/]*|\.temp[^/]*)$/.test(name),
  })
  for (const file of files.sort()) {
    const path = join(root, file)
    if (statSync(path, { throwIfNoEntry: false })?.isFile()) hash.update(file).update(readFileSync(path))
  }
  return hash.digest('hex').slice(0, 16)
}

function removeOld(): void {
  for (const folder of globSync(join(CACHE, 'built-*'))) {
    const { mtimeMs } = statSync(folder, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() }
    if (mtimeMs < Date.now() - KEPT_MS) rmSync(folder, { recursive: true, force: true })
  }
}
