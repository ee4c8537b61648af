import { ChatProvider, useChatActions, useMessage, useMessageIds } from '@millrace/react'
import { memo } from 'react'
import { createRoot } from 'react-dom/client'
import { conversations, registerConversation } from './watch.js'

const Row = memo(({ id }) => <li>{useMessage(id)?.parts.map(({ text }) => text)}</li>)

function List({ conversation }) {
  const { sendMessage } = useChatActions()
  registerConversation(conversation, sendMessage)
  return (
    <ul data-answer={conversation.number}>
      {useMessageIds().map(id => (
        <Row key={id} id={id} />
      ))}
    </ul>
  )
}

createRoot(document.getElementById('root')).render(
  conversations.map(conversation => (
    <ChatProvider key={conversation.number} agent="miller" session={conversation.session} pageSize={1000}>
      <List conversation={conversation} />
    </ChatProvider>
  )),
)
