import { type KeyboardEvent, useState } from 'react'
import { headers } from '../app/connection.ts'
import { setTitle } from '../composer/title.ts'
import { errorText } from '../error-text.ts'
import { plainText } from './plain-text.ts'
import type { SessionSummary } from './use-sessions.ts'

const STATES: { readonly [status: string]: string } = {
  active: 'Running',
  paused: 'Waiting for you',
  ended: 'Done',
  failed: 'Failed',
}

interface SessionRowProps {
  readonly session: SessionSummary
  readonly isCurrent: boolean
  readonly onOpen: () => void
  readonly onRemoved: () => void
}

/** A session of the list, with actions to open, rename and delete it. */
export function SessionRow({ session, isCurrent, onOpen, onRemoved }: SessionRowProps) {
  const { sessionId, title, status } = session
  const line = plainText(session.line)
  const [action, setAction] = useState<'rename' | 'delete'>()
  const [failure, setFailure] = useState<string>()
  const name = title ?? line ?? sessionId
  const cancel = () => setAction(undefined)
  if (action === 'rename') {
    return (
      <li>
        <Rename sessionId={sessionId} title={title ?? ''} onClose={cancel} />
      </li>
    )
  }
  if (action === 'delete') {
    const confirm = async () => {
      try {
        await deleteSession(sessionId)
        onRemoved()
      } catch (error) {
        setFailure(errorText(error as Error))
      }
    }
    return (
      <li>
        <div className="confirm" role="alertdialog" aria-label={`Delete ${name}?`} onKeyDown={onEscape(cancel)}>
          <span>{failure ?? 'Delete this chat and its messages?'}</span>
          {/* biome-ignore lint/a11y/noAutofocus: the user has just opened this dialog, and this is its safe answer */}
          <button type="button" autoFocus onClick={cancel}>
            Cancel
          </button>
          <button type="button" className="danger" onClick={() => void confirm()}>
            Delete
          </button>
        </div>
      </li>
    )
  }
  return (
    <li>
      <button type="button" className="open" data-session={sessionId} aria-current={isCurrent} onClick={onOpen}>
        <span className="name">{name}</span>
        <span className="line">
          <span className="dot" data-state={status} />
          {session.sequence === 0 ? 'New' : (STATES[status] ?? status)}
          {title !== undefined && line !== undefined && line !== title && ` · ${line}`}
        </span>
      </button>
      <span className="row-actions">
        <button type="button" aria-label={`Rename ${name}`} title="Rename" onClick={() => setAction('rename')}>
          <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
            <path d="M3 13h2.5L13 5.5 10.5 3 3 10.5z" fill="none" stroke="currentColor" strokeLinejoin="round" />
          </svg>
        </button>
        <button type="button" aria-label={`Delete ${name}`} title="Delete" onClick={() => setAction('delete')}>
          <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
            <path d="M3 4.5h10M6.5 4V2.5h3V4M4.5 4.5l.5 9h6l.5-9" fill="none" stroke="currentColor" />
          </svg>
        </button>
      </span>
    </li>
  )
}

/** Deletes a session and its log. */
async function deleteSession(sessionId: string): Promise<void> {
  const reply = await fetch(`/api/sessions/${encodeURIComponent(sessionId)}`, { method: 'DELETE', headers })
  // 404: another tab has deleted it already.
  if (!reply.ok && reply.status !== 404) throw new Error(`The server answered with status ${reply.status}.`)
}

const onEscape = (cancel: () => void) => (event: KeyboardEvent) => {
  if (event.key === 'Escape') cancel()
}

interface RenameProps {
  readonly sessionId: string
  readonly title: string
  readonly onClose: () => void
}

/** A field with the name of a session. It stays open, with the error, if the server does not accept the new name. */
function Rename({ sessionId, title, onClose }: RenameProps) {
  const [isSaving, setSaving] = useState(false)
  const [failure, setFailure] = useState<string>()
  const save = async (newTitle: string) => {
    setSaving(true)
    try {
      await setTitle(sessionId, newTitle)
      onClose()
    } catch (error) {
      setFailure(errorText(error as Error & { code?: string }))
      setSaving(false)
    }
  }
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        const newTitle = String(new FormData(event.currentTarget).get('title')).trim()
        if (newTitle === '' || newTitle === title) onClose()
        else if (!isSaving) void save(newTitle)
      }}
    >
      <input
        name="title"
        aria-label="Chat name"
        defaultValue={title}
        maxLength={200}
        autoComplete="off"
        // biome-ignore lint/a11y/noAutofocus: the user has just opened this field
        autoFocus
        onFocus={({ target }) => target.select()}
        onBlur={() => !isSaving && onClose()}
        onKeyDown={onEscape(onClose)}
      />
      {failure && <p role="alert">{failure}</p>}
    </form>
  )
}
