import { ConnectionBadge } from './connection-badge.tsx'

/** What the session is called, and how it stands with the connection. */
export function Header({ title, onList }: { readonly title: string | undefined; readonly onList: () => void }) {
  return (
    <header>
      <button type="button" className="list" aria-label="Sessions" onClick={onList}>
        ☰
      </button>
      <h2>{title}</h2>
      <ConnectionBadge />
    </header>
  )
}
