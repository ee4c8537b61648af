/** A code block: its language, its file name if it has one, its text and its first line. */
export type Block = { readonly language: string; readonly name: string; readonly code: string; readonly line: number }

/** A link or an image: its target and its line. */
export type Link = { readonly target: string; readonly line: number }

const FENCE = /^ *(`{3,})(.*)$/
const TARGET = /\]\(([^()\s]+)\)/g
// Inline code is never a link.
const CODE = /(`+)(?!`).*?\1/g

type Line = { readonly text: string; readonly line: number; readonly kind: 'prose' | 'open' | 'code' | 'close' }

function* linesOf(text: string): Generator<Line> {
  let fence = ''
  for (const [index, line] of text.split('\n').entries()) {
    const [, ticks = '', info = ''] = FENCE.exec(line) ?? []
    const at = { text: line, line: index + 1 }
    if (fence === '') {
      fence = ticks
      yield { ...at, kind: ticks === '' ? 'prose' : 'open' }
    } else if (ticks.startsWith(fence) && info === '') {
      fence = ''
      yield { ...at, kind: 'close' }
    } else yield { ...at, kind: 'code' }
  }
}

/** The blocks of code of a page. */
export function blocksOf(text: string): Block[] {
  const blocks: Block[] = []
  for (const { text: line, line: number, kind } of linesOf(text)) {
    const last = blocks.at(-1)
    if (kind === 'open') {
      const [language = '', name = ''] = (FENCE.exec(line)?.[2] ?? '').trim().split(' ')
      blocks.push({ language, name, code: '', line: number })
    } else if (kind === 'code' && last !== undefined) {
      blocks[blocks.length - 1] = { ...last, code: `${last.code}${line}\n` }
    }
  }
  return blocks
}

/** Replaces the target of every link and image with the result of `to`. */
export function withTargets(text: string, to: (link: Link) => string): string {
  const lines: string[] = []
  for (const { text: line, line: number, kind } of linesOf(text)) {
    lines.push(kind === 'prose' ? replaceOutsideCode(line, target => to({ target, line: number })) : line)
  }
  return lines.join('\n')
}

function replaceOutsideCode(line: string, to: (target: string) => string): string {
  const spans: string[] = []
  const bare = line.replace(CODE, span => `\u0000${spans.push(span) - 1}\u0000`)
  return bare
    .replace(TARGET, (_, target: string) => `](${to(target)})`)
    .replace(/\0(\d+)\0/g, (_, index: string) => spans[Number(index)] ?? '')
}

/** The links and images of a page. */
export function linksOf(text: string): Link[] {
  const links: Link[] = []
  withTargets(text, link => {
    links.push(link)
    return link.target
  })
  return links
}

/** The anchor of a heading, as GitHub makes it, because the pages are also read there. */
export function slug(heading: string): string {
  const letters = heading.trim().toLowerCase()
  return letters.replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '').replaceAll(' ', '-')
}

/** The anchors of a page: its headings and elements with an id. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>()
  for (const { text: line, kind } of linesOf(text)) {
    if (kind !== 'prose') continue
    for (const [, id = ''] of line.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id)
    const [, heading = ''] = /^#{1,6} (.*)$/.exec(line) ?? []
    if (heading === '') continue
    const name = slug(heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', ''))
    let unique = name
    for (let n = 1; anchors.has(unique); n++) unique = `${name}-${n}`
    anchors.add(unique)
  }
  return anchors
}
