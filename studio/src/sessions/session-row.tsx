import { type KeyboardEvent, useState } from 'react'
import { name } from '../composer/title.ts'
import { wordsOf } from '../words.ts'
import { plainOf } from './plain.ts'
import { remove } from './remove.ts'
import type { SessionSummary } from './use-sessions.ts'

const STATES: { readonly [status: string]: string } = {
  active: 'at work',
  paused: 'waits for somebody',
  ended: 'done',
  failed: 'failed',
}

interface SessionRowProps {
  readonly session: SessionSummary
  readonly isCurrent: boolean
  readonly onOpen: () => void
  readonly onRemoved: () => void
}

/** A session of the list: it can be opened, called otherwise, and removed by who means it. */
export function SessionRow({ session, isCurrent, onOpen, onRemoved }: SessionRowProps) {
  const { sessionId, title, status } = session
  const line = plainOf(session.line)
  const [doing, set] = useState<'rename' | 'remove'>()
  const [failure, setFailure] = useState<string>()
  const shown = title ?? line ?? sessionId
  const leave = () => set(undefined)
  if (doing === 'rename') {
    return (
      <li>
        <Rename
          title={title ?? ''}
          onLeave={leave}
          onDone={given => {
            leave()
            name(sessionId, given)
          }}
        />
      </li>
    )
  }
  if (doing === 'remove') {
    const confirm = async () => {
      try {
        await remove(sessionId)
        onRemoved()
      } catch (error) {
        setFailure(wordsOf(error as Error))
      }
    }
    return (
      <li>
        <div className="confirm" role="alertdialog" aria-label={`Delete ${shown}?`} onKeyDown={atEscape(leave)}>
          <span>{failure ?? 'Delete it, and all that was said?'}</span>
          {/* biome-ignore lint/a11y/noAutofocus: who asked for it is here, and this is the answer that does no harm */}
          <button type="button" autoFocus onClick={leave}>
            Keep
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
          {session.sequence === 0 ? 'new' : (STATES[status] ?? status)}
          {title !== undefined && line !== undefined && ` · ${line}`}
        </span>
      </button>
      <span className="doings">
        <button type="button" aria-label={`Rename ${shown}`} title="Rename" onClick={() => set('rename')}>
          <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
            <path d="M3 13h2.5L13 5.5 10.5 3 3 10.5z" fill="none" stroke="currentColor" strokeLinejoin="round" />
          </svg>
        </button>
        <button type="button" aria-label={`Delete ${shown}`} title="Delete" onClick={() => set('remove')}>
          <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
            <path d="M3 4.5h10M6.5 4V2.5h3V4M4.5 4.5l.5 9h6l.5-9" fill="none" stroke="currentColor" />
          </svg>
        </button>
      </span>
    </li>
  )
}

const atEscape = (leave: () => void) => (event: KeyboardEvent) => {
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
        const given = String(new FormData(event.currentTarget).get('title')).trim()
        if (given === '' || given === title) onLeave()
        else onDone(given)
      }}
    >
      <input
        name="title"
        aria-label="What the session is called"
        defaultValue={title}
        maxLength={200}
        autoComplete="off"
        // biome-ignore lint/a11y/noAutofocus: who asked for it is here
        autoFocus
        onFocus={({ target }) => target.select()}
        onBlur={onLeave}
        onKeyDown={atEscape(onLeave)}
      />
    </form>
  )
}
