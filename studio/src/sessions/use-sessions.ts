import { useEffect, useState } from 'react'

/** A row of the list of sessions. */
export interface SessionSummary {
  readonly sessionId: string
  readonly title?: string
  readonly line?: string
  readonly status: string
  readonly updated: number
  readonly sequence: number
}

interface SessionsEvent {
  readonly type: string
  readonly sessions: readonly SessionSummary[]
  readonly removed: readonly string[]
}

const RETRY_MS = 2000

/** All sessions, last updated first. Renders again when one changes. */
export function useSessions(): readonly SessionSummary[] {
  const [sessions, setSessions] = useState<readonly SessionSummary[]>([])
  useEffect(() => {
    let byId = new Map<string, SessionSummary>()
    let source: EventSource | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const disconnect = () => {
      clearTimeout(timer)
      source?.close()
      source = undefined
    }
    const connect = () => {
      disconnect()
      // Browsers limit connections per server: a hidden page closes its own.
      if (document.hidden) return
      let isFirst = true
      source = new EventSource('/api/sessions/stream')
      source.onopen = () => {
        isFirst = true
      }
      source.onmessage = ({ data }: MessageEvent<string>) => {
        const { type, sessions, removed } = JSON.parse(data) as SessionsEvent
        if (type !== 'sessions') return
        // The first event of a connection holds all sessions, later ones the changes.
        if (isFirst) byId = new Map()
        isFirst = false
        for (const session of sessions) byId.set(session.sessionId, session)
        for (const sessionId of removed) byId.delete(sessionId)
        setSessions([...byId.values()].sort((a, b) => b.updated - a.updated))
      }
      source.onerror = () => {
        // An EventSource does not reconnect after an error response.
        if (source?.readyState === EventSource.CLOSED) timer = setTimeout(connect, RETRY_MS)
      }
    }
    document.addEventListener('visibilitychange', connect)
    connect()
    return () => {
      document.removeEventListener('visibilitychange', connect)
      disconnect()
    }
  }, [])
  return sessions
}
