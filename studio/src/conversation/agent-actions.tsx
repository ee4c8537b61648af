import type { Message } from '@millrace/client'
import { useChatActions } from '@millrace/react'
import { useState } from 'react'
import { useReadOnly } from '../app/read-only.ts'

/** What can be done with an answer. */
export function AgentActions({ message, isLast }: { readonly message: Message; readonly isLast: boolean }) {
  const { regenerate } = useChatActions()
  const isReadOnly = useReadOnly()
  const [isCopied, setCopied] = useState(false)
  // There is none on a page that came unencrypted over a network.
  const { clipboard } = navigator as { clipboard?: Clipboard }
  const text = message.parts.map(part => (part.type === 'text' ? part.text : '')).join('')
  if (text === '' && !isLast) return null
  return (
    <p className="actions">
      {text !== '' && clipboard !== undefined && (
        <button
          type="button"
          onClick={() =>
            clipboard.writeText(text).then(
              () => setCopied(true),
              () => setCopied(false),
            )
          }
        >
          {isCopied ? 'Copied' : 'Copy'}
        </button>
      )}
      {isLast && !isReadOnly && (
        <button type="button" onClick={() => void regenerate(message.id)}>
          Regenerate
        </button>
      )}
    </p>
  )
}
