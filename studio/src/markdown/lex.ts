import { Lexer, type MarkedToken, Tokenizer } from 'marked'

/** What a link's label leads to, by the label as it is compared. */
export type Links = Record<string, { href: string | null; title: string | null | undefined }>

/** Knows no HTML: what looks like it is text, as it was written. */
class Words extends Tokenizer {
  override html(): undefined {}
  override tag(): undefined {}
}

/** The blocks of a text, their words parsed as well; `links` are those that were defined before it, and gain those that it defines. */
export function lex(text: string, links: Links): readonly MarkedToken[] {
  const lexer = new Lexer({ gfm: true, tokenizer: new Words() })
  // As defined there: the first definition of a label stands.
  Object.assign(lexer.tokens.links, links)
  const tokens = lexer.lex(text)
  Object.assign(links, lexer.tokens.links)
  return tokens as MarkedToken[]
}

/** A label as it is compared. */
const labelOf = (words: string): string => words.toLowerCase().replace(/\s+/g, ' ')

const LABELS = /\[((?:\\[\s\S]|[^[\]\\])+)\]/g

/** All that may be the label of a link in a text. */
export const labelsOf = (text: string): string[] =>
  text.includes('[') ? Array.from(text.matchAll(LABELS), ([, words]) => labelOf(words as string)) : []
