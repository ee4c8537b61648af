import { useChat, useSelector } from '@millrace/react'
import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useMemo, useRef } from 'react'
import { Message } from './message.tsx'
import { Outcome } from './outcome.tsx'
import { SharedState } from './shared-state.tsx'
import { useStickToEnd } from './stick.ts'
import { useTurns } from './turns.ts'
import { Working } from './working.tsx'

/** Up to how many messages all are there, so that the browser finds words in them; of more, those in sight and around it. */
const WHOLE = 120
/** How many around it. */
const AROUND = 8
/** How high a message is that nobody has seen. */
const GUESS_PX = 160

/** All that was said, the latest in sight. */
export function Transcript() {
  const turns = useTurns()
  const { hasOlder, isLoadingOlder, loadOlder } = useChat()
  const lastId = turns.at(-1)?.id
  const pane = useRef<HTMLElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const isOlderWanted = useRef(false)
  const older = () => {
    if (isLoadingOlder) isOlderWanted.current = true
    else if (hasOlder) void loadOlder()
  }
  const { isAtEnd, place } = useStickToEnd(pane, older)
  // A reader who reaches the top while a page loads causes no other scroll event there.
  useEffect(() => {
    if (isLoadingOlder || !isOlderWanted.current) return
    isOlderWanted.current = false
    if (place.isNearTop) older()
  })
  // What one says oneself comes into sight, wherever one has read.
  const saying = useSelector(({ store }) => (store.message(lastId ?? '')?.status === 'sending' ? lastId : undefined))
  useEffect(() => {
    if (saying !== undefined) place.toEnd()
  }, [saying, place])
  const indexOf = useMemo(() => new Map(turns.map(({ id }, index) => [id, index])), [turns])
  const virtualizer = useVirtualizer({
    count: turns.length,
    getScrollElement: () => pane.current,
    getItemKey: useCallback((index: number) => turns[index]?.id ?? index, [turns]),
    estimateSize: () => GUESS_PX,
    overscan: AROUND,
    scrollMargin: list.current?.offsetTop ?? 0,
    rangeExtractor: range => {
      if (range.count <= WHOLE) return between(0, range.count)
      const kept = [place.anchor, document.activeElement, ...(list.current?.querySelectorAll('.edit') ?? [])]
      const indexes = kept.map(one => indexOf.get(one?.closest<HTMLElement>('.slot')?.dataset['id'] ?? ''))
      return withThose(range, indexes)
    },
    useFlushSync: false,
  })
  virtualizer.shouldAdjustScrollPositionOnItemSizeChange = () => false
  const shown = virtualizer.getVirtualItems()
  const margin = virtualizer.options.scrollMargin
  let end = margin
  return (
    <section className="transcript" aria-label="Conversation" ref={pane}>
      <div className="sheet">
        {hasOlder && (
          <button type="button" className="older" disabled={isLoadingOlder} onClick={older}>
            {isLoadingOlder ? 'Loading…' : 'Show older messages'}
          </button>
        )}
        <div className="slots" ref={list} style={{ minHeight: virtualizer.getTotalSize() }}>
          {shown.map(({ index, key, start, end: next }) => {
            // What lies between is there as room for it.
            const before = Math.max(0, start - end)
            end = next
            const { id = '', between = [] } = turns[index] ?? {}
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
                <Message id={id} between={between} isLast={id === lastId} />
              </div>
            )
          })}
        </div>
        <Outcome />
        <SharedState />
        <Working />
      </div>
      {!isAtEnd && (
        <button type="button" className="to-end" aria-label="To the latest" onClick={place.toEnd}>
          ↓
        </button>
      )}
    </section>
  )
}

const between = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)

/** Those in sight and around it, and those around what somebody reads or writes, which must not go: when older ones come it is elsewhere for a moment. */
function withThose(range: Range, [read, ...written]: readonly (number | undefined)[]): number[] {
  const indexes = new Set(defaultRangeExtractor(range))
  const around = read === undefined ? [] : between(Math.max(0, read - 2), Math.min(range.count, read + AROUND))
  for (const index of [...around, ...written]) if (index !== undefined) indexes.add(index)
  return [...indexes].sort((a, b) => a - b)
}
