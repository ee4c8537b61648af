import { createChat } from '@millrace/client'
import { ChatProvider, useChat, useConnection } from '@millrace/react'
import { useEffect, useState } from 'react'

/** Many sessions on one page over one connection. */
export function Many({ count }: { readonly count: number }) {
  const [isStarted, start] = useState(false)
  const [chats] = useState(() => Array.from({ length: count }, () => createChat({ agent: 'long' })))
  return (
    <main className="many">
      <header>
        <h2>{count} sessions, one connection</h2>
        <button type="button" className="primary" disabled={isStarted} onClick={() => start(true)}>
          Start all
        </button>
      </header>
      <ul>
        {chats.map((chat, i) => (
          <ChatProvider key={chat.state.sessionId} chat={chat}>
            <Pane number={i + 1} isStarted={isStarted} />
          </ChatProvider>
        ))}
      </ul>
    </main>
  )
}

/** Length of the answer of a pane, in words. */
const wordCount = (number: number) => 200 + number

function Pane({ number, isStarted }: { readonly number: number; readonly isStarted: boolean }) {
  const { messages, status, sendMessage } = useChat()
  const { status: connection } = useConnection()
  useEffect(() => {
    if (isStarted) void sendMessage(String(wordCount(number)))
  }, [isStarted, number, sendMessage])
  const answer = messages.find(({ role }) => role === 'assistant')
  const text = (answer?.parts ?? []).map(part => (part.type === 'text' ? part.text : '')).join('')
  return (
    <li className="card pane" data-status={status}>
      <h3>
        {number}
        <span className="badge" data-state={connection}>
          {answer?.status ?? status}
        </span>
      </h3>
      <p className="text">{text}</p>
    </li>
  )
}
