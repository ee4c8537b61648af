import { ChatProvider, useMessage, useMessageIds } from '@millrace/react'
import { memo } from 'react'
import { createRoot } from 'react-dom/client'
import { registerPage, rendered } from './watch.js'

const Row = memo(({ id }) => {
  rendered()
  return <li>{useMessage(id)?.parts.map(({ text }) => text)}</li>
})

const List = () => useMessageIds().map(id => <Row key={id} id={id} />)

createRoot(document.getElementById('root')).render(
  <ChatProvider session={new URLSearchParams(location.search).get('session')} pageSize={1000}>
    <List />
  </ChatProvider>,
)
// Another client has sent the message. The answer reaches all subscribers of the session.
registerPage(() => {})
