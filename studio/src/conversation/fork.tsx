import { useChatInstance } from '@millrace/react'
import { useState } from 'react'
import { connection } from '../app/connection.ts'
import { useNavigate } from '../app/navigate.ts'
import { chatUrl } from '../app/route.ts'
import { errorText } from '../error-text.ts'

/** Creates a session with a copy of this one up to a message, and opens it. */
export function Fork({ messageId }: { readonly messageId: string }) {
  const { state, store } = useChatInstance()
  const navigate = useNavigate()
  const [isForking, setForking] = useState(false)
  const [failure, setFailure] = useState<string>()
  const fork = async () => {
    setForking(true)
    try {
      const path = `/sessions/${encodeURIComponent(state.sessionId ?? '')}/fork`
      const at = endOf(messageId, store)
      const { sessionId } = await connection.api.ask<{ readonly sessionId: string }>('POST', path, { at })
      navigate(chatUrl(sessionId))
    } catch (error) {
      setFailure(errorText(error as Error & { code?: string }))
      setForking(false)
    }
  }
  return (
    <>
      <button type="button" disabled={isForking} title="Start a new chat from this message" onClick={() => void fork()}>
        Fork
      </button>
      {failure && (
        <span className="quiet" role="alert">
          {failure}
        </span>
      )}
    </>
  )
}

/** The last sequence of a message, before the next user message. */
function endOf(messageId: string, store: ReturnType<typeof useChatInstance>['store']): number {
  const message = store.message(messageId)
  if (message?.role === 'user') return message.at
  const ids = store.messageIds
  const isLoggedUserMessage = (id: string) =>
    store.message(id)?.role === 'user' && (store.message(id)?.at ?? 0) <= store.head
  const next = ids.slice(ids.indexOf(messageId) + 1).find(isLoggedUserMessage)
  // A turn begins with `run-started`, followed by the user message.
  return next === undefined ? store.head : (store.message(next)?.at ?? 0) - 2
}
