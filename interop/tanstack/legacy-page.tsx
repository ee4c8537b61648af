import { useEffect, useRef, useState } from 'react'
import { fetchServerSentEvents, type UIMessage, useChat } from 'seed-tanstack-ai-react'

interface History {
  messages: UIMessage[]
  activeRun: object | null
  interrupts: object | null
}

interface ThreadProps {
  url: string
  id: string
}

export function Chat({ url, id }: ThreadProps) {
  const [history, setHistory] = useState<History>()
  useEffect(() => {
    void fetch(`${url}?threadId=${encodeURIComponent(id)}`).then(async reply => setHistory(await reply.json()))
  }, [url, id])
  return history && <Thread url={url} id={id} history={history} />
}

function Thread({ url, id, history }: ThreadProps & { history: History }) {
  // The transcript has no field for decisions, so they are sent in the body of the next request.
  const approvals = useRef<Record<string, boolean>>({})
  const requests = useRef(0)
  const [connection] = useState(() =>
    fetchServerSentEvents(url, () => {
      requests.current++
      return { body: { approvals: approvals.current } }
    }),
  )
  const chat = useChat({ id, connection, initialMessages: history.messages })
  const { messages, sendMessage, addToolApprovalResponse, append, reload, error } = chat
  // Joins a run that is open or waits for an answer.
  useEffect(() => {
    if (history.activeRun ?? history.interrupts) void reload()
  }, [history, reload])
  const decide = async ({ parts }: UIMessage, approval: string, approved: boolean) => {
    const before = requests.current
    approvals.current[approval] = approved
    await addToolApprovalResponse({ id: approval, approved })
    const isOpen = parts.some(
      part => part.type === 'tool-call' && part.approval && !(part.approval.id in approvals.current),
    )
    // The client does not continue by itself if the message also has a call of a server tool.
    if (requests.current === before && !isOpen) await append({ role: 'assistant', content: '' })
  }
  return (
    <main>
      {messages.map(message => (
        <section key={message.id} title={message.role}>
          {message.parts.flatMap(part => (part.type === 'text' ? [part.content] : [])).join(' ')}
          {message.parts.map(part =>
            part.type === 'tool-call' && part.approval && part.state === 'approval-requested' ? (
              <button
                key={part.id}
                type="button"
                title="approve"
                onClick={decide.bind(null, message, part.approval.id, true)}
              >
                {part.name}
              </button>
            ) : null,
          )}
        </section>
      ))}
      {error && <em>{error.message}</em>}
      <button type="button" title="send" onClick={() => void sendMessage('sell')} />
    </main>
  )
}
