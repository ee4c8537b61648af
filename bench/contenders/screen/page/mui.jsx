import { ChatProvider, useChatActions, useMessage, useMessageIds } from '@mui/x-chat-headless'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { memo } from 'react'
import { createRoot } from 'react-dom/client'
import { conversations, history, registerConversation } from './watch.js'

const Row = memo(({ id }) => <li>{useMessage(id)?.parts.map(({ text }) => text)}</li>)

function List({ conversation }) {
  const { sendMessage } = useChatActions()
  registerConversation(conversation, text => sendMessage({ parts: [{ type: 'text', text }] }))
  return (
    <ul data-answer={conversation.number}>
      {useMessageIds().map(id => (
        <Row key={id} id={id} />
      ))}
    </ul>
  )
}

const adapters = conversations.map(({ url }) => ({
  async sendMessage({ signal }) {
    const { body } = await fetch(url, { method: 'POST', signal })
    return body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream())
      .pipeThrough(new TransformStream({ transform: ({ data }, to) => to.enqueue(JSON.parse(data)) }))
  },
}))
const messages = history.map(({ id, role, text }) => ({ id, role, parts: [{ type: 'text', text }] }))

createRoot(document.getElementById('root')).render(
  conversations.map(conversation => (
    <ChatProvider key={conversation.number} adapter={adapters[conversation.number]} initialMessages={messages}>
      <List conversation={conversation} />
    </ChatProvider>
  )),
)
