import { useEffect, useState } from 'react'

/** A session as the list shows it. */
export interface SessionSummary {
  readonly sessionId: string
  readonly title?: string
  readonly line?: string
  readonly status: string
  readonly updated: number
  readonly sequence: number
}

interface Change {
  readonly type: string
  readonly sessions: readonly SessionSummary[]
  readonly removed: readonly string[]
}

const AGAIN_MS = 2000

/** The sessions, those touched last first, as they change. */
export function useSessions(): readonly SessionSummary[] {
  const [lines, setLines] = useState<readonly SessionSummary[]>([])
  useEffect(() => {
    let known = new Map<string, SessionSummary>()
    let source: EventSource | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const leave = () => {
      clearTimeout(timer)
      source?.close()
      source = undefined
    }
    const follow = () => {
      leave()
      // A browser holds few connections to a server, and a page that nobody looks at needs no list.
      if (document.hidden) return
      let isFirst = true
      source = new EventSource('/api/sessions/stream')
      source.onopen = () => {
        isFirst = true
      }
      source.onmessage = ({ data }: MessageEvent<string>) => {
        const { type, sessions, removed } = JSON.parse(data) as Change
        if (type !== 'sessions') return
        // The first of a connection has all of the list, the others what changed.
        if (isFirst) known = new Map()
        isFirst = false
        for (const line of sessions) known.set(line.sessionId, line)
        for (const sessionId of removed) known.delete(sessionId)
        setLines([...known.values()].sort((a, b) => b.updated - a.updated))
      }
      source.onerror = () => {
        // A refusal is the end of an EventSource: it is begun anew.
        if (source?.readyState === EventSource.CLOSED) timer = setTimeout(follow, AGAIN_MS)
      }
    }
    document.addEventListener('visibilitychange', follow)
    follow()
    return () => {
      document.removeEventListener('visibilitychange', follow)
      leave()
    }
  }, [])
  return lines
}
