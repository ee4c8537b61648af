import type { Entry } from '@millrace/protocol'
import { type KeyboardEvent, type PointerEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { gistOf } from '../entries/gist.ts'
import { spanOf } from '../entries/span.ts'
import { useInspected, useTaken } from '../inspected.ts'
import { useTravel } from '../travel/travel.ts'
import { draw, nearest, placeAt, xOf } from './draw.ts'
import { useGestures } from './gestures.ts'
import { Legend } from './legend.tsx'
import { Timeline as Model } from './model.ts'
import { Axis, ROW, Sheet } from './sheet.tsx'
import { type Look, moved, seenOf, showing, zoomed } from './sight.ts'

/** How near the pointer has to be, in pixels. */
const NEAR = 8

interface Pointed {
  readonly x: number
  readonly y: number
  /** The place in the log of what is pointed at. */
  readonly index: number
}

/** The log as lanes over time. */
export function Timeline() {
  const log = useInspected()
  const { at, travel } = useTravel()
  const { taken: model, count } = useTaken(() => new Model())
  const pane = useRef<HTMLDivElement>(null)
  const width = useWidth(pane)
  const [look, setLook] = useState<Look>({})
  const [pointed, point] = useState<Pointed>()
  const end = model.clock.now
  const { from, to } = seenOf(look, end)
  const sight = useMemo(() => ({ from, to, width }), [from, to, width])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the model grows in place, and `count` says how far
  const drawing = useMemo(() => draw(model, sight), [model, sight, count])
  const here = at === undefined ? undefined : model.at[log.indexAt(at)]

  useEffect(() => {
    if (here !== undefined) setLook(look => showing(look, model.clock.now, here))
  }, [here, model])

  const indexAt = (x: number, y: number): number | undefined => {
    const drawn = drawing.rows[Math.floor(y / ROW)]
    if (drawn === undefined) return undefined
    // What has a sign of its own is meant before what has none.
    const signs = drawn.signs.filter(sign => sign.sign !== 'commit' && Math.abs(sign.x - x) < NEAR)
    signs.sort((a, b) => Math.abs(a.x - x) - Math.abs(b.x - x))
    const near = (sight.to - sight.from) * (NEAR / width)
    return signs[0]?.index ?? nearest(drawn.row.entries, placeAt(sight, x), near)
  }
  const goTo = (index: number | undefined) => {
    const entry = index === undefined ? undefined : log.entries[index]
    if (entry) travel(entry.sequence)
  }
  const gestures = useGestures(pane, {
    zoom: (factor, x) => setLook(look => zoomed(look, end, factor, placeAt(sight, x))),
    pan: pixels => setLook(look => moved(look, end, pixels / width)),
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
    else if (step) setLook(moved(look, end, step * 0.2))
    else if (event.key === '+' || event.key === '=') setLook(zoomed(look, end, 1.5, here))
    else if (event.key === '-') setLook(zoomed(look, end, 1 / 1.5, here))
    else if (event.key === '0') setLook({})
    else if (event.key === 'Home') setLook(moved(look, end, Number.NEGATIVE_INFINITY))
    else if (event.key === 'End') setLook({ span: look.span })
    else return
    event.preventDefault()
  }
  const [isFocused, setFocused] = useState(false)
  const hereIndex = at === undefined ? -1 : log.indexAt(at)
  const told =
    pointed ?? (isFocused && here !== undefined ? { x: xOf(sight, here), y: ROW, index: hereIndex } : undefined)
  const entry = told && log.entries[told.index]
  return (
    <section className="timeline" aria-label="Timeline">
      <div className="tools">
        <h2>Timeline</h2>
        <Idle count={model.clock.gaps.length} saved={model.clock.saved} />
        <span className="space" />
        <Legend />
        <button type="button" aria-label="Zoom out" onClick={() => setLook(zoomed(look, end, 1 / 1.5, here))}>
          −
        </button>
        <button type="button" aria-label="Zoom in" onClick={() => setLook(zoomed(look, end, 1.5, here))}>
          +
        </button>
        <button type="button" aria-pressed={look.span === undefined} onClick={() => setLook({})}>
          Fit
        </button>
        <button
          type="button"
          aria-pressed={look.from === undefined}
          title="Go on with the end of the log"
          onClick={() => setLook({ span: look.span })}
        >
          Follow
        </button>
      </div>
      <div className="lanes">
        <div className="corner" />
        <Axis drawing={drawing} width={width} />
        <ul className="names" aria-hidden="true">
          {drawing.rows.map(({ label, row }, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows only come at their place
            <li key={i} style={{ height: ROW, paddingLeft: `${0.6 + row.depth * 0.7}rem` }}>
              {label}
            </li>
          ))}
        </ul>
        <div
          className="pane"
          ref={pane}
          role="application"
          aria-label="Timeline of the log; the list of entries says the same as a table. Arrows move, plus and minus zoom, 0 shows all, Shift with arrows goes from entry to entry."
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it is moved by keys
          tabIndex={0}
          onKeyDown={keys}
          onFocus={() => setFocused(true)}
          onBlur={() => setFocused(false)}
          {...{ ...gestures, isDragging: undefined }}
          onPointerMove={hover}
          onPointerLeave={() => point(undefined)}
        >
          <Sheet drawing={drawing} width={width} />
          {here !== undefined && here >= from && here <= to && (
            <div className="here" style={{ transform: `translateX(${xOf(sight, here)}px)` }} />
          )}
          {told && entry && <Tip entry={entry} x={told.x} y={told.y} width={width} elapsed={model.clock.first} />}
        </div>
      </div>
    </section>
  )
}

/** Says that not all of the time is drawn as long as it was. */
function Idle({ count, saved }: { readonly count: number; readonly saved: number }) {
  if (count === 0) return null
  return (
    <p className="quiet">
      {count} idle {count === 1 ? 'stretch' : 'stretches'} drawn short, by {spanOf(saved)}
    </p>
  )
}

interface TipProps {
  readonly entry: Entry
  readonly x: number
  readonly y: number
  readonly width: number
  /** When the first entry was written. */
  readonly elapsed: number
}

/** What an entry says, beside the pointer. */
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
      <p className="gist">{gistOf(entry)}</p>
    </div>
  )
}

/** How wide an element is, as it changes. */
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
