import { createContext, useContext, useEffect, useMemo, useRef, useState } from 'react'

/** The position in the log at which the session is shown. */
export interface Travel {
  /** The selected sequence; undefined for live. */
  readonly at: number | undefined
  /** Moves to a sequence; without one, back to live. */
  readonly travel: (at?: number) => void
}

const Context = createContext<Travel | undefined>(undefined)

export const TravelProvider = Context.Provider

/** The current position, and a function to move. @throws outside of a TravelProvider */
export function useTravel(): Travel {
  const travel = useContext(Context)
  if (travel === undefined) throw new Error('Expected to be rendered inside <TravelProvider>.')
  return travel
}

/** State for a TravelProvider. Moves at most once a frame. */
export function useTravelState(): Travel {
  const [at, setAt] = useState<number>()
  const target = useRef<number>(undefined)
  const frame = useRef(0)
  useEffect(() => () => cancelAnimationFrame(frame.current), [])
  return useMemo(() => {
    const travel = (to?: number) => {
      target.current = to
      cancelAnimationFrame(frame.current)
      frame.current = requestAnimationFrame(() => setAt(target.current))
    }
    return { at, travel }
  }, [at])
}
