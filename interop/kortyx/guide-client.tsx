import { kortyx } from '@millrace/dialects/kortyx'
import { ChatProvider, useChat, usePending } from '@millrace/react'

const connection = kortyx({ api: '/api/chat' })

function Chat() {
  const { messages, sendMessage } = useChat()
  const { pendings, answer } = usePending()
  return (
    <>
      {messages.map(({ id, parts }) => (
        <p key={id}>{parts.map(part => (part.type === 'text' ? part.text : ''))}</p>
      ))}
      {pendings.map(pending =>
        pending.kind === 'interrupt' && pending.interrupt.input.kind === 'choice'
          ? pending.interrupt.input.options.map(({ id, label }) => (
              <button
                key={id}
                type="button"
                onClick={() => answer({ kind: 'interrupt', id: pending.id, response: id })}
              >
                {label}
              </button>
            ))
          : null,
      )}
      <button type="button" onClick={() => sendMessage('ask')}>
        Ask
      </button>
    </>
  )
}

export const App = () => (
  <ChatProvider connection={connection}>
    <Chat />
  </ChatProvider>
)
