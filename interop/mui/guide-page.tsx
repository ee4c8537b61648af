import { createMuiAdapter } from '@millrace/dialects/mui'
import { ChatProvider, useChat } from '@mui/x-chat-headless'

const adapter = createMuiAdapter({ url: '/api/mui/seller' })

export function Page() {
  return (
    <ChatProvider adapter={adapter} initialActiveConversationId="mill">
      <Thread />
    </ChatProvider>
  )
}

function Thread() {
  const { messages, sendMessage, addToolApprovalResponse } = useChat()
  return (
    <main>
      {messages.flatMap(({ id, parts }) =>
        parts.map((part, i) => {
          const key = `${id} ${i}`
          if (part.type === 'text') return <p key={key}>{part.text}</p>
          if (part.type !== 'tool') return null
          const { toolName, state, toolCallId } = part.toolInvocation
          const approve = () => addToolApprovalResponse({ id: toolCallId, approved: true })
          if (state === 'approval-requested')
            return <button type="button" key={key} onClick={approve}>{`Approve ${toolName}`}</button>
          return <i key={key}>{`${toolName}: ${state}`}</i>
        }),
      )}
      <button type="button" onClick={() => sendMessage({ parts: [{ type: 'text', text: 'Flour, please.' }] })}>
        Send
      </button>
    </main>
  )
}
