import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MarkdownOptions } from 'vitepress'
import { root } from '../site/pages.ts'
import { drawSequence, isSequence } from '../site/sequence.ts'

type Markdown = Parameters<NonNullable<MarkdownOptions['config']>>[0]

/** Inlines drawings and sequence diagrams as SVG, so that they follow the theme, and shows the file name above a named code block. */
export function drawn(markdown: Markdown): void {
  const { image, fence } = markdown.renderer.rules
  if (image === undefined || fence === undefined) throw new Error('VitePress renders images and fences by rules')
  markdown.renderer.rules.image = (...args) => {
    const [tokens, index] = args
    const src = tokens[index]?.attrGet('src') ?? ''
    return src.startsWith('/drawings/') ? drawing(src) : image(...args)
  }
  markdown.renderer.rules.fence = (...args) => {
    const [tokens, index] = args
    const { info = '', content = '' } = tokens[index] ?? {}
    const [language, name] = info.trim().split(' ')
    // VitePress compiles a page as a template of Vue, in which `{{` begins an expression.
    if (language === 'mermaid' && isSequence(content))
      return `<div class="drawing" v-pre>${drawSequence(content, `sequence-${index}`)}</div>`
    const block = fence(...args)
    return name === undefined ? block : `<div class="named"><span class="name">${name}</span>${block}</div>`
  }
}

/** The drawing without the parts that only a standalone file needs. */
function drawing(src: string): string {
  const svg = readFileSync(join(root, 'docs', src), 'utf8')
  return `<span class="drawing">${svg.replace(/<style>.*?<\/style>/s, '').replace(/\n\s*/g, '\n')}</span>`
}
