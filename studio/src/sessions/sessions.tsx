import { useState } from 'react'
import { SessionRow } from './session-row.tsx'
import type { SessionSummary } from './use-sessions.ts'

interface SessionsProps {
  readonly lines: readonly SessionSummary[]
  readonly current: string | undefined
  readonly onOpen: (session?: string) => void
  readonly onClose: () => void
}

/** The search field appears above this number of sessions. */
const SEARCH_FROM = 10

/** The list of sessions. */
export function Sessions({ lines, current, onOpen, onClose }: SessionsProps) {
  const [query, setQuery] = useState('')
  const hasSearch = lines.length > SEARCH_FROM
  const words = hasSearch ? query.trim().toLowerCase() : ''
  const found = lines.filter(({ title, line, sessionId }) =>
    `${title ?? ''}\n${line ?? ''}\n${sessionId}`.toLowerCase().includes(words),
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
        {lines.length === 0 && <p className="quiet">Your chats appear here.</p>}
        {lines.length > 0 && found.length === 0 && <p className="quiet">No chats found.</p>}
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
