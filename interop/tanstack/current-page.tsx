import { fetchServerSentEvents, useChat } from '@tanstack/ai-react'
import { useState } from 'react'

export function Chat({ url, threadId }: { url: string; threadId: string }) {
  const [connection] = useState(() => fetchServerSentEvents(url))
  const { messages, sendMessage, interrupts, error } = useChat({ threadId, connection, persistence: true })
  return (
    <main>
      {messages.map(message => (
        <section key={message.id} title={message.role}>
          {message.parts.flatMap(part => (part.type === 'text' ? [part.content] : [])).join(' ')}
        </section>
      ))}
      {interrupts.map(interrupt =>
        interrupt.kind === 'generic' && interrupt.metadata?.['kind'] === 'approval' ? (
          <button
            key={interrupt.id}
            type="button"
            title="approve"
            onClick={() => interrupt.resolveInterrupt({ approved: true })}
          >
            {interrupt.message}
          </button>
        ) : null,
      )}
      {error && <em>{error.message}</em>}
      <button type="button" title="send" onClick={() => void sendMessage('sell')} />
    </main>
  )
}
