import { useLogState } from '@millrace/react/log'
import { useEffect, useMemo, useState } from 'react'
import { useInspectedLog } from '../inspected-log.ts'
import { type EntryFilter, isNoFilter, Search } from './search.ts'

/** Time budget per frame, in ms. */
const BUDGET_MS = 6

export interface SearchResult {
  /** Indexes of the matching entries; undefined without a filter. */
  readonly found: readonly number[] | undefined
  readonly count: number
  /** Searched share of the log, from 0 to 1. */
  readonly progress: number
}

/** Searches the log over several frames, and continues as it grows. */
export function useSearch(filter: EntryFilter): SearchResult {
  const log = useInspectedLog()
  const { count } = useLogState(log)
  const { entries } = log
  // biome-ignore lint/correctness/useExhaustiveDependencies: a log that restarts is searched again
  const search = useMemo(() => (isNoFilter(filter) ? undefined : new Search(filter)), [filter, entries])
  const [, setSearched] = useState(0)
  useEffect(() => {
    if (search === undefined) return
    let frame = 0
    const searchSlice = () => {
      const from = performance.now()
      const isDone = search.run(entries, Math.min(count, entries.length), () => performance.now() - from > BUDGET_MS)
      setSearched(search.searched)
      if (!isDone) frame = requestAnimationFrame(searchSlice)
    }
    frame = requestAnimationFrame(searchSlice)
    return () => cancelAnimationFrame(frame)
  }, [search, entries, count])
  if (search === undefined) return { found: undefined, count: Math.min(count, entries.length), progress: 1 }
  return { found: search.found, count: search.found.length, progress: count === 0 ? 1 : search.searched / count }
}
