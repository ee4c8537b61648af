import type { MarkedToken, Tokens } from 'marked'
import { BOUNDS, type Bounds, parseLimit } from './bounds.ts'
import { heal } from './heal.ts'
import { type Links, labelsOf, lex } from './lex.ts'

/** A Markdown block, or plain text that exceeds the limits of parsing. */
export type Block = MarkedToken | { readonly type: 'plain'; readonly raw: string }

/** Settled blocks. Only a later link definition changes them. */
interface SettledBlocks {
  readonly source: string
  blocks: readonly Block[]
}

/** An open code fence. */
interface Fence {
  readonly end: RegExp
  readonly lang: string
  /** Start of its first line. */
  readonly from: number
  /** Start of the next line to check for its end. */
  searched: number
}

const FENCE = /^(`{3,}(?=[^`\n]*\n)|~{3,})([^\n]*)\n/
const BLANK = /\n[ \t]*\n/g

/**
 * Parses a growing text. A block settles once a later block has started, and is not parsed again. Equal blocks stay the same objects.
 */
export class MarkdownStream {
  readonly #bounds: Bounds
  readonly #links: Links = Object.create(null)
  readonly #pieces: SettledBlocks[] = []
  /** Pieces with undefined link labels, by label. */
  readonly #waiting = new Map<string, Set<SettledBlocks>>()
  #text = ''
  /** Start of the unsettled text. */
  #from = 0
  #open: readonly Block[] = []
  #fence: Fence | undefined
  /** Where to search for the end of a plain block. */
  #plain: number | undefined
  #isEnded = false
  #parsedLength = 0
  #changed = 0

  constructor(bounds = BOUNDS) {
    this.#bounds = bounds
  }

  /** Total number of parsed characters. */
  get parsedLength(): number {
    return this.#parsedLength
  }

  /** Number of settled pieces. */
  get count(): number {
    return this.#pieces.length
  }

  /** Increases when a settled piece changes. */
  get changed(): number {
    return this.#changed
  }

  /** The blocks of a settled piece; the same array until it changes. */
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

  /** Reads the current text. Returns false if it does not extend the previous one: use a new stream then. */
  read(source: string, isEnded: boolean): boolean {
    const text = source.includes('\r') ? source.replace(/\r\n?/g, '\n') : source
    if (this.#isEnded ? text !== this.#text || !isEnded : !text.startsWith(this.#text)) return false
    if (this.#isEnded || (text.length === this.#text.length && !isEnded)) return true
    // A \n may follow.
    if (!isEnded && source.endsWith('\r')) return this.read(source.slice(0, -1), false)
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

  /** Settles the next blocks. Returns false if there are none. */
  #settle(): boolean {
    if (this.#fence) return this.#settleFence(this.#fence)
    if (this.#plain !== undefined) return this.#settlePlain(this.#plain)
    const rest = this.#rest
    const fence = FENCE.exec(rest)
    if (fence) {
      const [line, marks = '', info = ''] = fence
      const end = new RegExp(`^ {0,3}${marks}[~\`]* *$`)
      this.#fence = { end, lang: info.trim(), from: this.#from + line.length, searched: this.#from + line.length }
      return true
    }
    const reach = parseLimit(rest, this.#bounds)
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
      const end = this.#text.indexOf('\n', fence.searched)
      if (end < 0) return false
      if (fence.end.test(this.#text.slice(fence.searched, end))) {
        this.#keep(this.#text.slice(this.#from, end + 1), [codeOf(fence, this.#text, fence.searched - 1)])
        this.#from = end + 1
        this.#fence = undefined
        return true
      }
      fence.searched = end + 1
    }
  }

  #settlePlain(searched: number): boolean {
    BLANK.lastIndex = searched
    const found = BLANK.exec(this.#text)
    if (found === null) {
      // The blank line may be incomplete.
      this.#plain = Math.max(searched, this.#text.trimEnd().length)
      return false
    }
    const raw = this.#text.slice(this.#from, found.index)
    this.#keep(raw, [{ type: 'plain', raw }])
    this.#from = found.index + found[0].length
    this.#plain = undefined
    return true
  }

  /** Adds a settled piece. Parses earlier pieces again if it defines their links. */
  #add(source: string): void {
    const definedLabels = new Set(Object.keys(this.#links))
    this.#keep(source, visibleBlocks(this.#lex(source, this.#links)))
    for (const label of Object.keys(this.#links)) {
      if (definedLabels.has(label)) continue
      for (const piece of this.#waiting.get(label) ?? []) {
        piece.blocks = visibleBlocks(this.#lex(piece.source, { ...this.#links }))
        this.#changed++
      }
      this.#waiting.delete(label)
    }
  }

  #keep(source: string, blocks: readonly Block[]): void {
    const piece: SettledBlocks = { source, blocks: reuse(this.#open, blocks) }
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

  /** Updates the open blocks. */
  #show(): void {
    const rest = this.#rest
    if (this.#fence) {
      const code = codeOf(this.#fence, this.#text, this.#text.length)
      // The closing fence may be incomplete.
      const line = code.text.lastIndexOf('\n')
      const isPartialFence = /^ {0,3}[`~]*$/.test(code.text.slice(line + 1))
      this.#open = reuse(this.#open, [isPartialFence ? { ...code, text: code.text.slice(0, Math.max(0, line)) } : code])
    } else if (this.#plain !== undefined || rest.length > parseLimit(rest, this.#bounds)) {
      this.#open = [{ type: 'plain', raw: rest }]
    } else {
      this.#open = reuse(this.#open, visibleBlocks(this.#lex(heal(rest), { ...this.#links })))
    }
  }

  #end(): void {
    // A text without a final line break may hold blocks that were not settled yet.
    while (this.#settle()) {}
    const rest = this.#rest
    this.#from = this.#text.length
    if (this.#fence) this.#keep(rest, [codeOf(this.#fence, this.#text, this.#text.length, true)])
    else if (this.#plain !== undefined) this.#keep(rest, [{ type: 'plain', raw: rest }])
    else this.#add(rest)
    this.#open = []
  }

  #lex(text: string, links: Links): readonly MarkedToken[] {
    this.#parsedLength += text.length
    return lex(text, links)
  }
}

/** The visible blocks. */
const visibleBlocks = (blocks: readonly MarkedToken[]): readonly Block[] =>
  blocks.filter(({ type }) => type !== 'space' && type !== 'def')

/** The new blocks, with equal old ones reused. */
const reuse = (old: readonly Block[], blocks: readonly Block[]): readonly Block[] =>
  blocks.map((block, i) => {
    const before = old[i]
    return before && before.raw === block.raw && JSON.stringify(before) === JSON.stringify(block) ? before : block
  })

/** The code of a fence up to `to`; without its closing line if it has ended. */
function codeOf({ end, lang, from }: Fence, text: string, to: number, isEnded = false): Tokens.Code {
  let code = text.slice(from, Math.max(from, to))
  if (isEnded) {
    const last = code.lastIndexOf('\n') + 1
    if (end.test(code.slice(last))) code = code.slice(0, Math.max(0, last - 1))
    else if (code.endsWith('\n')) code = code.slice(0, -1)
  }
  return { type: 'code', raw: code, lang, text: code }
}

/** Starts of blocks before which everything is settled. */
function endsOf(window: string, tokens: readonly MarkedToken[]): number[] {
  const ends: number[] = []
  let at = 0
  let before: MarkedToken | undefined
  for (const token of tokens) {
    // The lexer changed the text, so positions are unknown from here on.
    if (!window.startsWith(token.raw, at)) return ends
    const hasLineEnd = window.indexOf('\n', at) >= 0 && token.raw.trim() !== ''
    const isSeparate =
      before !== undefined && (SELF_CLOSING.has(before.type) || /\n[ \t]*\n$/.test(before.raw) || isFence(token))
    if (hasLineEnd && isSeparate) ends.push(at)
    at += token.raw.length
    before = token
  }
  return ends
}

const SELF_CLOSING: ReadonlySet<string> = new Set(['space', 'heading', 'hr', 'code'])

const isFence = ({ type, raw }: MarkedToken): boolean => type === 'code' && /^ {0,3}[`~]/.test(raw)
