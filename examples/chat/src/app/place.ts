import { useCallback, useEffect, useState } from 'react'

/** Which session is shown. */
export interface Place {
  /** Another for each session that is opened: a new session keeps its key when it gets its id. */
  readonly key: string
  /** The session to open; none for a new one. */
  readonly session: string | undefined
  /** The id of what is shown, once there is something in it. */
  readonly shown: string | undefined
}

const inAddress = (): string | undefined => new URLSearchParams(location.search).get('session') ?? undefined

const addressOf = (session: string | undefined): string =>
  session === undefined ? location.pathname : `?session=${encodeURIComponent(session)}`

let news = 0
const placeOf = (session: string | undefined): Place => ({ key: session ?? `new ${++news}`, session, shown: session })

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
  /** The new session has its id. */
  const settle = useCallback((session: string) => {
    history.replaceState(null, '', addressOf(session))
    setPlace(place => (place.shown === session ? place : { ...place, shown: session }))
  }, [])
  return { place, open, settle }
}
