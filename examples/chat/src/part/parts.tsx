import type { Message, Part } from '@millrace/client'
import { memo } from 'react'
import { FileView } from './file-view.tsx'
import { Reasoning } from './reasoning.tsx'
import { Source } from './source.tsx'
import { ToolCard } from './tool-card.tsx'
import { Value } from './value.tsx'

/** What a message is made of, in order; sources together at its end. */
export function Parts({ messageId, parts }: { readonly messageId: string; readonly parts: Message['parts'] }) {
  const isSource = ({ type }: Part) => type === 'source-url' || type === 'source-document'
  const sources = parts.filter(isSource)
  return (
    <>
      {parts
        .filter(part => !isSource(part))
        .map(part => (
          <OnePart key={part.key} messageId={messageId} part={part} />
        ))}
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

/** One part: what has not changed is the same object, and is not rendered again. */
const OnePart = memo(function OnePart({ part }: { readonly messageId: string; readonly part: Part }) {
  switch (part.type) {
    case 'text':
      return <p className="text">{part.text}</p>
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
