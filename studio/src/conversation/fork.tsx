import { useChatInstance } from '@millrace/react'
import { useState } from 'react'
import { connection } from '../app/connection.ts'
import { useGo } from '../app/go.ts'
import { chatOf } from '../app/place.ts'
import { wordsOf } from '../words.ts'

/** Begins another session that starts as this one up to a message, and goes there. */
export function Fork({ messageId }: { readonly messageId: string }) {
  const { state, store } = useChatInstance()
  const go = useGo()
  const [isAsked, setAsked] = useState(false)
  const [failure, setFailure] = useState<string>()
  const fork = async () => {
    setAsked(true)
    try {
      const path = `/sessions/${encodeURIComponent(state.sessionId ?? '')}/fork`
      const at = endOf(messageId, store)
      const { sessionId } = await connection.api.ask<{ readonly sessionId: string }>('POST', path, { at })
      go(chatOf(sessionId))
    } catch (error) {
      setFailure(wordsOf(error as Error & { code?: string }))
      setAsked(false)
    }
  }
  return (
    <>
      <button
        type="button"
        disabled={isAsked}
        title="Another session that starts as this one up to here"
        onClick={() => void fork()}
      >
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

/** Up to where a session has all of a message and nothing of what was said next. */
function endOf(messageId: string, store: ReturnType<typeof useChatInstance>['store']): number {
  const message = store.message(messageId)
  if (message?.role === 'user') return message.at
  const ids = store.messageIds
  const isSaid = (id: string) => store.message(id)?.role === 'user' && (store.message(id)?.at ?? 0) <= store.head
  const next = ids.slice(ids.indexOf(messageId) + 1).find(isSaid)
  // A turn is a run's start and, next to it, what was said.
  return next === undefined ? store.head : (store.message(next)?.at ?? 0) - 2
}
