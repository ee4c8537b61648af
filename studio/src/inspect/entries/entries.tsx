import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useInspected, useTaken } from '../inspected.ts'
import { firstFrom } from '../timeline/sorted.ts'
import { useTravel } from '../travel/travel.ts'
import { Detail } from './detail.tsx'
import { Facets } from './facets.ts'
import { Filters } from './filters.tsx'
import { EntryRow } from './row.tsx'
import { EVERYTHING, type Wanted } from './search.ts'
import { useSearch } from './use-search.ts'

/** The height of a row, as the style has it. */
const ROW = 28
/** As near to the end counts as being there. */
const NEAR = 4

/** The entries of the log as a table, and what there is to say of the one that is looked at. */
export function Entries() {
  const log = useInspected()
  const { at, travel } = useTravel()
  const { taken: facets } = useTaken(() => new Facets())
  const [wanted, setWanted] = useState<Wanted>(EVERYTHING)
  const [isClock, setClock] = useState(false)
  const shown = useSearch(wanted)
  const { found, count } = shown
  const indexOf = useCallback((position: number): number => (found ? (found[position] ?? -1) : position), [found])
  const positionOf = (index: number) => (found ? firstFrom(found, index) : index)
  const chosen = at === undefined ? -1 : log.indexAt(at)
  const position = chosen < 0 ? -1 : positionOf(chosen)

  const pane = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count,
    getScrollElement: () => pane.current,
    estimateSize: () => ROW,
    overscan: 6,
    useFlushSync: false,
  })
  /** Scrolls as little as brings a row into sight; by itself, because all rows are equally high and to measure is dear. */
  const reveal = (position: number) => {
    const [top, height] = [rows.scrollOffset ?? 0, (rows.scrollRect?.height ?? 0) - ROW]
    const start = position * ROW
    if (start < top) pane.current?.scrollTo({ top: start })
    else if (start + ROW > top + height) pane.current?.scrollTo({ top: start + ROW - height })
  }
  const [active, activate] = useState<number>()
  const current = active ?? (position >= 0 ? position : count - 1)

  const [isAtEnd, setAtEnd] = useState(true)
  const toEnd = useCallback(() => pane.current?.scrollTo({ top: count * ROW }), [count])
  const isFollowing = at === undefined && isAtEnd && active === undefined
  useEffect(() => {
    if (isFollowing && count > 0) toEnd()
  }, [isFollowing, count, toEnd])
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever goes elsewhere sees it, and may scroll away again
  useEffect(() => {
    activate(undefined)
    if (position >= 0) reveal(Math.min(position, count - 1))
  }, [at, found])
  const scrolled = () => {
    const { current } = pane
    if (current) setAtEnd(current.scrollHeight - current.scrollTop - current.clientHeight < ROW * NEAR)
  }

  const choose = useCallback((sequence: number) => travel(sequence), [travel])
  const keys = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor((pane.current?.clientHeight ?? 0) / ROW) - 2)
    const to = MOVES[event.key]?.(current, count, page)
    const entry = log.entries[indexOf(current)]
    if (to !== undefined) {
      const next = Math.min(count - 1, Math.max(0, to))
      activate(next)
      reveal(next)
    } else if (event.key === 'Enter' && entry) travel(entry.sequence)
    else if (event.key === 'Escape') travel()
    else return
    event.preventDefault()
  }
  const entry = log.entries[chosen]
  const items = rows.getVirtualItems()
  // One that is scrolled away is not in the page, and cannot be named.
  const isActiveThere = items.some(({ index }) => index === current)
  // Rows that come into sight take the places of those that went: to put elements into a page is dear.
  const pool = Math.ceil((items.length + 1) / 8) * 8
  const only = useMemo(() => (part: Partial<Wanted>) => setWanted(wanted => ({ ...wanted, ...part })), [])
  return (
    <div className="entries">
      <div className="both-sides">
        <div className="list">
          <Filters
            facets={facets}
            wanted={wanted}
            onChange={setWanted}
            shown={shown}
            isClock={isClock}
            onClock={setClock}
          />
          <div className="table" ref={pane} onScroll={scrolled}>
            <table
              // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a grid is a table that takes keys for its rows
              role="grid"
              aria-label="Entries of the log"
              aria-rowcount={count + 1}
              aria-activedescendant={isActiveThere ? `entry-${indexOf(current)}` : undefined}
              tabIndex={0}
              onKeyDown={keys}
            >
              <thead>
                <tr aria-rowindex={1}>
                  {COLUMNS.map(name => (
                    <th key={name} className={name.toLowerCase()} scope="col">
                      {name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody style={{ height: rows.getTotalSize() }}>
                {items.map(({ index: position, start }) => {
                  const index = indexOf(position)
                  const entry = log.entries[index]
                  return (
                    entry && (
                      <EntryRow
                        key={position % pool}
                        entry={entry}
                        index={index}
                        position={position}
                        start={start}
                        facets={facets}
                        isClock={isClock}
                        isChosen={index === chosen}
                        isActive={position === current}
                        isGone={at !== undefined && entry.sequence > at}
                        onChoose={choose}
                      />
                    )
                  )
                })}
              </tbody>
            </table>
          </div>
          {count === 0 && shown.progress === 1 && (
            <p className="quiet none">{found ? 'Nothing fits. Take a filter off.' : 'Nothing was written yet.'}</p>
          )}
          {!isAtEnd && (
            <button type="button" className="latest" onClick={toEnd}>
              ↓ Latest
            </button>
          )}
        </div>
        {entry && <Detail entry={entry} index={chosen} onOnly={only} />}
      </div>
    </div>
  )
}

const COLUMNS = ['Place', 'Time', 'Lane', 'Type', 'Gist', 'Bytes'] as const

/** Where a key leads to from a row. */
const MOVES: { readonly [key: string]: (from: number, count: number, page: number) => number } = {
  ArrowUp: from => from - 1,
  ArrowDown: from => from + 1,
  PageUp: (from, _, page) => from - page,
  PageDown: (from, _, page) => from + page,
  Home: () => 0,
  End: (_, count) => count - 1,
}
