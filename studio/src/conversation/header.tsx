import { ConnectionBadge } from './connection-badge.tsx'
import { SessionUsage } from './usage.tsx'

interface HeaderProps {
  readonly title: string | undefined
  readonly onOpenList: () => void
  readonly isInspected: boolean
  readonly onInspect: () => void
}

/** The title of the session, its token usage and the connection status. */
export function Header({ title, onOpenList, isInspected, onInspect }: HeaderProps) {
  return (
    <header>
      <button type="button" className="list" aria-label="Open chat list" onClick={onOpenList}>
        ☰
      </button>
      <h2 title={title}>{title}</h2>
      <SessionUsage />
      <ConnectionBadge />
      <button type="button" aria-pressed={isInspected} onClick={onInspect}>
        Inspect
      </button>
    </header>
  )
}
