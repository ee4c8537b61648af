import { Lexer, type MarkedToken, Tokenizer } from 'marked'

/** Link definitions by normalized label. */
export type Links = Record<string, { href: string | null; title: string | null | undefined }>

/** Treats HTML as text. */
class TextTokenizer extends Tokenizer {
  override html(): undefined {}
  override tag(): undefined {}
}

/** Parses a text. `links` holds earlier definitions and receives new ones. */
export function lex(text: string, links: Links): readonly MarkedToken[] {
  const lexer = new Lexer({ gfm: true, tokenizer: new TextTokenizer() })
  // The first definition of a label wins.
  Object.assign(lexer.tokens.links, links)
  const tokens = lexer.lex(text)
  Object.assign(links, lexer.tokens.links)
  return tokens as MarkedToken[]
}

/** Normalizes a label. */
const labelOf = (label: string): string => label.toLowerCase().replace(/\s+/g, ' ')

const LABELS = /\[((?:\\[\s\S]|[^[\]\\])+)\]/g

/** All possible link labels of a text. */
export const labelsOf = (text: string): string[] =>
  text.includes('[') ? Array.from(text.matchAll(LABELS), ([, label]) => labelOf(label as string)) : []
