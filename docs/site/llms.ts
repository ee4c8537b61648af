import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Group } from './pages.ts'
import type { Staged } from './stage.ts'

const HEAD = `# Millrace

> Millrace carries an AI agent's work from the model to the screen, as one durable, typed, resumable stream. Every session has one append-only log: a run writes it, and everything else is a fold over it or a view of it.

It is written in TypeScript, for Node 22.18 or newer; what runs in a browser has no need of Node. Every page is there as Markdown, at the address that stands here. [All of them in one file](/llms-full.txt).
`

/** The list of all pages for a language model, by the convention of llms.txt: what one need not read is optional. */
function llms(groups: readonly Group[], site: readonly Staged[]): string {
  const listed = new Set(groups.flatMap(group => group.pages.map(({ path }) => path)))
  const sources = site.filter(({ path }) => !listed.has(path))
  const line = ({ title, path, about }: Pick<Staged, 'title' | 'path' | 'about'>) =>
    `- [${title}](/${path}.md): ${about}`
  const sections = groups.filter(({ optional }) => !optional).map(({ title, pages }) => section(title, pages.map(line)))
  const rest = groups.filter(({ optional }) => optional).flatMap(({ pages }) => pages)
  return [HEAD, ...sections, section('Optional', [...rest, ...sources].map(line))].join('\n')
}

const section = (title: string, lines: readonly string[]): string => `## ${title}\n\n${lines.join('\n')}\n`

/** All pages in one text, each under its address. */
const llmsFull = (site: readonly Staged[]): string =>
  [HEAD, ...site.map(({ path, text }) => `---\nurl: /${path}.md\n---\n\n${bare(text)}\n`)].join('\n')

/** What a reader without a browser needs: not the settings of the page at its top. */
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
