import type { MarkedToken, Tokens } from 'marked'
import { BOUNDS, type Bounds, reachOf } from './bounds.ts'
import { heal } from './heal.ts'
import { type Links, labelsOf, lex } from './lex.ts'

/** A block of a text, as it is shown: what Markdown makes of it, or what was too much for that, as it is. */
export type Block = MarkedToken | { readonly type: 'plain'; readonly raw: string }

/** Blocks that nothing that follows can change, but for a definition of one of the links in them. */
interface Piece {
  readonly source: string
  blocks: readonly Block[]
}

/** What encloses code of which the end has not come. */
interface Fence {
  readonly end: RegExp
  readonly lang: string
  /** Where its first line begins. */
  readonly from: number
  /** Up to where its end was looked for, from the start of a line. */
  looked: number
}

const FENCE = /^(`{3,}(?=[^`\n]*\n)|~{3,})([^\n]*)\n/
const BLANK = /\n[ \t]*\n/g

/**
 * The blocks of a text that grows. What is settled is never parsed again: a block is once another has begun after it, for good. Blocks that
 * say the same are the same objects.
 */
export class MarkdownStream {
  readonly #bounds: Bounds
  readonly #links: Links = Object.create(null)
  readonly #pieces: Piece[] = []
  /** The pieces in which a label stands that nothing has defined. */
  readonly #waiting = new Map<string, Set<Piece>>()
  #text = ''
  /** Where what is not settled begins. */
  #from = 0
  #open: readonly Block[] = []
  #fence: Fence | undefined
  /** Where the end of what is too much is looked for. */
  #plain: number | undefined
  #isEnded = false
  #handed = 0
  #changed = 0

  constructor(bounds = BOUNDS) {
    this.#bounds = bounds
  }

  /** How many characters were parsed so far, each as often as it was. */
  get handed(): number {
    return this.#handed
  }

  /** How many pieces are settled. */
  get count(): number {
    return this.#pieces.length
  }

  /** Another number after each time something that was settled has changed. */
  get changed(): number {
    return this.#changed
  }

  /** The blocks of a settled piece: the same array until it changes. */
  settled(index: number): readonly Block[] {
    return this.#pieces[index]?.blocks ?? []
  }

  /** The blocks that may yet change. */
  get open(): readonly Block[] {
    return this.#open
  }

  get blocks(): readonly Block[] {
    return [...this.#pieces.flatMap(({ blocks }) => blocks), ...this.#open]
  }

  /** Takes the text as it is by now; false where that is not what was, and more: then it has to begin anew. */
  read(given: string, isEnded: boolean): boolean {
    const text = given.includes('\r') ? given.replace(/\r\n?/g, '\n') : given
    if (this.#isEnded ? text !== this.#text || !isEnded : !text.startsWith(this.#text)) return false
    if (this.#isEnded || (text.length === this.#text.length && !isEnded)) return true
    // The rest of a line break may be on its way.
    if (!isEnded && given.endsWith('\r')) return this.read(given.slice(0, -1), false)
    const hasLine = text.includes('\n', this.#text.length)
    this.#text = text
    this.#isEnded = isEnded
    while (hasLine && this.#settle()) {}
    if (isEnded) this.#end()
    else this.#show()
    return true
  }

  get #rest(): string {
    return this.#text.slice(this.#from)
  }

  /** Settles some of what is open; false where nothing more can be. */
  #settle(): boolean {
    if (this.#fence) return this.#settleFence(this.#fence)
    if (this.#plain !== undefined) return this.#settlePlain(this.#plain)
    const rest = this.#rest
    const fence = FENCE.exec(rest)
    if (fence) {
      const [line, marks = '', info = ''] = fence
      const end = new RegExp(`^ {0,3}${marks}[~\`]* *$`)
      this.#fence = { end, lang: info.trim(), from: this.#from + line.length, looked: this.#from + line.length }
      return true
    }
    const reach = reachOf(rest, this.#bounds)
    const window = rest.slice(0, reach)
    const ends = endsOf(window, this.#lex(window, { ...this.#links }))
    let from = 0
    for (const end of ends) {
      this.#add(window.slice(from, end))
      from = end
    }
    this.#from += from
    if (from > 0) return true
    if (rest.length <= reach) return false
    this.#plain = this.#from + reach
    return true
  }

  #settleFence(fence: Fence): boolean {
    for (;;) {
      const end = this.#text.indexOf('\n', fence.looked)
      if (end < 0) return false
      if (fence.end.test(this.#text.slice(fence.looked, end))) {
        this.#keep(this.#text.slice(this.#from, end + 1), [codeOf(fence, this.#text, fence.looked - 1)])
        this.#from = end + 1
        this.#fence = undefined
        return true
      }
      fence.looked = end + 1
    }
  }

  #settlePlain(looked: number): boolean {
    BLANK.lastIndex = looked
    const found = BLANK.exec(this.#text)
    if (found === null) {
      // Half of it may be there.
      this.#plain = Math.max(looked, this.#text.trimEnd().length)
      return false
    }
    const raw = this.#text.slice(this.#from, found.index)
    this.#keep(raw, [{ type: 'plain', raw }])
    this.#from = found.index + found[0].length
    this.#plain = undefined
    return true
  }

  /** Parses what is settled, and with it those before that wait for a link which it defines. */
  #add(source: string): void {
    const known = new Set(Object.keys(this.#links))
    this.#keep(source, shown(this.#lex(source, this.#links)))
    for (const label of Object.keys(this.#links)) {
      if (known.has(label)) continue
      for (const piece of this.#waiting.get(label) ?? []) {
        piece.blocks = shown(this.#lex(piece.source, { ...this.#links }))
        this.#changed++
      }
      this.#waiting.delete(label)
    }
  }

  #keep(source: string, blocks: readonly Block[]): void {
    const piece: Piece = { source, blocks: reuse(this.#open, blocks) }
    this.#open = this.#open.slice(blocks.length)
    this.#pieces.push(piece)
    const isCode = blocks.length === 1 && (blocks[0]?.type === 'code' || blocks[0]?.type === 'plain')
    for (const label of isCode ? [] : labelsOf(source)) {
      if (label in this.#links) continue
      const pieces = this.#waiting.get(label) ?? new Set()
      pieces.add(piece)
      this.#waiting.set(label, pieces)
    }
  }

  /** What is open, as it will probably be. */
  #show(): void {
    const rest = this.#rest
    if (this.#fence) {
      const code = codeOf(this.#fence, this.#text, this.#text.length)
      // Its end may be half there.
      const line = code.text.lastIndexOf('\n')
      const isHalf = /^ {0,3}[`~]*$/.test(code.text.slice(line + 1))
      this.#open = reuse(this.#open, [isHalf ? { ...code, text: code.text.slice(0, Math.max(0, line)) } : code])
    } else if (this.#plain !== undefined || rest.length > reachOf(rest, this.#bounds)) {
      this.#open = [{ type: 'plain', raw: rest }]
    } else {
      this.#open = reuse(this.#open, shown(this.#lex(heal(rest), { ...this.#links })))
    }
  }

  #end(): void {
    // A text that ends in the midst of a line may hold blocks that were never looked for.
    while (this.#settle()) {}
    const rest = this.#rest
    this.#from = this.#text.length
    if (this.#fence) this.#keep(rest, [codeOf(this.#fence, this.#text, this.#text.length, true)])
    else if (this.#plain !== undefined) this.#keep(rest, [{ type: 'plain', raw: rest }])
    else this.#add(rest)
    this.#open = []
  }

  #lex(text: string, links: Links): readonly MarkedToken[] {
    this.#handed += text.length
    return lex(text, links)
  }
}

/** What there is to see of them. */
const shown = (blocks: readonly MarkedToken[]): readonly Block[] =>
  blocks.filter(({ type }) => type !== 'space' && type !== 'def')

/** The new blocks, but the old ones where they say the same. */
const reuse = (old: readonly Block[], blocks: readonly Block[]): readonly Block[] =>
  blocks.map((block, i) => {
    const before = old[i]
    return before && before.raw === block.raw && JSON.stringify(before) === JSON.stringify(block) ? before : block
  })

/** The code of a fence up to a place; if it has ended, without the line that ends it. */
function codeOf({ end, lang, from }: Fence, text: string, to: number, isEnded = false): Tokens.Code {
  let code = text.slice(from, Math.max(from, to))
  if (isEnded) {
    const last = code.lastIndexOf('\n') + 1
    if (end.test(code.slice(last))) code = code.slice(0, Math.max(0, last - 1))
    else if (code.endsWith('\n')) code = code.slice(0, -1)
  }
  return { type: 'code', raw: code, lang, text: code }
}

/** Where blocks begin that nothing before them can reach into, whatever follows: all before them is settled. */
function endsOf(window: string, tokens: readonly MarkedToken[]): number[] {
  const ends: number[] = []
  let at = 0
  let before: MarkedToken | undefined
  for (const token of tokens) {
    // What is not the text itself says nothing of where it stands.
    if (!window.startsWith(token.raw, at)) return ends
    const isWhole = window.indexOf('\n', at) >= 0 && token.raw.trim() !== ''
    const isApart = before !== undefined && (APART.has(before.type) || /\n[ \t]*\n$/.test(before.raw) || isFence(token))
    if (isWhole && isApart) ends.push(at)
    at += token.raw.length
    before = token
  }
  return ends
}

const APART: ReadonlySet<string> = new Set(['space', 'heading', 'hr', 'code'])

const isFence = ({ type, raw }: MarkedToken): boolean => type === 'code' && /^ {0,3}[`~]/.test(raw)
