import type { MarkedToken, Token } from 'marked'
import type { ReactNode } from 'react'
import { decodeText, safeUrl } from './decode-text.ts'

/** Renders inline tokens as elements, never as HTML. */
export const inline = (tokens: readonly Token[] = []): ReactNode[] =>
  tokens.map((token, i) => <Inline key={keyOf(i)} token={token as MarkedToken} />)

/** Items without an id use their index as key. */
export const keyOf = (index: number): number => index

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
    // Linked, not embedded: the page loads nothing from other hosts.
    case 'image':
      return <Link href={token.href}>{decodeText(token.text) || 'Image'}</Link>
    case 'escape':
      return token.text
    case 'text':
      return token.tokens ? inline(token.tokens) : decodeText(token.text)
    default:
      return token.raw
  }
}

function Link({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  const address = safeUrl(href)
  if (address === undefined) return children
  return (
    <a href={address} target="_blank" rel="noreferrer">
      {children}
    </a>
  )
}
