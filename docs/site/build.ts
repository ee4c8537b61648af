import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeLlms } from './llms.ts'
import { groups, root } from './pages.ts'
import { stage } from './stage.ts'

/** Where `npm run docs` keeps the site. */
const site = join(root, '.cache/site/out')

/** Builds the site into a folder, in place of what is there; throws where a link is dead, and says which. */
export async function build(out: string = site): Promise<string> {
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
  const child = spawn(process.execPath, args, { cwd: join(root, 'docs'), stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (said += text))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`The site could not be built:\n${said}`)
}
