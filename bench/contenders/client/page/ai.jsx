import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport } from 'ai'
import { memo } from 'react'
import { createRoot } from 'react-dom/client'
import { history, registerPage, rendered } from './watch.js'

const Row = memo(({ message }) => {
  rendered()
  return <li>{message.parts.map(({ text }) => text)}</li>
})

const transport = new DefaultChatTransport({ api: '/answer' })
const earlier = history.map(({ id, role, text }) => ({ id, role, parts: [{ type: 'text', text }] }))

function List() {
  const { messages, sendMessage } = useChat({ messages: earlier, transport })
  registerPage(() => sendMessage({ text: 'go' }))
  return messages.map(message => <Row key={message.id} message={message} />)
}

createRoot(document.getElementById('root')).render(<List />)
