import { useChat, useSelector } from '@millrace/react'
import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useMemo, useRef } from 'react'
import { Message } from './message.tsx'
import { Outcome } from './outcome.tsx'
import { SharedState } from './shared-state.tsx'
import { useStickToEnd } from './use-stick-to-end.ts'
import { useTurns } from './use-turns.ts'
import { Working } from './working.tsx'

/** Maximum number of messages that are all mounted, so that the browser's search finds them. With more, only those in and near view are. */
const MAX_MOUNTED = 120
/** Number of mounted messages beyond the view. */
const OVERSCAN = 8
/** Estimated height of a message that was not measured yet, in px. */
const ESTIMATED_PX = 160

/** The messages of the session. Follows the end. */
export function Transcript() {
  const turns = useTurns()
  const { hasOlder, isLoadingOlder, loadOlder } = useChat()
  const lastId = turns.at(-1)?.id
  const pane = useRef<HTMLElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const isOlderWanted = useRef(false)
  const showOlder = () => {
    if (isLoadingOlder) isOlderWanted.current = true
    else if (hasOlder) void loadOlder()
  }
  const { isAtEnd, scroll } = useStickToEnd(pane, showOlder)
  // Reaching the top while a page loads causes no further scroll event.
  useEffect(() => {
    if (isLoadingOlder || !isOlderWanted.current) return
    isOlderWanted.current = false
    if (scroll.isNearTop) showOlder()
  })
  // A message that the user sends scrolls into view.
  const sending = useSelector(({ store }) => (store.message(lastId ?? '')?.status === 'sending' ? lastId : undefined))
  useEffect(() => {
    if (sending !== undefined) scroll.toEnd()
  }, [sending, scroll])
  const indexOf = useMemo(() => new Map(turns.map(({ id }, index) => [id, index])), [turns])
  const virtualizer = useVirtualizer({
    count: turns.length,
    getScrollElement: () => pane.current,
    getItemKey: useCallback((index: number) => turns[index]?.id ?? index, [turns]),
    estimateSize: () => ESTIMATED_PX,
    overscan: OVERSCAN,
    scrollMargin: list.current?.offsetTop ?? 0,
    rangeExtractor: range => {
      if (range.count <= MAX_MOUNTED) return indexRange(0, range.count)
      const mounted = [scroll.anchor, document.activeElement, ...(list.current?.querySelectorAll('.edit') ?? [])]
      const indexes = mounted.map(element => indexOf.get(element?.closest<HTMLElement>('.slot')?.dataset['id'] ?? ''))
      return withMounted(range, indexes)
    },
    useFlushSync: false,
  })
  virtualizer.shouldAdjustScrollPositionOnItemSizeChange = () => false
  const items = virtualizer.getVirtualItems()
  const margin = virtualizer.options.scrollMargin
  let end = margin
  return (
    <section className="transcript" aria-label="Conversation" ref={pane}>
      <div className="sheet">
        {hasOlder && (
          <button type="button" className="older" disabled={isLoadingOlder} onClick={showOlder}>
            {isLoadingOlder ? 'Loading…' : 'Show older messages'}
          </button>
        )}
        <div className="slots" ref={list} style={{ minHeight: virtualizer.getTotalSize() }}>
          {items.map(({ index, key, start, end: next }) => {
            // Unmounted messages before this one become a margin.
            const before = Math.max(0, start - end)
            end = next
            const { id = '', inlineItems = [] } = turns[index] ?? {}
            return (
              <div
                key={key}
                className="slot"
                data-index={index}
                data-id={id}
                data-last={id === lastId}
                ref={virtualizer.measureElement}
                style={{ marginTop: before }}
              >
                <Message id={id} inlineItems={inlineItems} isLast={id === lastId} />
              </div>
            )
          })}
        </div>
        <Outcome />
        <SharedState />
        <Working />
      </div>
      {!isAtEnd && (
        <button type="button" className="to-end" aria-label="Scroll to bottom" onClick={scroll.toEnd}>
          ↓
        </button>
      )}
    </section>
  )
}

const indexRange = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)

/** The visible range, plus the anchored message and the focused ones, which stay mounted while older messages load. */
function withMounted(range: Range, [anchored, ...focused]: readonly (number | undefined)[]): number[] {
  const indexes = new Set(defaultRangeExtractor(range))
  const around =
    anchored === undefined ? [] : indexRange(Math.max(0, anchored - 2), Math.min(range.count, anchored + OVERSCAN))
  for (const index of [...around, ...focused]) if (index !== undefined) indexes.add(index)
  return [...indexes].sort((a, b) => a - b)
}
