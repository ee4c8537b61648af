import type { Message } from '@millrace/client'
import type { RunRequest } from '@millrace/protocol'
import { useChatActions, useChatInstance, useSelector } from '@millrace/react'
import { useState } from 'react'
import { useReadOnly } from '../app/read-only.ts'
import { setTitleFrom, titleOf } from '../composer/title.ts'
import { Parts } from '../part/parts.tsx'
import { Edit } from './edit.tsx'
import { Failure } from './failure.tsx'
import { Fork } from './fork.tsx'
import { Pager } from './pager.tsx'
import { useSiblings } from './siblings-provider.tsx'

/** A message of the user: sent, queued or failed. */
export function UserMessage({ message }: { readonly message: Message }) {
  const { id, status, parts, error } = message
  const isReadOnly = useReadOnly()
  const [isEditing, setEditing] = useState(false)
  const { edit } = useChatActions()
  const { state, store } = useChatInstance()
  const { messages = [] } = useSiblings().byMessage.get(id) ?? {}
  if (isEditing) {
    const before = parts.map(part => (part.type === 'text' ? part.text : '')).join('')
    const files = parts.flatMap(({ key, at, ...part }) => (part.type === 'file' ? [part] : []))
    return (
      <Edit
        text={before}
        onCancel={() => setEditing(false)}
        onDone={async text => {
          setEditing(false)
          const { sessionId, title } = state
          const { error } = await edit(id, { text, parts: files })
          // A title derived from the old text follows the edit.
          if (!error && sessionId && title === titleOf(before)) setTitleFrom(sessionId, text)
        }}
      />
    )
  }
  // A view of the past hides an edit that was not sent yet.
  const isEditOf = ({ message, cut }: RunRequest) => cut !== undefined && message?.messageId === id
  if (isReadOnly && status === 'sending' && store.ledger.requests.some(isEditOf)) return null
  return (
    <article className="message user" data-status={status} data-message={id}>
      <div className="bubble">
        <Parts parts={parts} isPlain />
      </div>
      {status === 'sending' && <SendStatus id={id} />}
      {status === 'sent' && (
        <div className="actions">
          {!isReadOnly && (
            <>
              <button type="button" onClick={() => setEditing(true)}>
                Edit
              </button>
              <Fork messageId={id} />
            </>
          )}
          <Pager name="Message" siblings={messages} index={messages.findIndex(message => message.messageId === id)} />
        </div>
      )}
      {status === 'error' && <Failure messageId={id} error={error ?? { message: 'Message not sent.' }} />}
    </article>
  )
}

/** The status of an unsent message: sending, or queued and cancellable. */
function SendStatus({ id }: { readonly id: string }) {
  const { stop } = useChatActions()
  const isReadOnly = useReadOnly()
  const request = useSelector(({ store }) =>
    store.ledger.requests.find(({ message, status }) => message?.messageId === id && status === 'waiting'),
  )
  if (request === undefined) return <p className="quiet">Sending…</p>
  return (
    <p className="actions">
      <span className="quiet">Queued</span>
      {!isReadOnly && (
        <button type="button" onClick={() => void stop({ runId: request.runId })}>
          Cancel
        </button>
      )}
    </p>
  )
}
