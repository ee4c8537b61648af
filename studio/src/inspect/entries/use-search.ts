import { useLogState } from '@millrace/react/log'
import { useEffect, useMemo, useState } from 'react'
import { useInspected } from '../inspected.ts'
import { isEverything, Search, type Wanted } from './search.ts'

/** How much of a frame may be spent on it, in milliseconds. */
const SHARE = 6

export interface Shown {
  /** The places in the log of what is shown; nothing where all of it is. */
  readonly found: readonly number[] | undefined
  readonly count: number
  /** How much of the log was looked at, from 0 to 1. */
  readonly progress: number
}

/** What of the log is wanted: found over as many frames as it takes, and as the log grows. */
export function useSearch(wanted: Wanted): Shown {
  const log = useInspected()
  const { count } = useLogState(log)
  const { entries } = log
  // biome-ignore lint/correctness/useExhaustiveDependencies: a log that begins anew is looked through anew
  const search = useMemo(() => (isEverything(wanted) ? undefined : new Search(wanted)), [wanted, entries])
  const [, setLooked] = useState(0)
  useEffect(() => {
    if (search === undefined) return
    let frame = 0
    const look = () => {
      const from = performance.now()
      const isDone = search.go(entries, Math.min(count, entries.length), () => performance.now() - from > SHARE)
      setLooked(search.looked)
      if (!isDone) frame = requestAnimationFrame(look)
    }
    frame = requestAnimationFrame(look)
    return () => cancelAnimationFrame(frame)
  }, [search, entries, count])
  if (search === undefined) return { found: undefined, count: Math.min(count, entries.length), progress: 1 }
  return { found: search.found, count: search.found.length, progress: count === 0 ? 1 : search.looked / count }
}
