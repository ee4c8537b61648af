import { useChat } from '@ai-sdk/react'
import { millraceTransport } from '@millrace/dialects/ai-sdk'
import { isStaticToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai'

const api = '/api/ai-sdk/seller'
const transport = millraceTransport({ api })

export const messagesOf = async (id: string): Promise<UIMessage[]> => (await fetch(`${api}/${id}/messages`)).json()

export function Page({ id, messages: initialMessages }: { id: string; messages: UIMessage[] }) {
  const { messages, status, error, sendMessage, addToolApprovalResponse, stop } = useChat({
    id,
    messages: initialMessages,
    transport,
    resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  return (
    <main>
      {messages.flatMap(message =>
        message.parts.map((part, i) => {
          const key = `${message.id} ${i}`
          if (part.type === 'text') return <p key={key}>{part.text}</p>
          if (!isStaticToolUIPart(part)) return null
          const { state, type, approval } = part
          const decide = (approved: boolean) => addToolApprovalResponse({ id: approval?.id ?? '', approved })
          return state === 'approval-requested' ? (
            <button type="button" key={key} onClick={() => decide(true)}>{`Approve ${type}`}</button>
          ) : (
            <i key={key}>{`${type}: ${state}`}</i>
          )
        }),
      )}
      <button type="button" onClick={() => sendMessage({ text: 'Flour, please.' })}>
        Send
      </button>
      <button type="button" onClick={stop}>
        Stop
      </button>
      <b>{error?.message ?? status}</b>
    </main>
  )
}
