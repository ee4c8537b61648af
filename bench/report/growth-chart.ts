// Log-log curves of the cost per item by input size. A flat line means that the cost per item does not grow.
import { formatCost } from '../harness/format.ts'
import type { Measured } from '../harness/standing.ts'
import type { Unit } from '../harness/suite.ts'
import { decades, drawing, element, FAINT, INK, logScale, MUTED, text } from './svg.ts'

/** A contender at several sizes. Each point names the benchmark that measured it. */
interface Curve {
  label: string
  points: readonly { size: number; benchmark: string; contender: string }[]
}

export interface GrowthChart {
  /** File name in `docs/images`, without extension. */
  name: string
  title: string
  /** Axis labels. */
  xLabel: string
  yLabel: string
  unit: Unit
  /** Ours first. */
  curves: readonly Curve[]
}

const [WIDTH, HEIGHT] = [760, 400]
const [LEFT, RIGHT, TOP, BOTTOM] = [80, 190, 56, 340]
/** Ours first. The dashes distinguish the lines for colour-blind readers. */
const COLOURS = ['#0b6e4f', '#c2410c', '#1d4ed8', '#7e22ce', '#64748b']
const DASHES = ['', '7 4', '2 4', '10 3 2 3', '4 4']
/** Minimum vertical distance of two line labels, in pixels. */
const LINE = 16

/** Draws the chart. Returns `undefined` if a point was not measured. */
export function growthChart(
  { title, xLabel, yLabel, unit, curves }: GrowthChart,
  measured: Measured,
): string | undefined {
  const lines = curves.map(({ label, points }) => ({
    label,
    points: points.map(({ size, benchmark, contender }) => {
      const row = measured.get(benchmark)?.find(({ name }) => name === contender)
      return { size, cost: row === undefined || row.error !== undefined ? Number.NaN : row.perItem }
    }),
  }))
  const all = lines.flatMap(({ points }) => points)
  if (all.length === 0 || all.some(({ cost }) => !(cost > 0))) return undefined
  const sizes = all.map(({ size }) => size)
  const [widest, heights] = [[Math.min(...sizes), Math.max(...sizes)] as const, decades(all.map(({ cost }) => cost))]
  const x = logScale(widest, [LEFT, WIDTH - RIGHT])
  const y = logScale([heights[0] ?? 1, heights.at(-1) ?? 10], [BOTTOM, TOP])
  const ends = withoutOverlap(lines.map(({ points }) => y(points.at(-1)?.cost ?? 1)))
  return drawing(WIDTH, HEIGHT, title, [
    text(LEFT - 60, 26, title, { 'font-size': 16, 'font-weight': 600 }),
    text(LEFT - 60, 44, yLabel, { fill: MUTED }),
    ...heights.flatMap(value => [
      element('line', { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), stroke: FAINT }),
      text(LEFT - 8, y(value) + 4, formatCost(value, unit).replace(/\.0+ /, ' '), {
        'text-anchor': 'end',
        fill: MUTED,
      }),
    ]),
    ...[...new Set(sizes)].map(size =>
      text(x(size), BOTTOM + 20, size.toLocaleString('en'), { 'text-anchor': 'middle', fill: MUTED }),
    ),
    text((LEFT + WIDTH - RIGHT) / 2, BOTTOM + 42, xLabel, { 'text-anchor': 'middle', fill: INK }),
    ...lines.flatMap(({ label, points }, i) => {
      const colour = COLOURS[i % COLOURS.length] ?? INK
      const coordinates = points.map(({ size, cost }) => `${x(size).toFixed(1)},${y(cost).toFixed(1)}`)
      const last = points.at(-1) ?? { size: 1, cost: 1 }
      return [
        element('polyline', {
          points: coordinates.join(' '),
          fill: 'none',
          stroke: colour,
          'stroke-width': i === 0 ? 3 : 2,
          'stroke-dasharray': DASHES[i % DASHES.length] ?? '',
        }),
        ...points.map(({ size, cost }) => element('circle', { cx: x(size), cy: y(cost), r: 3.5, fill: colour })),
        text(x(last.size) + 12, (ends[i] ?? 0) + 4, `${label} ${formatCost(last.cost, unit)}`, {
          fill: colour,
          'font-weight': i === 0 ? 600 : 400,
        }),
      ]
    }),
  ])
}

/** Moves label positions down until none overlap. Keeps their order. */
function withoutOverlap(positions: readonly number[]): number[] {
  const moved: number[] = []
  let minY = Number.NEGATIVE_INFINITY
  for (const [i, y] of [...positions.entries()].toSorted(([, a], [, b]) => a - b)) {
    minY = Math.max(y, minY + LINE)
    moved[i] = minY
  }
  return moved
}
