import type { SessionLine } from './use-sessions.ts'

interface SessionsProps {
  readonly lines: readonly SessionLine[]
  readonly current: string | undefined
  readonly onOpen: (session?: string) => void
  readonly onClose: () => void
}

/** The list of sessions. */
export function Sessions({ lines, current, onOpen, onClose }: SessionsProps) {
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
        {lines.length === 0 && <p className="quiet">What you begin is listed here.</p>}
        <ul>
          {lines.map(({ sessionId, title, line, status }) => (
            <li key={sessionId}>
              <button
                type="button"
                data-session={sessionId}
                aria-current={sessionId === current}
                onClick={() => onOpen(sessionId)}
              >
                <span className="name">{title ?? line ?? sessionId}</span>
                <span className="line">
                  <span className="dot" data-state={status} />
                  {status}
                  {title !== undefined && line !== undefined && ` · ${line}`}
                </span>
              </button>
            </li>
          ))}
        </ul>
      </nav>
      <button type="button" className="shade" tabIndex={-1} aria-hidden="true" onClick={onClose} />
    </>
  )
}
