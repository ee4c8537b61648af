// A page with one chat. It reports every state that it shows.

import type { TextPart } from '@millrace/client'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ChatProvider, useChat, useConnection, useMessage, useMessageIds } from '../../index.ts'

declare global {
  interface Window {
    /** Provided by the test. Called after every change of the page. */
    reportMessages(messages: string): Promise<void>
  }
}

function Line({ id }: { readonly id: string }) {
  const message = useMessage(id)
  const texts = message?.parts.filter((part): part is TextPart => part.type === 'text') ?? []
  return (
    <article data-role={message?.role} data-status={message?.status}>
      {texts.map(({ key, text }) => (
        <p key={key}>{text}</p>
      ))}
    </article>
  )
}

function Conversation() {
  const { sendMessage, stop, status } = useChat()
  const { status: connection } = useConnection()
  return (
    <main data-status={status} data-connection={connection}>
      {useMessageIds().map(id => (
        <Line key={id} id={id} />
      ))}
      <button type="button" id="send" onClick={() => sendMessage('Say it.')}>
        Send
      </button>
      <button type="button" id="stop" onClick={() => stop()}>
        Stop
      </button>
    </main>
  )
}

const root = document.getElementById('root') as HTMLElement
const visibleMessages = () =>
  JSON.stringify(
    [...root.querySelectorAll('article')].map(article => ({
      role: article.dataset['role'],
      status: article.dataset['status'],
      texts: [...article.querySelectorAll('p')].map(({ textContent }) => textContent),
    })),
  )
let last = ''
new MutationObserver(() => {
  const now = visibleMessages()
  if (now === last) return
  last = now
  window.reportMessages(now)
}).observe(root, { subtree: true, childList: true, characterData: true, attributes: true })

createRoot(root).render(
  <StrictMode>
    <ChatProvider agent="long" session={location.hash.slice(1)}>
      <Conversation />
    </ChatProvider>
  </StrictMode>,
)
