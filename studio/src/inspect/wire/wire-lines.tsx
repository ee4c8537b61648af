import type { SessionLog } from '@millrace/client/log'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { CopyButton } from './copy-button.tsx'
import { lineOf, type WireLine } from './wire.ts'

/** Height of a row in px. */
const ROW_PX = 26

interface WireLinesProps {
  /** The array grows in place. */
  readonly lines: readonly WireLine[]
  readonly count: number
  readonly log: SessionLog
  /** The selected sequence. */
  readonly at: number | undefined
  readonly onChoose: (sequence: number) => void
}

/** One line per event, with its entry on the left. */
export function WireLines({ lines, count, log, at, onChoose }: WireLinesProps) {
  const box = useRef<HTMLDivElement>(null)
  const [chosen, choose] = useState<number>()
  const isAtEnd = useRef(false)
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  })
  // Selects and reveals the event of the selected entry. Otherwise follows the end.
  useEffect(() => {
    if (at === undefined) return
    const line = lineOf(lines, at)
    if (lines[line]?.sequence !== at) return choose(undefined)
    choose(now => (lines[now ?? -1]?.sequence === at ? now : line))
    virtual.scrollToIndex(line, { align: 'auto' })
  }, [at, lines, virtual])
  useEffect(() => {
    if (isAtEnd.current && at === undefined && count > 0) virtual.scrollToIndex(count - 1)
  }, [at, count, virtual])
  const go = (line: number) => {
    const to = Math.max(0, Math.min(count - 1, line))
    choose(to)
    virtual.scrollToIndex(to, { align: 'auto' })
    onChoose(lines[to]?.sequence ?? 0)
  }
  const press = (event: KeyboardEvent) => {
    const steps: { readonly [key: string]: number } = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: 15,
      PageUp: -15,
      Home: -count,
      End: count,
    }
    const step = steps[event.key]
    if (step === undefined) return
    event.preventDefault()
    go((chosen ?? -1) + step)
  }
  const line = chosen === undefined ? undefined : lines[chosen]
  return (
    <>
      <div
        ref={box}
        className="wire-lines"
        role="listbox"
        tabIndex={0}
        aria-label="Events on the wire"
        aria-activedescendant={chosen === undefined ? undefined : `wire-${chosen}`}
        onKeyDown={press}
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
          isAtEnd.current = scrollTop + clientHeight > scrollHeight - ROW_PX
        }}
      >
        <div style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = lines[index]
            if (row === undefined) return null
            const isFirst = lines[index - 1]?.sequence !== row.sequence
            return (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the list
              <div
                key={index}
                id={`wire-${index}`}
                role="option"
                tabIndex={-1}
                className="wire-line-row"
                aria-selected={index === chosen}
                data-at={row.sequence === at}
                style={{ transform: `translateY(${start}px)` }}
                onClick={() => go(index)}
              >
                <span className="sequence">{isFirst ? row.sequence : ''}</span>
                <span className="type">{isFirst ? typeAt(log, row.sequence) : ''}</span>
                <EventText line={row} />
              </div>
            )
          })}
        </div>
      </div>
      {line?.text !== undefined && (
        <section className="wire-detail" aria-label="Selected event">
          <div className="row">
            <strong>Entry {line.sequence}</strong>
            <span className="quiet">{line.text.length.toLocaleString('en')} characters</span>
            <span className="space" />
            <CopyButton name="Copy" text={() => line.text ?? ''} />
          </div>
          <pre>{prettyOf(line.text)}</pre>
        </section>
      )}
    </>
  )
}

function EventText({ line: { text, isConnection } }: { readonly line: WireLine }) {
  if (isConnection) return <span className="event note">new connection, resumes here</span>
  if (text === undefined) return <span className="event note">no event</span>
  return <code className="event">{text.trim().slice(0, 400)}</code>
}

const typeAt = (log: SessionLog, sequence: number): string => {
  const entry = log.entries[log.indexAt(sequence)]
  return entry?.sequence === sequence ? entry.chunk.type : ''
}

/** Maximum number of characters to show. */
const MAX_TEXT = 20_000

/** Formats an event with indented JSON. */
function prettyOf(text: string): string {
  const pretty = text
    .trimEnd()
    .split('\n')
    .map(line => {
      const [, field = '', json = ''] = /^(data: )?([[{].*)$/s.exec(line) ?? []
      try {
        return json === '' ? line : field + JSON.stringify(JSON.parse(json), null, 2)
      } catch {
        return line
      }
    })
    .join('\n')
  return pretty.length > MAX_TEXT
    ? `${pretty.slice(0, MAX_TEXT)}\n… ${(pretty.length - MAX_TEXT).toLocaleString('en')} more`
    : pretty
}
