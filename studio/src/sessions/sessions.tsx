import { useState } from 'react'
import { SessionRow } from './session-row.tsx'
import type { SessionSummary } from './use-sessions.ts'

interface SessionsProps {
  readonly lines: readonly SessionSummary[]
  readonly current: string | undefined
  readonly onOpen: (session?: string) => void
  readonly onClose: () => void
}

/** From how many on one may look for some of them. */
const MANY = 10

/** The list of sessions. */
export function Sessions({ lines, current, onOpen, onClose }: SessionsProps) {
  const [sought, seek] = useState('')
  const isMany = lines.length > MANY
  const words = isMany ? sought.trim().toLowerCase() : ''
  const found = lines.filter(({ title, line, sessionId }) =>
    `${title ?? ''}\n${line ?? ''}\n${sessionId}`.toLowerCase().includes(words),
  )
  return (
    <>
      <nav className="sessions" aria-label="Sessions">
        <header>
          <img src="/icon.svg" alt="" width="22" height="22" />
          <h1>Millrace</h1>
          <button type="button" className="close" aria-label="Close the list" onClick={onClose}>
            ✕
          </button>
        </header>
        <button type="button" className="new" onClick={() => onOpen()}>
          New session
        </button>
        {isMany && (
          <input
            type="search"
            aria-label="Look for a session"
            placeholder="Look for a session"
            value={sought}
            onChange={({ target }) => seek(target.value)}
          />
        )}
        {lines.length === 0 && <p className="quiet">What you begin is listed here.</p>}
        {lines.length > 0 && found.length === 0 && <p className="quiet">No session says that.</p>}
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
