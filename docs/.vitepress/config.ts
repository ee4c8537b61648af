import { join } from 'node:path'
import { defineConfig } from 'vitepress'
import { slug } from '../site/markdown.ts'
import { groups, root } from '../site/pages.ts'
import { drawn } from './drawn.ts'
import { search } from './search.ts'

// The pages that `docs/site/stage.ts` wrote.
const pages = process.env['SITE_PAGES'] ?? join(root, '.cache/site/pages')
const link = (path: string): string => `/${path.replace(/(^|\/)index$/, '$1')}`

export default defineConfig({
  title: 'Millrace',
  description:
    'Durable, resumable streams for AI agents: agents, tools, workflows, stores, an HTTP server and a client.',
  lang: 'en',
  srcDir: pages,
  cacheDir: join(root, '.cache/vitepress'),
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: '/mark.svg' }],
    ['link', { rel: 'alternate', type: 'text/plain', href: '/llms.txt', title: 'llms.txt' }],
  ],
  markdown: {
    anchor: { slugify: slug },
    // Their comments have enough contrast on the page.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config: drawn,
  },
  // The reference tables exceed Vite's default warning limit.
  vite: { build: { chunkSizeWarningLimit: 4096 } },
  themeConfig: {
    logo: '/mark.svg',
    search: { provider: 'local', options: { miniSearch: search } },
    nav: [
      { text: 'Get started', link: '/get-started' },
      { text: 'Concepts', link: '/concepts' },
      { text: 'Guides', link: '/guide/agents' },
      { text: 'Operate', link: '/guide/deploy' },
      { text: 'Reference', link: '/reference/chunks' },
      { text: 'Compare and migrate', link: '/compare' },
      { text: 'Contribute', link: '/architecture/' },
    ],
    sidebar: groups.map(({ title, sections }) => ({
      text: title,
      collapsed: false,
      items: sections.flatMap(section => {
        const items = section.pages.map(item => ({ text: item.title, link: link(item.path) }))
        const isFolded = section.optional === true
        return section.title === undefined ? items : [{ text: section.title, items, collapsed: isFolded }]
      }),
    })),
    outline: { level: [2, 3] },
    docFooter: { prev: 'Previous', next: 'Next' },
    footer: { message: 'MIT license. For language models: <a href="/llms.txt">llms.txt</a>' },
  },
})
