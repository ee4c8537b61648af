import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Group } from './pages.ts'
import type { Staged } from './stage.ts'

const HEAD = `# Millrace

> Millrace carries an AI agent's work from the model to the screen, as one durable, typed, resumable stream. Every session has one append-only log. A run writes it, and everything else is read from it.

It is written in TypeScript for Node 22.18 or newer. The client packages also run in browsers. Every page is available as Markdown at the address listed here. [All pages in one file](/llms-full.txt).
`

/** The list of all pages for a language model, by the convention of llms.txt. Optional pages come last. */
function llms(groups: readonly Group[], site: readonly Staged[]): string {
  const all = groups.flatMap(({ sections }) => sections)
  const listed = new Set(all.flatMap(({ pages }) => pages.map(({ path }) => path)))
  const sources = site.filter(({ path }) => !listed.has(path))
  const line = ({ title, path, about }: Pick<Staged, 'title' | 'path' | 'about'>) =>
    `- [${title}](/${path}.md): ${about}`
  const needed = groups.flatMap(({ title, sections }) => {
    const pages = sections.filter(({ optional }) => !optional).flatMap(({ pages }) => pages)
    return pages.length === 0 ? [] : [section(title, pages.map(line))]
  })
  const rest = all.filter(({ optional }) => optional).flatMap(({ pages }) => pages)
  return [HEAD, ...needed, section('Optional', [...rest, ...sources].map(line))].join('\n')
}

const section = (title: string, lines: readonly string[]): string => `## ${title}\n\n${lines.join('\n')}\n`

/** All pages in one text, each with its address. */
const llmsFull = (site: readonly Staged[]): string =>
  [HEAD, ...site.map(({ path, text }) => `---\nurl: /${path}.md\n---\n\n${bare(text)}\n`)].join('\n')

/** The text without the frontmatter. */
const bare = (text: string): string => text.replace(/^---\n.*?\n---\n/s, '').trim()

/** Writes llms.txt, llms-full.txt and the text of every page into the built site. */
export function writeLlms(out: string, groups: readonly Group[], site: readonly Staged[]): void {
  for (const { path, text } of site) {
    const file = join(out, `${path}.md`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${bare(text)}\n`)
  }
  writeFileSync(join(out, 'llms.txt'), llms(groups, site))
  writeFileSync(join(out, 'llms-full.txt'), llmsFull(site))
}
