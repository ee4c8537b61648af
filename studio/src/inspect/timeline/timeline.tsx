import type { Entry } from '@millrace/protocol'
import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useState } from 'react'
import { excerptOf } from '../entries/excerpt.ts'
import { formatDuration } from '../entries/format.ts'
import { useInspectedLog, useLogConsumer } from '../inspected-log.ts'
import { useTravel } from '../travel/travel.ts'
import { useWidth } from '../use-width.ts'
import { draw, nearest, positionAt, xOf } from './draw.ts'
import { useGestures } from './gestures.ts'
import { Axis, LaneChart, ROW_PX } from './lane-chart.tsx'
import { Legend } from './legend.tsx'
import { TimelineModel } from './timeline-model.ts'
import { panned, revealed, type Viewport, visibleRange, zoomed } from './viewport.ts'

/** Maximum distance between the pointer and an entry, in px. */
const NEAR_PX = 8

/** Width before the first measurement, and minimum width, in px. */
const INITIAL_WIDTH_PX = 600
const MIN_WIDTH_PX = 50

interface HoveredEntry {
  readonly x: number
  readonly y: number
  /** Log index of the entry under the pointer. */
  readonly index: number
}

/** The log as lanes over time, with zoom and pan. */
export function Timeline() {
  const log = useInspectedLog()
  const { at, travel } = useTravel()
  const { consumer: model, count } = useLogConsumer(() => new TimelineModel())
  const [pane, measuredWidth] = useWidth<HTMLDivElement>(INITIAL_WIDTH_PX)
  const width = Math.max(MIN_WIDTH_PX, measuredWidth)
  const [viewport, setViewport] = useState<Viewport>({})
  const [hovered, point] = useState<HoveredEntry>()
  const end = model.axis.end
  const { from, to } = visibleRange(viewport, end)
  const range = useMemo(() => ({ from, to, width }), [from, to, width])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the model grows in place, `count` is its version
  const drawing = useMemo(() => draw(model, range), [model, range, count])
  const selectedPosition = at === undefined ? undefined : model.at[log.indexAt(at)]

  useEffect(() => {
    if (selectedPosition !== undefined) setViewport(viewport => revealed(viewport, model.axis.end, selectedPosition))
  }, [selectedPosition, model])

  const indexAt = (x: number, y: number): number | undefined => {
    const drawn = drawing.rows[Math.floor(y / ROW_PX)]
    if (drawn === undefined) return undefined
    // Markers have priority over other entries.
    const markers = drawn.markers.filter(marker => marker.marker !== 'commit' && Math.abs(marker.x - x) < NEAR_PX)
    markers.sort((a, b) => Math.abs(a.x - x) - Math.abs(b.x - x))
    const near = (range.to - range.from) * (NEAR_PX / width)
    return markers[0]?.index ?? nearest(drawn.row.entries, positionAt(range, x), near)
  }
  const goTo = (index: number | undefined) => {
    const entry = index === undefined ? undefined : log.entries[index]
    if (entry) travel(entry.sequence)
  }
  const gestures = useGestures(pane, {
    zoom: (factor, x) => setViewport(viewport => zoomed(viewport, end, factor, positionAt(range, x))),
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
    else if (event.key === '+' || event.key === '=') setViewport(zoomed(viewport, end, 1.5, selectedPosition))
    else if (event.key === '-') setViewport(zoomed(viewport, end, 1 / 1.5, selectedPosition))
    else if (event.key === '0') setViewport({})
    else if (event.key === 'Home') setViewport(panned(viewport, end, Number.NEGATIVE_INFINITY))
    else if (event.key === 'End') setViewport({ span: viewport.span })
    else return
    event.preventDefault()
  }
  const [isFocused, setFocused] = useState(false)
  const selectedIndex = at === undefined ? -1 : log.indexAt(at)
  const tip =
    hovered ??
    (isFocused && selectedPosition !== undefined
      ? { x: xOf(range, selectedPosition), y: ROW_PX, index: selectedIndex }
      : undefined)
  const entry = tip && log.entries[tip.index]
  return (
    <section className="timeline" aria-label="Timeline">
      <div className="tools">
        <h2>Timeline</h2>
        <GapSummary count={model.axis.gaps.length} omittedMs={model.axis.omittedMs} />
        <span className="space" />
        <Legend />
        <button
          type="button"
          aria-label="Zoom out"
          onClick={() => setViewport(zoomed(viewport, end, 1 / 1.5, selectedPosition))}
        >
          −
        </button>
        <button
          type="button"
          aria-label="Zoom in"
          onClick={() => setViewport(zoomed(viewport, end, 1.5, selectedPosition))}
        >
          +
        </button>
        <button
          type="button"
          aria-pressed={viewport.span === undefined}
          title="Show the entire log"
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
            <li key={i} style={{ height: ROW_PX, paddingLeft: `${0.6 + row.depth * 0.7}rem` }}>
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
          {selectedPosition !== undefined && selectedPosition >= from && selectedPosition <= to && (
            <div className="here" style={{ transform: `translateX(${xOf(range, selectedPosition)}px)` }} />
          )}
          {tip && entry && <Tip entry={entry} x={tip.x} y={tip.y} width={width} startedAt={model.axis.startedAt} />}
        </div>
      </div>
    </section>
  )
}

/** Says how much time the shortened gaps leave out. */
function GapSummary({ count, omittedMs }: { readonly count: number; readonly omittedMs: number }) {
  if (count === 0) return null
  return (
    <p className="quiet" title={`${count} idle ${count === 1 ? 'gap is' : 'gaps are'} drawn shorter`}>
      {formatDuration(omittedMs)} idle time hidden
    </p>
  )
}

interface TipProps {
  readonly entry: Entry
  readonly x: number
  readonly y: number
  readonly width: number
  /** Timestamp of the first entry. */
  readonly startedAt: number
}

/** The tooltip of an entry. */
function Tip({ entry, x, y, width, startedAt }: TipProps) {
  const { sequence, timestamp, chunk, origin } = entry
  const isLeft = x > width / 2
  const style = { top: y + 14, ...(isLeft ? { right: width - x + 8 } : { left: x + 8 }) }
  return (
    <div className="tip" role="status" style={style}>
      <p>
        <b>{chunk.type}</b> {sequence}
      </p>
      <p className="quiet">
        {formatDuration(timestamp - startedAt)} · {origin.guest ?? `${origin.agentType}, ${origin.lane}`}
      </p>
      <p className="excerpt">{excerptOf(entry)}</p>
    </div>
  )
}
