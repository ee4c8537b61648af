import { type KeyboardEvent, type PointerEvent, useId, useState } from 'react'
import { useWidth } from '../use-width.ts'
import { numberOf, numberTicks } from './axis.ts'

/** A column and its description. */
export interface Column {
  readonly key: string
  readonly value: number
  readonly description: string
  /** Label below it. */
  readonly tick?: string
  readonly tone?: 'quiet'
}

interface ColumnChartProps {
  readonly name: string
  readonly columns: readonly Column[]
  /** Label of the vertical axis. */
  readonly yLabel: string
  /** Label of the horizontal axis. */
  readonly xLabel: string
  /** A summary sentence. */
  readonly summary: string
  /** Whether there are gaps between columns. */
  readonly hasGaps?: boolean
  readonly format?: (value: number) => string
  /** Computes the ticks of the vertical axis. */
  readonly ticksOf?: (max: number) => readonly number[]
  readonly onChoose?: (index: number) => void
}

const HEIGHT = 132
/** Maximum width of a column with gaps. */
const MAX_COLUMN_PX = 96
const LEFT = 54
const BOTTOM = 20
const TOP = 8
const RIGHT = 8

/** A column chart. The pointer and the arrow keys select a column. */
export function ColumnChart({
  name,
  columns,
  yLabel,
  xLabel,
  summary,
  hasGaps,
  format = numberOf,
  ticksOf = numberTicks,
  onChoose,
}: ColumnChartProps) {
  const [box, width] = useWidth<HTMLDivElement>()
  const [chosen, choose] = useState<number>()
  const id = useId()
  const last = columns.length - 1
  const index = chosen === undefined ? undefined : Math.min(chosen, last)
  const selected = index === undefined ? undefined : columns[index]
  const ticks = ticksOf(columns.reduce((highest, { value }) => Math.max(highest, value), 0))
  const axisMax = ticks.at(-1) ?? 1
  const room = Math.max(1, width - LEFT - RIGHT)
  const step = Math.min(room / Math.max(1, columns.length), hasGaps ? MAX_COLUMN_PX : room)
  const gap = hasGaps ? Math.min(6, step * 0.25) : 0
  const x = (i: number) => LEFT + i * step
  const y = (value: number) => TOP + (1 - value / axisMax) * (HEIGHT - TOP - BOTTOM)
  const path = (tone: Column['tone']) =>
    columns
      .map(({ value, tone: columnTone }, i) =>
        value > 0 && columnTone === tone
          ? `M${formatPx(x(i) + gap / 2)} ${formatPx(y(0))}V${formatPx(y(value))}h${formatPx(step - gap)}V${formatPx(y(0))}z`
          : '',
      )
      .join('')
  const point = (event: PointerEvent<HTMLDivElement>) => {
    const { left } = event.currentTarget.getBoundingClientRect()
    choose(clamp(Math.floor((event.clientX - left - LEFT) / step), last))
  }
  const press = (event: KeyboardEvent) => {
    const to = indexAfterKey(event.key, index ?? -1, last)
    if (to === undefined) {
      if (event.key === 'Enter' && index !== undefined) onChoose?.(index)
      return
    }
    event.preventDefault()
    choose(to)
  }
  return (
    <figure className="chart">
      <figcaption>
        <h3 id={id}>{name}</h3>
        <output>{selected ? selected.description : <span className="quiet">{summary}</span>}</output>
      </figcaption>
      {/* A column is selected as on a slider. */}
      <div
        ref={box}
        className="plot"
        role="slider"
        tabIndex={0}
        aria-labelledby={id}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, last)}
        aria-valuenow={Math.max(0, index ?? 0)}
        aria-valuetext={selected?.description ?? summary}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => choose(undefined)}
        onClick={() => index !== undefined && onChoose?.(index)}
        onBlur={() => choose(undefined)}
        onKeyDown={press}
      >
        {width > 0 && columns.length > 0 && (
          <svg width={width} height={HEIGHT} aria-hidden="true">
            <g className="axis">
              {ticks.map(tick => (
                <g key={tick}>
                  <line x1={LEFT} x2={width - RIGHT} y1={y(tick)} y2={y(tick)} />
                  <text x={LEFT - 6} y={y(tick) + 4} textAnchor="end">
                    {format(tick)}
                  </text>
                </g>
              ))}
            </g>
            {index !== undefined && (
              <rect className="at" x={x(index)} y={TOP} width={step} height={HEIGHT - TOP - BOTTOM} />
            )}
            <path className="columns" d={path(undefined)} />
            <path className="columns quiet" d={path('quiet')} />
            <g className="axis">
              {columns.flatMap(({ key, tick }, i) =>
                tick === undefined ? (
                  []
                ) : (
                  <Tick key={key} x={hasGaps ? x(i) + step / 2 : x(i)} tick={tick} isMiddle={hasGaps} />
                ),
              )}
            </g>
          </svg>
        )}
      </div>
      <p className="units quiet">
        <span>↑ {yLabel}</span>
        <span>{xLabel} →</span>
      </p>
    </figure>
  )
}

function Tick({
  x,
  tick,
  isMiddle = false,
}: {
  readonly x: number
  readonly tick: string
  readonly isMiddle?: boolean | undefined
}) {
  return (
    <text x={x} y={HEIGHT - 4} textAnchor={isMiddle ? 'middle' : 'start'}>
      {tick}
    </text>
  )
}

const formatPx = (value: number): string => value.toFixed(1)

const clamp = (value: number, last: number): number => Math.max(0, Math.min(last, value))

/** The column that a key moves to. */
function indexAfterKey(key: string, index: number, last: number): number | undefined {
  switch (key) {
    case 'ArrowRight':
    case 'ArrowUp':
      return clamp(index + 1, last)
    case 'ArrowLeft':
    case 'ArrowDown':
      return clamp(index - 1, last)
    case 'Home':
      return 0
    case 'End':
      return last
    case 'PageUp':
      return clamp(index + 10, last)
    case 'PageDown':
      return clamp(index - 10, last)
    default:
      return undefined
  }
}
