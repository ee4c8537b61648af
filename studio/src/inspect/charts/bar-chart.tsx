import type { ReactNode } from 'react'
import { useWidth } from '../use-width.ts'
import { numberTicks } from './axis.ts'

/** A segment of a bar. */
interface BarSegment {
  readonly tone: string
  readonly size: number
  readonly label: string
}

export interface Bar {
  readonly key: string
  readonly name: ReactNode
  /** Start of the bar. @default 0 */
  readonly from?: number
  readonly segments: readonly BarSegment[]
  /** Text after the bar. */
  readonly value: string
  readonly isQuiet?: boolean
}

interface BarChartProps {
  readonly name: string
  readonly summary: string
  readonly bars: readonly Bar[]
  /** Label of each tone, in the order of the segments. */
  readonly legend: { readonly [tone: string]: string }
  readonly format: (value: number) => string
  /** Computes the ticks of the axis. */
  readonly ticksOf?: (max: number, about: number) => readonly number[]
}

const BAR_HEIGHT_PX = 14

/** A horizontal bar chart with stacked segments. */
export function BarChart({ name, summary, bars, legend, format, ticksOf = numberTicks }: BarChartProps) {
  const [box, width] = useWidth<HTMLDivElement>()
  const largest = Math.max(
    ...bars.map(({ from = 0, segments }) => from + segments.reduce((sum, { size }) => sum + size, 0)),
    0,
  )
  const ticks = ticksOf(largest, width < 320 ? 2 : 4)
  const scale = width / (ticks.at(-1) ?? 1)
  return (
    <figure className="chart">
      <figcaption>
        <h3>{name}</h3>
        <span className="quiet">{summary}</span>
      </figcaption>
      <ul className="tones" aria-hidden="true">
        {Object.entries(legend).map(([tone, label]) => (
          <li key={tone}>
            <i data-tone={tone} />
            {label}
          </li>
        ))}
      </ul>
      <div className="bars">
        {bars.map(({ key, name, from = 0, segments, value, isQuiet }) => (
          <div key={key} className="bar-row" data-quiet={isQuiet}>
            <div className="bar-name">{name}</div>
            <svg
              width="100%"
              height={BAR_HEIGHT_PX}
              role="img"
              aria-label={segments.map(({ label }) => label).join(', ')}
            >
              {segments.map(({ tone, size, label }, i) => {
                const start = from + segments.slice(0, i).reduce((sum, segment) => sum + segment.size, 0)
                return (
                  <rect
                    key={tone}
                    data-tone={tone}
                    x={start * scale}
                    width={Math.max(size > 0 ? 1 : 0, size * scale)}
                    height={BAR_HEIGHT_PX}
                  >
                    <title>{label}</title>
                  </rect>
                )
              })}
            </svg>
            <div className="bar-value">{value}</div>
          </div>
        ))}
        <div className="bar-row" aria-hidden="true">
          <div />
          <div ref={box} className="axis">
            <svg width="100%" height="20" aria-hidden="true">
              {width > 0 &&
                ticks.map((tick, i) => (
                  <g key={tick}>
                    <line x1={tick * scale} x2={tick * scale} y1="0" y2="4" />
                    <text
                      x={tick * scale}
                      y="16"
                      textAnchor={i === 0 ? 'start' : i === ticks.length - 1 ? 'end' : 'middle'}
                    >
                      {format(tick)}
                    </text>
                  </g>
                ))}
            </svg>
          </div>
          <div />
        </div>
      </div>
    </figure>
  )
}
