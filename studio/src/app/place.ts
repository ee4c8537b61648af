import { type Chat, HttpChat } from '@millrace/client'
import { useCallback, useEffect, useState } from 'react'
import { tools } from './tools.ts'

/** Which session is shown. */
interface Place {
  readonly session: string
  /** For a new session, which nobody is to ask the server for: a chat that has thought of its name. */
  readonly chat?: Chat
}

const inAddress = (): string | undefined => new URLSearchParams(location.search).get('session') ?? undefined

const addressOf = (session: string | undefined): string =>
  session === undefined ? location.pathname : `?session=${encodeURIComponent(session)}`

function placeOf(session: string | undefined): Place {
  if (session !== undefined) return { session }
  const chat = new HttpChat({ tools })
  return { chat, session: chat.state.sessionId ?? '' }
}

/** The session in the address of the page, so that a reload comes back to it and the browser's buttons work. */
export function usePlace() {
  const [place, setPlace] = useState(() => placeOf(inAddress()))
  useEffect(() => {
    const back = () => setPlace(placeOf(inAddress()))
    addEventListener('popstate', back)
    return () => removeEventListener('popstate', back)
  }, [])
  const open = useCallback((session?: string) => {
    history.pushState(null, '', addressOf(session))
    setPlace(placeOf(session))
  }, [])
  /** Somebody has said something in it: from now on it has an address. */
  const settle = useCallback((session: string) => history.replaceState(null, '', addressOf(session)), [])
  return { place, open, settle }
}
