import { type KeyboardEvent, useState } from 'react'
import { setTitle } from '../composer/title.ts'
import { errorText } from '../error-text.ts'
import { deleteSession } from './delete-session.ts'
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
  const shown = title ?? line ?? sessionId
  const leave = () => setAction(undefined)
  if (action === 'rename') {
    return (
      <li>
        <Rename
          title={title ?? ''}
          onLeave={leave}
          onDone={newTitle => {
            leave()
            setTitle(sessionId, newTitle)
          }}
        />
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
        <div className="confirm" role="alertdialog" aria-label={`Delete ${shown}?`} onKeyDown={onEscape(leave)}>
          <span>{failure ?? 'Delete this chat and its messages?'}</span>
          {/* biome-ignore lint/a11y/noAutofocus: the user has just opened this dialog, and this is its safe answer */}
          <button type="button" autoFocus onClick={leave}>
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
        <span className="name">{shown}</span>
        <span className="line">
          <span className="dot" data-state={status} />
          {session.sequence === 0 ? 'New' : (STATES[status] ?? status)}
          {title !== undefined && line !== undefined && line !== title && ` · ${line}`}
        </span>
      </button>
      <span className="row-actions">
        <button type="button" aria-label={`Rename ${shown}`} title="Rename" onClick={() => setAction('rename')}>
          <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
            <path d="M3 13h2.5L13 5.5 10.5 3 3 10.5z" fill="none" stroke="currentColor" strokeLinejoin="round" />
          </svg>
        </button>
        <button type="button" aria-label={`Delete ${shown}`} title="Delete" onClick={() => setAction('delete')}>
          <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
            <path d="M3 4.5h10M6.5 4V2.5h3V4M4.5 4.5l.5 9h6l.5-9" fill="none" stroke="currentColor" />
          </svg>
        </button>
      </span>
    </li>
  )
}

const onEscape = (leave: () => void) => (event: KeyboardEvent) => {
  if (event.key === 'Escape') leave()
}

interface RenameProps {
  readonly title: string
  readonly onDone: (title: string) => void
  readonly onLeave: () => void
}

function Rename({ title, onDone, onLeave }: RenameProps) {
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        const newTitle = String(new FormData(event.currentTarget).get('title')).trim()
        if (newTitle === '' || newTitle === title) onLeave()
        else onDone(newTitle)
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
        onBlur={onLeave}
        onKeyDown={onEscape(onLeave)}
      />
    </form>
  )
}
