import { createContext, useContext, useEffect, useMemo, useRef, useState } from 'react'

/** At which place of its log the session of this page is shown. */
export interface Travel {
  /** The sequence that is looked at; nothing where it is followed as it comes. */
  readonly at: number | undefined
  /** Goes to a sequence; without one, to the end, and on with it. */
  readonly travel: (at?: number) => void
}

const Context = createContext<Travel | undefined>(undefined)

export const TravelProvider = Context.Provider

/** Where the page around is, and how it gets elsewhere. */
export function useTravel(): Travel {
  const travel = useContext(Context)
  if (travel === undefined) throw new Error('Nobody travels here: put a TravelProvider around this.')
  return travel
}

/** A place to travel from, for a page: however often somebody goes elsewhere, it gets there at most once a frame. */
export function useTravelling(): Travel {
  const [at, setAt] = useState<number>()
  const wanted = useRef<number>(undefined)
  const frame = useRef(0)
  useEffect(() => () => cancelAnimationFrame(frame.current), [])
  return useMemo(() => {
    const travel = (to?: number) => {
      wanted.current = to
      cancelAnimationFrame(frame.current)
      frame.current = requestAnimationFrame(() => setAt(wanted.current))
    }
    return { at, travel }
  }, [at])
}
