import { memo } from 'react'
import { formatDuration } from '../entries/format.ts'
import type { Box, DeltaColumn, Drawing, DrawnMarker, DrawnRow } from './draw.ts'
import { Glyph } from './glyph.tsx'
import { deltaKinds } from './row.ts'

/** Height of a row in px. */
export const ROW_PX = 30
/** Height of the axis in px. */
const AXIS_PX = 18
/** Minimum width of a box with a label, in px. */
const MIN_LABELLED_PX = 44
/** Distances of a label from the start of its box, where a marker may be, and from the end, in px. */
const LABEL_START_PX = 7
const LABEL_END_PX = 4
/** Average width of a letter, in px. */
const LETTER_PX = 5.8

interface LaneChartProps {
  readonly drawing: Drawing
  readonly width: number
}

/** The time axis. */
export const Axis = memo(function Axis({ drawing, width }: LaneChartProps) {
  return (
    <svg className="axis" width={width} height={AXIS_PX} aria-hidden="true">
      {drawing.axis.map(({ x, elapsed }) => (
        <text key={x} x={x + 3} y={12}>
          {formatDuration(elapsed)}
        </text>
      ))}
    </svg>
  )
})

/** The visible part of a timeline as SVG. */
export const LaneChart = memo(function LaneChart({ drawing, width }: LaneChartProps) {
  const { rows, runs, pauses, cuts, gaps, axis } = drawing
  const height = rows.length * ROW_PX
  return (
    <svg className="lane-chart" width={width} height={height} aria-hidden="true">
      <defs>
        <pattern
          id="discarded-pattern"
          width="6"
          height="6"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect className="hatch" width="2" height="6" />
        </pattern>
      </defs>
      <Boxes boxes={runs} y={0} height={height} className="band" />
      {gaps.map(({ x, width, gap, count }) => (
        <g key={x} className="gap">
          <rect x={x} width={width} height={height} />
          {width > MIN_LABELLED_PX && count === 1 && (
            <text x={x + width / 2} y={height - 5}>
              {formatDuration(gap.ms)}
            </text>
          )}
        </g>
      ))}
      <path className="grid" d={axis.map(({ x }) => `M${Math.round(x) + 0.5} 0v${height}`).join('')} />
      <path className="grid" d={rows.map((_, i) => `M0 ${(i + 1) * ROW_PX - 0.5}h${width}`).join('')} />
      {rows.map((row, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no id
        <g key={i} transform={`translate(0 ${i * ROW_PX})`}>
          <Line row={row} />
        </g>
      ))}
      <Boxes boxes={pauses} y={1} height={ROW_PX - 3} className="waiting" isLabelled />
      {cuts.map(({ x, width }) => (
        <g key={x} className="cut">
          <rect className="veil" x={x} width={width} height={height} />
          <path className="strike" d={rows.map((_, i) => `M${x} ${i * ROW_PX + ROW_PX / 2}h${width}`).join('')} />
        </g>
      ))}
      {rows.map(({ markers }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no id
        <Markers key={i} markers={markers} y={i * ROW_PX} />
      ))}
    </svg>
  )
})

function Line({ row }: { readonly row: DrawnRow }) {
  const { steps, calls, waits, discards } = row
  return (
    <>
      <Boxes boxes={calls} y={2} height={ROW_PX - 5} className="call" isLabelled={steps.length === 0} />
      <Boxes boxes={steps} y={4} height={11} className="step" isLabelled />
      {deltaKinds.map(kind => (
        <path key={kind} className={`deltas ${kind}`} d={columns(row.deltas[kind])} />
      ))}
      <Boxes boxes={waits} y={4} height={11} className="waiting" isLabelled />
      {discards.map(({ x, width }) => (
        <rect
          key={x}
          x={x}
          width={width}
          y={2}
          height={ROW_PX - 5}
          className="discarded"
          fill="url(#discarded-pattern)"
        />
      ))}
    </>
  )
}

function Markers({ markers, y }: { readonly markers: readonly DrawnMarker[]; readonly y: number }) {
  return markers.map(({ marker, x, count }) => (
    <g key={`${marker} ${x}`} transform={`translate(${x.toFixed(1)} ${y + (marker === 'commit' ? ROW_PX - 5 : 10)})`}>
      <Glyph marker={marker} />
      {count > 1 && marker !== 'commit' && (
        <text className="count" x={6} y={-2}>
          {count}
        </text>
      )}
    </g>
  ))
}

interface BoxesProps {
  readonly boxes: readonly Box[]
  readonly y: number
  readonly height: number
  readonly className: string
  readonly isLabelled?: boolean
}

/** Boxes of one kind, as one path per state, so that thousands are a few elements. */
function Boxes({ boxes, y, height, className, isLabelled = false }: BoxesProps) {
  const byState = new Map<string, string>()
  const draw = (state: string, x: number, width: number) => {
    const box = `M${x.toFixed(1)} ${y}h${width.toFixed(1)}v${height}h${(-width).toFixed(1)}z`
    byState.set(state, (byState.get(state) ?? '') + box)
  }
  for (const { x, width, model, state } of boxes) {
    // One pixel between neighbours.
    const visible = Math.max(1, width - 1)
    if (className === 'step' && model < visible) draw('tools', x, visible)
    draw(state, x, Math.min(visible, Math.max(1, model)))
  }
  return (
    <>
      {[...byState].map(([state, d]) => (
        <path key={state} className={className} data-state={state} d={d} />
      ))}
      {isLabelled &&
        boxes.map(
          box =>
            box.width > MIN_LABELLED_PX && (
              <Label key={box.x} box={box} className={className} y={y + (height > 14 ? 12 : 8.5)} />
            ),
        )}
    </>
  )
}

interface LabelProps {
  readonly box: Box
  readonly className: string
  readonly y: number
}

/** The label of a box. That of a step is inside its model call, or beside it in the lighter part for tools. */
function Label({ box: { x, width, model, state, label }, className, y }: LabelProps) {
  const from = Math.max(0, x)
  const end = x + width - LABEL_END_PX
  const modelEnd = className === 'step' ? Math.min(end, x + model - LABEL_END_PX) : end
  const length = label.length * LETTER_PX
  const isBeside =
    className === 'step' && from + LABEL_START_PX + length > modelEnd && end - modelEnd > length + LABEL_START_PX
  const start = isBeside ? modelEnd + LABEL_END_PX : from + LABEL_START_PX
  return (
    <text className={`label ${className}`} data-state={isBeside ? 'tools' : state} x={start} y={y}>
      {fitting(label, (isBeside ? end : modelEnd) - start)}
    </text>
  )
}

function fitting(label: string, width: number): string {
  const max = Math.floor(width / LETTER_PX)
  return label.length <= max ? label : max < 4 ? '' : `${label.slice(0, max - 1)}…`
}

/** Deltas as columns. The height grows with their number per pixel. */
function columns(list: readonly DeltaColumn[]): string {
  return list
    .map(({ x, count }) => {
      const height = Math.min(9, 3 + 2 * Math.log2(count))
      return `M${x} ${(ROW_PX - 5 - height).toFixed(1)}h1v${height.toFixed(1)}h-1z`
    })
    .join('')
}
