import { type Chat, createChat } from '@millrace/client'
import { useCallback, useEffect, useState } from 'react'
import { recordingCallbacks } from '../inspect/callbacks/calls.ts'
import { connection } from './connection.ts'
import { tools } from './tools.ts'

/** The page and the session that the URL names. */
export type Route =
  | { readonly page: 'inspect'; readonly session: string | undefined }
  | {
      readonly page: 'chat'
      readonly session: string
      /** Set for a new session, which the server does not know yet. */
      readonly chat?: Chat
    }

const INSPECT = '/inspect/'

/** The URL of the inspector of a session; without one, of the page that opens recordings. */
export const inspectorUrl = (session = ''): string => INSPECT + encodeURIComponent(session)

/** The URL of a session's chat; without one, of a new one. */
export const chatUrl = (session?: string): string =>
  session === undefined ? '/' : `/?session=${encodeURIComponent(session)}`

function routeOf({ pathname, search }: { readonly pathname: string; readonly search: string }): Route {
  if (pathname.startsWith(INSPECT)) {
    return { page: 'inspect', session: decodeSession(pathname.slice(INSPECT.length)) }
  }
  const session = new URLSearchParams(search).get('session') ?? undefined
  if (session !== undefined) return { page: 'chat', session }
  const chat = createChat({ tools, connection, ...recordingCallbacks() })
  return { page: 'chat', chat, session: chat.state.sessionId ?? '' }
}

function decodeSession(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded) || undefined
  } catch {
    return undefined
  }
}

/** The current page, kept in the URL so that reload and the back button work. */
export function useRoute() {
  const [route, setRoute] = useState(() => routeOf(location))
  useEffect(() => {
    const onBack = () => setRoute(routeOf(location))
    addEventListener('popstate', onBack)
    return () => removeEventListener('popstate', onBack)
  }, [])
  const navigate = useCallback((url: string) => {
    history.pushState(null, '', url)
    setRoute(routeOf(location))
  }, [])
  /** Puts a session into the URL after its first message. */
  const setSession = useCallback((session: string) => {
    if (location.pathname === '/') history.replaceState(null, '', chatUrl(session))
  }, [])
  return { route, navigate, setSession }
}
