import { memo } from 'react'
import { spanOf } from '../entries/span.ts'
import type { Box, Column, Drawing, Drawn, DrawnRow } from './draw.ts'
import { Glyph } from './glyph.tsx'
import { words } from './row.ts'

/** The height of a row. */
export const ROW = 30
/** The height of the axis. */
const AXIS = 18
/** Whose label is narrower is drawn without. */
const LABELLED = 44
/** How wide a letter of a label is, about. */
const LETTER = 5.8

interface SheetProps {
  readonly drawing: Drawing
  readonly width: number
}

/** The times above a timeline. */
export const Axis = memo(function Axis({ drawing, width }: SheetProps) {
  return (
    <svg className="axis" width={width} height={AXIS} aria-hidden="true">
      {drawing.axis.map(({ x, elapsed }) => (
        <text key={x} x={x + 3} y={12}>
          {spanOf(elapsed)}
        </text>
      ))}
    </svg>
  )
})

/** A timeline as it is seen. */
export const Sheet = memo(function Sheet({ drawing, width }: SheetProps) {
  const { rows, runs, pauses, cuts, gaps, axis } = drawing
  const height = rows.length * ROW
  return (
    <svg className="sheet-of-time" width={width} height={height} aria-hidden="true">
      <defs>
        <pattern id="taken-back" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect className="hatch" width="2" height="6" />
        </pattern>
      </defs>
      <Boxes boxes={runs} y={0} height={height} className="band" />
      {gaps.map(({ x, width, gap, count }) => (
        <g key={x} className="gap">
          <rect x={x} width={width} height={height} />
          {width > LABELLED && count === 1 && (
            <text x={x + width / 2} y={height - 5}>
              {spanOf(gap.ms)}
            </text>
          )}
        </g>
      ))}
      <path className="grid" d={axis.map(({ x }) => `M${Math.round(x) + 0.5} 0v${height}`).join('')} />
      <path className="grid" d={rows.map((_, i) => `M0 ${(i + 1) * ROW - 0.5}h${width}`).join('')} />
      {rows.map((row, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows are known by their place
        <g key={i} transform={`translate(0 ${i * ROW})`}>
          <Line row={row} />
        </g>
      ))}
      <Boxes boxes={pauses} y={1} height={ROW - 3} className="waiting" isLabelled />
      {cuts.map(({ x, width }) => (
        <g key={x} className="cut">
          <rect className="veil" x={x} width={width} height={height} />
          <path className="strike" d={rows.map((_, i) => `M${x} ${i * ROW + ROW / 2}h${width}`).join('')} />
        </g>
      ))}
      {rows.map(({ signs }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows are known by their place
        <Signs key={i} signs={signs} y={i * ROW} />
      ))}
    </svg>
  )
})

function Line({ row }: { readonly row: DrawnRow }) {
  const { steps, calls, waits, discards } = row
  return (
    <>
      <Boxes boxes={calls} y={2} height={ROW - 5} className="call" isLabelled={steps.length === 0} />
      <Boxes boxes={steps} y={4} height={11} className="step" isLabelled />
      {words.map(word => (
        <path key={word} className={`words ${word}`} d={columns(row.words[word])} />
      ))}
      <Boxes boxes={waits} y={4} height={11} className="waiting" isLabelled />
      {discards.map(({ x, width }) => (
        <rect key={x} x={x} width={width} y={2} height={ROW - 5} className="discarded" fill="url(#taken-back)" />
      ))}
    </>
  )
}

function Signs({ signs, y }: { readonly signs: readonly Drawn[]; readonly y: number }) {
  return signs.map(({ sign, x, count }) => (
    <g key={`${sign} ${x}`} transform={`translate(${x.toFixed(1)} ${y + (sign === 'commit' ? ROW - 5 : 10)})`}>
      <Glyph sign={sign} />
      {count > 1 && sign !== 'commit' && (
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

/** Boxes of a kind: one path for each state, so that thousands are a few elements. */
function Boxes({ boxes, y, height, className, isLabelled = false }: BoxesProps) {
  const byState = new Map<string, string>()
  const draw = (state: string, x: number, width: number) => {
    const box = `M${x.toFixed(1)} ${y}h${width.toFixed(1)}v${height}h${(-width).toFixed(1)}z`
    byState.set(state, (byState.get(state) ?? '') + box)
  }
  for (const { x, width, model, state } of boxes) {
    // A pixel of air between neighbours.
    const seen = Math.max(1, width - 1)
    if (className === 'step' && model < seen) draw('tools', x, seen)
    draw(state, x, Math.min(seen, Math.max(1, model)))
  }
  return (
    <>
      {[...byState].map(([state, d]) => (
        <path key={state} className={className} data-state={state} d={d} />
      ))}
      {isLabelled &&
        boxes.map(
          ({ x, width, label }) =>
            width > LABELLED && (
              <text key={x} className={`label ${className}`} x={Math.max(0, x) + 4} y={y + (height > 14 ? 12 : 8.5)}>
                {fitting(label, Math.min(width, width + x) - 8)}
              </text>
            ),
        )}
    </>
  )
}

function fitting(label: string, width: number): string {
  const most = Math.floor(width / LETTER)
  return label.length <= most ? label : most < 4 ? '' : `${label.slice(0, most - 1)}…`
}

/** Words as they came: the more on a pixel, the higher. */
function columns(list: readonly Column[]): string {
  return list
    .map(({ x, count }) => {
      const height = Math.min(9, 3 + 2 * Math.log2(count))
      return `M${x} ${(ROW - 5 - height).toFixed(1)}h1v${height.toFixed(1)}h-1z`
    })
    .join('')
}
