import type { Message } from '@millrace/client'
import { useChatActions } from '@millrace/react'

/** What can be done with an answer. */
export function AgentActions({ message, isLast }: { readonly message: Message; readonly isLast: boolean }) {
  const { regenerate } = useChatActions()
  const text = message.parts.map(part => (part.type === 'text' ? part.text : '')).join('')
  if (text === '' && !isLast) return null
  return (
    <p className="actions">
      {text !== '' && (
        <button type="button" onClick={() => void navigator.clipboard.writeText(text)}>
          Copy
        </button>
      )}
      {isLast && (
        <button type="button" onClick={() => void regenerate(message.id)}>
          Regenerate
        </button>
      )}
    </p>
  )
}
