import { cpSync, existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, extname, join, posix } from 'node:path'
import { anchorsOf, withTargets } from './markdown.ts'
import { type Page, pages, root } from './pages.ts'

/** A page with its text, in which repository links are replaced by site links. */
export type Staged = Page & { readonly text: string }

/** Folders that a page outside of them documents. */
const TOLD: Readonly<Record<string, string>> = { studio: 'docs/guide/studio.md' }
const IMAGES = new Set(['.png', '.svg'])
const SOURCE = /\.(ts|tsx|js|mjs)$|^LICENSE$/

/** All pages with resolved links, and pages for the source files that they link. @throws if a link is dead */
export function staged(list: readonly Page[] = pages): Staged[] {
  const sources = new Map<string, Staged>()
  const dead: string[] = []
  const site = list.map(page => {
    const file = page.file.endsWith('.md') ? page.file : `${page.file}/README.md`
    const text = withTargets(textOf(page), ({ target, line }) => {
      const to = resolved(file, target, list, sources)
      if (to === undefined) dead.push(`${file}:${line}: ${target}`)
      return to ?? target
    })
    return { ...page, text }
  })
  if (dead.length > 0) throw new Error(`These links point nowhere:\n${dead.join('\n')}`)
  return [...site, ...sources.values()]
}

/** Writes the pages of the site into a folder, and their images into `public`. */
export function stage(into: string): Staged[] {
  const site = staged()
  for (const { path, text } of site) {
    const file = join(into, `${path}.md`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  for (const folder of ['public', 'images', 'drawings']) {
    const from = join(root, 'docs', folder)
    const to = folder === 'public' ? join(into, 'public') : join(into, 'public', folder)
    if (existsSync(from)) cpSync(from, to, { recursive: true })
  }
  return site
}

/** The text of a page in the repository. For an example: its README and its source. */
export function textOf({ file, title, about }: Page): string {
  if (file.endsWith('.md')) return readFileSync(join(root, file), 'utf8')
  const readme = join(root, file, 'README.md')
  const head = existsSync(readme) ? readFileSync(readme, 'utf8') : `# ${title}\n\n${about}.\n`
  const files = globSync('{*,agents/*}.ts', { cwd: join(root, file) }).sort()
  const shown = files.filter(name => !/\.(test|fixture)\.ts$/.test(name))
  return [head.trimEnd(), ...shown.map(name => `## ${name}\n\n${fenced(join(file, name))}`)].join('\n\n')
}

/** The site address of a link. Source files that are not pages get a page of their own. */
function resolved(file: string, target: string, list: readonly Page[], sources: Map<string, Staged>) {
  if (/^[a-z]+:/.test(target)) return target
  const [path = '', hash] = target.split('#')
  const named = path === '' ? file : posix.join(posix.dirname(file), path).replace(/\/$/, '')
  const id = TOLD[named] ?? named
  if (!existsSync(join(root, id))) return undefined
  if (IMAGES.has(extname(id))) return id.startsWith('docs/') ? id.replace(/^docs(\/public)?/, '') : undefined
  const to = list.find(page => page.file === id || `${page.file}/README.md` === id) ?? firstIn(id, list)
  if (to !== undefined) {
    if (hash !== undefined && !anchorsOf(textOf(to)).has(hash)) return undefined
    return path === '' ? `#${hash}` : `/${to.path}.md${hash === undefined ? '' : `#${hash}`}`
  }
  if (!SOURCE.test(id) || hash !== undefined) return undefined
  const source = sources.get(id) ?? sourceOf(id)
  sources.set(id, source)
  return `/${source.path}.md`
}

/** A folder resolves to its README, otherwise to its first page. */
function firstIn(folder: string, list: readonly Page[]): Page | undefined {
  if (!statSync(join(root, folder)).isDirectory()) return undefined
  const readme = list.find(page => page.file === `${folder}/README.md`)
  return readme ?? list.find(page => page.file.startsWith(`${folder}/`))
}

function sourceOf(file: string): Staged {
  const title = file.replace(/^packages\//, '')
  const text = `# ${title}\n\n${fenced(file)}`
  return { file, path: `source/${title.replace(/\W+/g, '-')}`, title, about: `The source of ${file}`, text }
}

const fenced = (file: string): string =>
  `\`\`\`${extname(file).slice(1)}\n${readFileSync(join(root, file), 'utf8')}\`\`\`\n`
