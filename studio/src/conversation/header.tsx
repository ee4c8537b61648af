import { ConnectionBadge } from './connection-badge.tsx'

interface HeaderProps {
  readonly title: string | undefined
  readonly onList: () => void
  readonly onInspect: () => void
}

/** What the session is called, and how it stands with the connection. */
export function Header({ title, onList, onInspect }: HeaderProps) {
  return (
    <header>
      <button type="button" className="list" aria-label="Sessions" onClick={onList}>
        ☰
      </button>
      <h2>{title}</h2>
      <ConnectionBadge />
      <button type="button" onClick={onInspect}>
        Inspect
      </button>
    </header>
  )
}
