import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useInspected, useLogConsumer } from '../inspected.ts'
import { firstFrom } from '../timeline/sorted.ts'
import { useTravel } from '../travel/travel.ts'
import { Detail } from './detail.tsx'
import { Facets } from './facets.ts'
import { Filters } from './filters.tsx'
import { EntryRow } from './row.tsx'
import { type EntryFilter, NO_FILTER } from './search.ts'
import { useSearch } from './use-search.ts'

/** Height of a row in px, as in the stylesheet. */
const ROW = 28
/** Number of rows from the end that count as the end. */
const NEAR = 4

/** The entries of the log as a table, with details of the selected one. */
export function Entries() {
  const log = useInspected()
  const { at, travel } = useTravel()
  const { consumer: facets } = useLogConsumer(() => new Facets())
  const [filter, setFilter] = useState<EntryFilter>(NO_FILTER)
  const [isClock, setClock] = useState(false)
  const shown = useSearch(filter)
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
  /** Scrolls a row into view. Computed, since all rows have the same height and measuring is slow. */
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new position scrolls; the user may scroll away again
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
  // A row out of view is not mounted, so it cannot be referenced.
  const isActiveThere = items.some(({ index }) => index === current)
  // Rows reuse the elements of rows that left the view: mounting is slow.
  const pool = Math.ceil((items.length + 1) / 8) * 8
  const only = useMemo(() => (part: Partial<EntryFilter>) => setFilter(filter => ({ ...filter, ...part })), [])
  return (
    <div className="entries">
      <div className="both-sides">
        <div className="list">
          <Filters
            facets={facets}
            filter={filter}
            onChange={setFilter}
            shown={shown}
            isClock={isClock}
            onClock={setClock}
          />
          <div className="table" ref={pane} onScroll={scrolled}>
            <table
              // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a grid is a table that takes keys for its rows
              role="grid"
              aria-label="Log entries"
              aria-rowcount={count + 1}
              aria-activedescendant={isActiveThere ? `entry-${indexOf(current)}` : undefined}
              tabIndex={0}
              onKeyDown={keys}
            >
              <thead>
                <tr aria-rowindex={1}>
                  {COLUMNS.map(name => (
                    <th key={name} className={CLASSES[name]} scope="col">
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
            <p className="quiet none">{found ? 'No entries match these filters.' : 'No entries yet.'}</p>
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

const COLUMNS = ['#', 'Time', 'Lane', 'Type', 'Content', 'Size'] as const

const CLASSES: { readonly [C in (typeof COLUMNS)[number]]: string } = {
  '#': 'place',
  Time: 'time',
  Lane: 'lane',
  Type: 'type',
  Content: 'excerpt',
  Size: 'bytes',
}

/** The row that a key moves to. */
const MOVES: { readonly [key: string]: (from: number, count: number, page: number) => number } = {
  ArrowUp: from => from - 1,
  ArrowDown: from => from + 1,
  PageUp: (from, _, page) => from - page,
  PageDown: (from, _, page) => from + page,
  Home: () => 0,
  End: (_, count) => count - 1,
}
