import { useChat } from '@millrace/react'
import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useLayoutEffect, useRef } from 'react'
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
  const older = () => {
    if (hasOlder && !isLoadingOlder) void loadOlder()
  }
  const { isAtEnd, toEnd, keepPlace } = useStickToEnd(pane, older)
  const virtualizer = useVirtualizer({
    count: turns.length,
    getScrollElement: () => pane.current,
    getItemKey: useCallback((index: number) => turns[index]?.id ?? index, [turns]),
    estimateSize: () => GUESS_PX,
    overscan: AROUND,
    scrollMargin: list.current?.offsetTop ?? 0,
    rangeExtractor: range => (range.count <= WHOLE ? all(range) : inUse(range, list.current)),
    useFlushSync: false,
  })
  const firstId = turns[0]?.id
  // biome-ignore lint/correctness/useExhaustiveDependencies: older ones have come when the first is another
  useLayoutEffect(keepPlace, [firstId])
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
        <button type="button" className="to-end" aria-label="To the latest" onClick={toEnd}>
          ↓
        </button>
      )}
    </section>
  )
}

const all = ({ count }: Range): number[] => Array.from({ length: count }, (_, i) => i)

/** Those in sight and around it, and those that somebody is at: what they write must not go. */
function inUse(range: Range, list: HTMLElement | null): number[] {
  const indexes = new Set(defaultRangeExtractor(range))
  const isAt = (element: Element | null) => {
    const index = list?.contains(element) && element?.closest<HTMLElement>('.slot')?.dataset['index']
    if (index && Number(index) < range.count) indexes.add(Number(index))
  }
  isAt(document.activeElement)
  for (const form of list?.querySelectorAll('.edit') ?? []) isAt(form)
  return [...indexes].sort((a, b) => a - b)
}
