import { useLogState } from '@millrace/react/log'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useInspectedLog, useLogConsumer } from '../inspected-log.ts'
import { firstFrom } from '../timeline/binary-search.ts'
import { useTravel } from '../travel/travel.ts'
import { Detail } from './detail.tsx'
import { EntryRow } from './entry-row.tsx'
import { Facets } from './facets.ts'
import { Filters } from './filters.tsx'
import { type EntryFilter, NO_FILTER } from './search.ts'
import { useSearch } from './use-search.ts'

/** Height of a row in px, as in the stylesheet. */
const ROW_PX = 28
/** Number of rows from the end that count as the end. */
const END_ROWS = 4

/** The entries of the log as a table, with details of the selected one. */
export function Entries() {
  const log = useInspectedLog()
  const { error } = useLogState(log)
  const { at, travel } = useTravel()
  const { consumer: facets } = useLogConsumer(() => new Facets())
  const [filter, setFilter] = useState<EntryFilter>(NO_FILTER)
  const [isClock, setClock] = useState(false)
  const result = useSearch(filter)
  const { found, count } = result
  const indexOf = useCallback((position: number): number => (found ? (found[position] ?? -1) : position), [found])
  const positionOf = (index: number) => (found ? firstFrom(found, index) : index)
  const selectedIndex = at === undefined ? -1 : log.indexAt(at)
  const position = selectedIndex < 0 ? -1 : positionOf(selectedIndex)

  const pane = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count,
    getScrollElement: () => pane.current,
    estimateSize: () => ROW_PX,
    overscan: 6,
    useFlushSync: false,
  })
  /** Scrolls a row into view. Computed, since all rows have the same height and measuring is slow. */
  const reveal = (position: number) => {
    const [top, height] = [rows.scrollOffset ?? 0, (rows.scrollRect?.height ?? 0) - ROW_PX]
    const start = position * ROW_PX
    if (start < top) pane.current?.scrollTo({ top: start })
    else if (start + ROW_PX > top + height) pane.current?.scrollTo({ top: start + ROW_PX - height })
  }
  const [active, activate] = useState<number>()
  const current = active ?? (position >= 0 ? position : count - 1)

  const [isAtEnd, setAtEnd] = useState(true)
  const toEnd = useCallback(() => pane.current?.scrollTo({ top: count * ROW_PX }), [count])
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
    if (current) setAtEnd(current.scrollHeight - current.scrollTop - current.clientHeight < ROW_PX * END_ROWS)
  }

  const choose = useCallback((sequence: number) => travel(sequence), [travel])
  const keys = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor((pane.current?.clientHeight ?? 0) / ROW_PX) - 2)
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
  const entry = log.entries[selectedIndex]
  const items = rows.getVirtualItems()
  // A row out of view is not mounted, so it cannot be referenced.
  const isActiveMounted = items.some(({ index }) => index === current)
  // Rows reuse the elements of rows that left the view: mounting is slow.
  const poolSize = Math.ceil((items.length + 1) / 8) * 8
  const addFilter = useMemo(() => (part: Partial<EntryFilter>) => setFilter(filter => ({ ...filter, ...part })), [])
  return (
    <div className="entries">
      <div className="both-sides">
        <div className="list">
          <Filters
            facets={facets}
            filter={filter}
            onChange={setFilter}
            result={result}
            isClock={isClock}
            onClock={setClock}
          />
          <div className="table" ref={pane} onScroll={scrolled}>
            <table
              // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a grid is a table that takes keys for its rows
              role="grid"
              aria-label="Log entries"
              aria-rowcount={count + 1}
              aria-activedescendant={isActiveMounted ? `entry-${indexOf(current)}` : undefined}
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
                        key={position % poolSize}
                        entry={entry}
                        index={index}
                        position={position}
                        start={start}
                        facets={facets}
                        showsClockTime={isClock}
                        isSelected={index === selectedIndex}
                        isActive={position === current}
                        isAfterSelected={at !== undefined && entry.sequence > at}
                        onChoose={choose}
                      />
                    )
                  )
                })}
              </tbody>
            </table>
          </div>
          {count === 0 && result.progress === 1 && (
            <p className="quiet none">
              {found ? 'No entries match these filters.' : error ? 'No entries.' : 'No entries yet.'}
            </p>
          )}
          {!isAtEnd && (
            <button type="button" className="latest" onClick={toEnd}>
              ↓ Latest
            </button>
          )}
        </div>
        {entry && <Detail entry={entry} index={selectedIndex} onFilter={addFilter} />}
      </div>
    </div>
  )
}

const COLUMNS = ['#', 'Time', 'Lane', 'Type', 'Content', 'Size'] as const

const CLASSES: { readonly [C in (typeof COLUMNS)[number]]: string } = {
  '#': 'sequence',
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
