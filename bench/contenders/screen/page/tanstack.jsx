import { fetchServerSentEvents, useChat } from '@tanstack/ai-react'
import { memo, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { conversations, history, registerConversation } from './watch.js'

const Row = memo(({ message }) => <li>{message.parts.map(({ content }) => content)}</li>)

const initialMessages = history.map(({ id, role, text }) => ({ id, role, parts: [{ type: 'text', content: text }] }))

function List({ conversation }) {
  const [connection] = useState(() => fetchServerSentEvents(conversation.url))
  const { messages, sendMessage } = useChat({ connection, initialMessages })
  registerConversation(conversation, sendMessage)
  return (
    <ul data-answer={conversation.number}>
      {messages.map(message => (
        <Row key={message.id} message={message} />
      ))}
    </ul>
  )
}

createRoot(document.getElementById('root')).render(
  conversations.map(conversation => <List key={conversation.number} conversation={conversation} />),
)
