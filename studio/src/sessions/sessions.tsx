import { useState } from 'react'
import { SessionRow } from './session-row.tsx'
import type { SessionSummary } from './use-sessions.ts'

interface SessionsProps {
  readonly sessions: readonly SessionSummary[]
  readonly current: string | undefined
  readonly onOpen: (session?: string) => void
  readonly onClose: () => void
}

/** Number of sessions above which the search field appears. */
const MIN_FOR_SEARCH = 10

/** The list of sessions. */
export function Sessions({ sessions, current, onOpen, onClose }: SessionsProps) {
  const [query, setQuery] = useState('')
  const hasSearch = sessions.length > MIN_FOR_SEARCH
  const searchText = hasSearch ? query.trim().toLowerCase() : ''
  const found = sessions.filter(({ title, line, sessionId }) =>
    `${title ?? ''}\n${line ?? ''}\n${sessionId}`.toLowerCase().includes(searchText),
  )
  return (
    <>
      <nav className="sessions" aria-label="Chats">
        <header>
          <img src="/icon.svg" alt="" width="22" height="22" />
          <h1>Millrace</h1>
          <button type="button" className="close" aria-label="Close chat list" onClick={onClose}>
            ✕
          </button>
        </header>
        <button type="button" className="new" onClick={() => onOpen()}>
          New chat
        </button>
        {hasSearch && (
          <input
            type="search"
            aria-label="Search chats"
            placeholder="Search chats"
            value={query}
            onChange={({ target }) => setQuery(target.value)}
          />
        )}
        {sessions.length === 0 && <p className="quiet">Your chats appear here.</p>}
        {sessions.length > 0 && found.length === 0 && <p className="quiet">No chats found.</p>}
        <ul>
          {found.map(session => (
            <SessionRow
              key={session.sessionId}
              session={session}
              isCurrent={session.sessionId === current}
              onOpen={() => onOpen(session.sessionId)}
              onRemoved={() => session.sessionId === current && onOpen()}
            />
          ))}
        </ul>
      </nav>
      <button type="button" className="shade" tabIndex={-1} aria-hidden="true" onClick={onClose} />
    </>
  )
}
