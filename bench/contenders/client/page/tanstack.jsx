// Its hooks package is not installed. Uses its client and sets a state to the messages on each change, like its `useChat`.

import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client'
import { memo, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { history, registerPage, rendered } from './watch.js'

const Row = memo(({ message }) => {
  rendered()
  return <li>{message.parts.map(({ content }) => content)}</li>
})

const initialMessages = history.map(({ id, role, text }) => ({ id, role, parts: [{ type: 'text', content: text }] }))

function List() {
  const [messages, setMessages] = useState(initialMessages)
  const [client] = useState(
    () =>
      new ChatClient({
        connection: fetchServerSentEvents('/answer'),
        initialMessages,
        onMessagesChange: setMessages,
      }),
  )
  useEffect(() => registerPage(() => client.sendMessage('go')), [client])
  return messages.map(message => <Row key={message.id} message={message} />)
}

createRoot(document.getElementById('root')).render(<List />)
