import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport } from 'ai'
import { memo, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { conversations, history, registerConversation } from './watch.js'

const Row = memo(({ message }) => <li>{message.parts.map(({ text }) => text)}</li>)

const earlier = history.map(({ id, role, text }) => ({ id, role, parts: [{ type: 'text', text }] }))

function List({ conversation }) {
  const [transport] = useState(() => new DefaultChatTransport({ api: conversation.url }))
  const { messages, sendMessage } = useChat({ messages: earlier, transport })
  registerConversation(conversation, text => sendMessage({ text }))
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
