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
      navigate(chatUrl(await forkSession(state.sessionId ?? '', endOf(messageId, store))))
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

/** Creates a session with a copy of the log up to a sequence. Returns its id. */
export async function forkSession(session: string, at: number): Promise<string> {
  const path = `/sessions/${encodeURIComponent(session)}/fork`
  const { sessionId } = await connection.api.ask<{ readonly sessionId: string }>('POST', path, { at })
  return sessionId
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
