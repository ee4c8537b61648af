import { join } from 'node:path'
import { defineConfig } from 'vitepress'
import { slug } from '../site/markdown.ts'
import { groups, root } from '../site/pages.ts'
import { drawn } from './drawn.ts'
import { search } from './search.ts'

// What `docs/site/stage.ts` has made of the pages of the tree.
const pages = process.env['SITE_PAGES'] ?? join(root, '.cache/site/pages')
const link = (path: string): string => `/${path.replace(/(^|\/)index$/, '$1')}`

export default defineConfig({
  title: 'Millrace',
  description: "Carries an AI agent's work from the model to the screen as one durable, typed, resumable stream.",
  lang: 'en',
  srcDir: pages,
  cacheDir: join(root, '.cache/vitepress'),
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: '/mark.svg' }],
    ['link', { rel: 'alternate', type: 'text/plain', href: '/llms.txt', title: 'llms.txt' }],
  ],
  markdown: {
    anchor: { slugify: slug },
    // Their comments can be read on the colours of the page.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config: drawn,
  },
  // The tables of the reference are larger than what Vite takes for large.
  vite: { build: { chunkSizeWarningLimit: 4096 } },
  themeConfig: {
    logo: '/mark.svg',
    search: { provider: 'local', options: { miniSearch: search } },
    nav: [
      { text: 'Get started', link: '/get-started' },
      { text: 'Concepts', link: '/concepts' },
      { text: 'Guides', link: '/guide/agents' },
      { text: 'Operate', link: '/guide/server' },
      { text: 'Reference', link: '/reference/chunks' },
      { text: 'Compare and migrate', link: '/guide/dialects' },
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
