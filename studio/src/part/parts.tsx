import type { Message, Part } from '@millrace/client'
import { memo, type ReactNode } from 'react'
import { Markdown } from '../markdown/markdown.tsx'
import { FileView } from './file-view.tsx'
import { Reasoning } from './reasoning.tsx'
import { Source } from './source.tsx'
import { ToolCard } from './tool-card.tsx'
import { Value } from './value.tsx'

interface PartsProps {
  readonly parts: Message['parts']
  /** Whether text is shown without Markdown, as for user messages. @default false */
  readonly isPlain?: boolean
  /** Items that arrived during the message, in order; each is shown before later parts. */
  readonly inlineItems?: readonly { readonly at: number; readonly element: ReactNode }[]
}

/** The parts of a message in order, with all sources at the end. */
export function Parts({ parts, isPlain = false, inlineItems = [] }: PartsProps) {
  const isSource = ({ type }: Part) => type === 'source-url' || type === 'source-document'
  const sources = parts.filter(isSource)
  const remaining = [...inlineItems]
  const itemsBefore = (at: number) => {
    const next = remaining.findIndex(item => item.at > at)
    return remaining.splice(0, next < 0 ? remaining.length : next).map(({ element }) => element)
  }
  return (
    <>
      {parts
        .filter(part => !isSource(part))
        .flatMap(part => [...itemsBefore(part.at), <OnePart key={part.key} part={part} isPlain={isPlain} />])}
      {itemsBefore(Number.POSITIVE_INFINITY)}
      {sources.length > 0 && (
        <ul className="sources" aria-label="Sources">
          {sources.map(part => (
            <Source key={part.key} part={part} />
          ))}
        </ul>
      )}
    </>
  )
}

/** One part. An unchanged part is the same object and does not render again. */
const OnePart = memo(function OnePart({ part, isPlain }: { readonly part: Part; readonly isPlain: boolean }) {
  switch (part.type) {
    case 'text':
      if (isPlain) return <p className="text">{part.text}</p>
      return <Markdown text={part.text} isOpen={part.state === 'streaming'} />
    case 'reasoning':
      return <Reasoning part={part} />
    case 'tool':
    case 'dynamic-tool':
      return <ToolCard part={part} />
    case 'file':
      return <FileView part={part} />
    case 'step-start':
    case 'source-url':
    case 'source-document':
      return null
    default:
      return (
        <div className="card data">
          <h4>{part.type}</h4>
          <Value value={'data' in part ? part.data : null} />
        </div>
      )
  }
})
