import type { SessionLog } from '@millrace/client/log'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { CopyButton } from './copy-button.tsx'
import { lineOf, type WireLine } from './wire.ts'

const ROW = 26

interface WireLinesProps {
  /** The array grows in place. */
  readonly lines: readonly WireLine[]
  readonly count: number
  readonly log: SessionLog
  /** The sequence that is looked at. */
  readonly at: number | undefined
  readonly onChoose: (sequence: number) => void
}

/** Events, a line each, with the entries that they say to their left. */
export function WireLines({ lines, count, log, at, onChoose }: WireLinesProps) {
  const box = useRef<HTMLDivElement>(null)
  const [chosen, choose] = useState<number>()
  const isAtEnd = useRef(false)
  const virtual = useVirtualizer({ count, getScrollElement: () => box.current, estimateSize: () => ROW, overscan: 12 })
  // Who travels elsewhere is shown what that entry says; who is at the end stays there.
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
          isAtEnd.current = scrollTop + clientHeight > scrollHeight - ROW
        }}
      >
        <div style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const one = lines[index]
            if (one === undefined) return null
            const isFirst = lines[index - 1]?.sequence !== one.sequence
            return (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the list
              <div
                key={index}
                id={`wire-${index}`}
                role="option"
                tabIndex={-1}
                className="wire-line-row"
                aria-selected={index === chosen}
                data-at={one.sequence === at}
                style={{ transform: `translateY(${start}px)` }}
                onClick={() => go(index)}
              >
                <span className="sequence">{isFirst ? one.sequence : ''}</span>
                <span className="type">{isFirst ? typeAt(log, one.sequence) : ''}</span>
                <Said line={one} />
              </div>
            )
          })}
        </div>
      </div>
      {line?.text !== undefined && (
        <section className="wire-detail" aria-label="The chosen event">
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

function Said({ line: { text, isConnection } }: { readonly line: WireLine }) {
  if (isConnection) return <span className="said note">another connection goes on from here</span>
  if (text === undefined) return <span className="said note">says nothing</span>
  return <code className="said">{text.trim().slice(0, 400)}</code>
}

const typeAt = (log: SessionLog, sequence: number): string => {
  const entry = log.entries[log.indexAt(sequence)]
  return entry?.sequence === sequence ? entry.chunk.type : ''
}

/** So much of an event is shown. */
const MOST = 20_000

/** An event with its JSON on many lines. */
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
  return pretty.length > MOST
    ? `${pretty.slice(0, MOST)}\n… ${(pretty.length - MOST).toLocaleString('en')} more`
    : pretty
}
