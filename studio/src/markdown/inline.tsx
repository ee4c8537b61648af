import type { MarkedToken, Token } from 'marked'
import type { ReactNode } from 'react'
import { addressOf, wordsIn } from './words.ts'

/** Words as elements: never as HTML. */
export const inline = (tokens: readonly Token[] = []): ReactNode[] =>
  tokens.map((token, i) => <Inline key={place(i)} token={token as MarkedToken} />)

/** What has a place in a list is known by it. */
export const place = (index: number): number => index

function Inline({ token }: { readonly token: MarkedToken }): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong>{inline(token.tokens)}</strong>
    case 'em':
      return <em>{inline(token.tokens)}</em>
    case 'del':
      return <del>{inline(token.tokens)}</del>
    case 'codespan':
      return <code>{token.text}</code>
    case 'br':
      return <br />
    case 'link':
      return <Link href={token.href}>{inline(token.tokens)}</Link>
    // It is asked for by who wants to see it, not by the page.
    case 'image':
      return <Link href={token.href}>{wordsIn(token.text) || 'an image'}</Link>
    case 'escape':
      return token.text
    case 'text':
      return token.tokens ? inline(token.tokens) : wordsIn(token.text)
    default:
      return token.raw
  }
}

function Link({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  const address = addressOf(href)
  if (address === undefined) return children
  return (
    <a href={address} target="_blank" rel="noreferrer">
      {children}
    </a>
  )
}
