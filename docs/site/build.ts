import { globSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { command } from '../../scripts/command.ts'
import { writeLlms } from './llms.ts'
import { groups, root } from './pages.ts'
import { stage } from './stage.ts'

/** Where `npm run docs` keeps the site. */
const site = join(root, '.cache/site/out')
const OLD_MS = 3_600_000

/** Builds the site into a folder, in place of what is there; throws where a link is dead, and says which. */
export async function build(out: string = site): Promise<string> {
  removeOld()
  mkdirSync(dirname(out), { recursive: true })
  // Inside docs, where VitePress finds what the pages become. Built aside and moved into place, so that who is interrupted leaves nothing half done.
  const aside = mkdtempSync(join(root, 'docs/.site-'))
  try {
    const staged = stage(join(aside, 'pages'))
    await bundle(join(aside, 'pages'), join(aside, 'out'))
    writeLlms(join(aside, 'out'), groups, staged)
    rmSync(out, { recursive: true, force: true })
    renameSync(join(aside, 'out'), out)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
  return out
}

async function bundle(pages: string, out: string): Promise<void> {
  const args = [join(import.meta.dirname, 'bundle.ts'), pages, out]
  const { code, output } = await command(process.execPath, args, { cwd: join(root, 'docs'), quiet: true })
  if (code !== 0) throw new Error(`The site could not be built:\n${output}`)
}

/** Removes what builds that were killed have left behind; another one that is under way is younger. */
function removeOld(): void {
  for (const folder of globSync(join(root, 'docs/{.site-*,.vitepress/.temp*}'))) {
    if (statSync(folder).mtimeMs < Date.now() - OLD_MS) rmSync(folder, { recursive: true, force: true })
  }
}
