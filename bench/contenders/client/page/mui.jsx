import { ChatProvider, useChatActions, useMessage, useMessageIds } from '@mui/x-chat-headless'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { memo } from 'react'
import { createRoot } from 'react-dom/client'
import { history, registerPage, rendered } from './watch.js'

const Row = memo(({ id }) => {
  rendered()
  return <li>{useMessage(id)?.parts.map(({ text }) => text)}</li>
})

const List = () => useMessageIds().map(id => <Row key={id} id={id} />)

function Sender() {
  const { sendMessage } = useChatActions()
  registerPage(() => sendMessage({ parts: [{ type: 'text', text: 'go' }] }))
  return null
}

const adapter = {
  async sendMessage({ signal }) {
    const { body } = await fetch('/answer', { method: 'POST', signal })
    return body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream())
      .pipeThrough(new TransformStream({ transform: ({ data }, to) => to.enqueue(JSON.parse(data)) }))
  },
}
const messages = history.map(({ id, role, text }) => ({ id, role, parts: [{ type: 'text', text }] }))

createRoot(document.getElementById('root')).render(
  <ChatProvider adapter={adapter} initialMessages={messages}>
    <List />
    <Sender />
  </ChatProvider>,
)
