import { globSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { command } from '../../scripts/command.ts'
import { writeLlms } from './llms.ts'
import { groups, root } from './pages.ts'
import { stage } from './stage.ts'

/** The folder of the site that `npm run docs` serves. */
const site = join(root, '.cache/site/out')
const OLD_MS = 3_600_000

/** Builds the site into a folder and replaces its content. @throws if a link is dead */
export async function build(out: string = site): Promise<string> {
  removeOld()
  mkdirSync(dirname(out), { recursive: true })
  // Inside docs, so that VitePress finds its packages. Built in a temporary folder and renamed, so that an interrupted build
  // leaves no partial site.
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

/** Removes folders of killed builds. The folder of a running build is newer. */
function removeOld(): void {
  for (const folder of globSync(join(root, 'docs/{.site-*,.vitepress/.temp*}'))) {
    if (statSync(folder).mtimeMs < Date.now() - OLD_MS) rmSync(folder, { recursive: true, force: true })
  }
}
