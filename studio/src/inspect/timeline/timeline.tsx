import type { Entry } from '@millrace/protocol'
import { type KeyboardEvent, type PointerEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { excerptOf } from '../entries/excerpt.ts'
import { spanOf } from '../entries/span.ts'
import { useInspected, useLogConsumer } from '../inspected.ts'
import { useTravel } from '../travel/travel.ts'
import { draw, nearest, placeAt, xOf } from './draw.ts'
import { useGestures } from './gestures.ts'
import { Axis, LaneChart, ROW } from './lane-chart.tsx'
import { Legend } from './legend.tsx'
import { TimelineModel } from './timeline-model.ts'
import { panned, revealed, type Viewport, visibleRange, zoomed } from './viewport.ts'

/** Maximum distance of the pointer in px. */
const NEAR = 8

interface Pointed {
  readonly x: number
  readonly y: number
  /** Log index of the entry under the pointer. */
  readonly index: number
}

/** The log as lanes over time, with zoom and pan. */
export function Timeline() {
  const log = useInspected()
  const { at, travel } = useTravel()
  const { consumer: model, count } = useLogConsumer(() => new TimelineModel())
  const pane = useRef<HTMLDivElement>(null)
  const width = useWidth(pane)
  const [viewport, setViewport] = useState<Viewport>({})
  const [pointed, point] = useState<Pointed>()
  const end = model.clock.now
  const { from, to } = visibleRange(viewport, end)
  const range = useMemo(() => ({ from, to, width }), [from, to, width])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the model grows in place, `count` is its version
  const drawing = useMemo(() => draw(model, range), [model, range, count])
  const here = at === undefined ? undefined : model.at[log.indexAt(at)]

  useEffect(() => {
    if (here !== undefined) setViewport(viewport => revealed(viewport, model.clock.now, here))
  }, [here, model])

  const indexAt = (x: number, y: number): number | undefined => {
    const drawn = drawing.rows[Math.floor(y / ROW)]
    if (drawn === undefined) return undefined
    // Signs have priority over other entries.
    const signs = drawn.signs.filter(sign => sign.sign !== 'commit' && Math.abs(sign.x - x) < NEAR)
    signs.sort((a, b) => Math.abs(a.x - x) - Math.abs(b.x - x))
    const near = (range.to - range.from) * (NEAR / width)
    return signs[0]?.index ?? nearest(drawn.row.entries, placeAt(range, x), near)
  }
  const goTo = (index: number | undefined) => {
    const entry = index === undefined ? undefined : log.entries[index]
    if (entry) travel(entry.sequence)
  }
  const gestures = useGestures(pane, {
    zoom: (factor, x) => setViewport(viewport => zoomed(viewport, end, factor, placeAt(range, x))),
    pan: pixels => setViewport(viewport => panned(viewport, end, pixels / width)),
    press: (x, y) => goTo(indexAt(x, y)),
  })
  const hover = (event: PointerEvent<HTMLElement>) => {
    gestures.onPointerMove(event)
    const box = event.currentTarget.getBoundingClientRect()
    const [x, y] = [event.clientX - box.left, event.clientY - box.top]
    const index = gestures.isDragging() ? undefined : indexAt(x, y)
    point(index === undefined ? undefined : { x, y, index })
  }
  const keys = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0
    if (step && event.shiftKey) goTo(Math.max(0, (at === undefined ? count - 1 : log.indexAt(at)) + step))
    else if (step) setViewport(panned(viewport, end, step * 0.2))
    else if (event.key === '+' || event.key === '=') setViewport(zoomed(viewport, end, 1.5, here))
    else if (event.key === '-') setViewport(zoomed(viewport, end, 1 / 1.5, here))
    else if (event.key === '0') setViewport({})
    else if (event.key === 'Home') setViewport(panned(viewport, end, Number.NEGATIVE_INFINITY))
    else if (event.key === 'End') setViewport({ span: viewport.span })
    else return
    event.preventDefault()
  }
  const [isFocused, setFocused] = useState(false)
  const hereIndex = at === undefined ? -1 : log.indexAt(at)
  const tip =
    pointed ?? (isFocused && here !== undefined ? { x: xOf(range, here), y: ROW, index: hereIndex } : undefined)
  const entry = tip && log.entries[tip.index]
  return (
    <section className="timeline" aria-label="Timeline">
      <div className="tools">
        <h2>Timeline</h2>
        <Idle count={model.clock.gaps.length} saved={model.clock.saved} />
        <span className="space" />
        <Legend />
        <button type="button" aria-label="Zoom out" onClick={() => setViewport(zoomed(viewport, end, 1 / 1.5, here))}>
          −
        </button>
        <button type="button" aria-label="Zoom in" onClick={() => setViewport(zoomed(viewport, end, 1.5, here))}>
          +
        </button>
        <button
          type="button"
          aria-pressed={viewport.span === undefined}
          title="Show the whole log"
          onClick={() => setViewport({})}
        >
          Fit
        </button>
        <button
          type="button"
          aria-pressed={viewport.from === undefined}
          title="Follow the end of the log"
          onClick={() => setViewport({ span: viewport.span })}
        >
          Follow
        </button>
      </div>
      <div className="lanes">
        <div className="corner" />
        <Axis drawing={drawing} width={width} />
        <ul className="names" aria-hidden="true">
          {drawing.rows.map(({ label, row }, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no id
            <li key={i} style={{ height: ROW, paddingLeft: `${0.6 + row.depth * 0.7}rem` }}>
              {label}
            </li>
          ))}
        </ul>
        <div
          className="pane"
          ref={pane}
          role="application"
          aria-label="Timeline. The entries are also listed in the table below. Arrow keys pan, plus and minus zoom, 0 fits all, Shift and arrow keys select entries."
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it handles keys
          tabIndex={0}
          onKeyDown={keys}
          onFocus={() => setFocused(true)}
          onBlur={() => setFocused(false)}
          {...{ ...gestures, isDragging: undefined }}
          onPointerMove={hover}
          onPointerLeave={() => point(undefined)}
        >
          <LaneChart drawing={drawing} width={width} />
          {here !== undefined && here >= from && here <= to && (
            <div className="here" style={{ transform: `translateX(${xOf(range, here)}px)` }} />
          )}
          {tip && entry && <Tip entry={entry} x={tip.x} y={tip.y} width={width} elapsed={model.clock.first} />}
        </div>
      </div>
    </section>
  )
}

/** Says how much time the shortened gaps leave out. */
function Idle({ count, saved }: { readonly count: number; readonly saved: number }) {
  if (count === 0) return null
  return (
    <p className="quiet">
      {count} idle {count === 1 ? 'gap' : 'gaps'} shortened by {spanOf(saved)}
    </p>
  )
}

interface TipProps {
  readonly entry: Entry
  readonly x: number
  readonly y: number
  readonly width: number
  /** Timestamp of the first entry. */
  readonly elapsed: number
}

/** The tooltip of an entry. */
function Tip({ entry, x, y, width, elapsed }: TipProps) {
  const { sequence, timestamp, chunk, origin } = entry
  const isLeft = x > width / 2
  const style = { top: y + 14, ...(isLeft ? { right: width - x + 8 } : { left: x + 8 }) }
  return (
    <div className="tip" role="status" style={style}>
      <p>
        <b>{chunk.type}</b> {sequence}
      </p>
      <p className="quiet">
        {spanOf(timestamp - elapsed)} · {origin.guest ?? `${origin.agentType}, ${origin.lane}`}
      </p>
      <p className="excerpt">{excerptOf(entry)}</p>
    </div>
  )
}

/** Width of an element in px. */
function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(600)
  useLayoutEffect(() => {
    if (element.current === null) return
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(50, Math.floor(entry?.contentRect.width ?? 0))))
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [element])
  return width
}
