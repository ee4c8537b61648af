// Bar chart of our cost over that of the best peer, per job. Bars left of the line: ours is cheaper.
import { formatFigure } from '../harness/format.ts'
import type { StandingResult } from '../harness/standing.ts'
import { drawing, element, FAINT, INK, logScale, MUTED, text } from './svg.ts'

const WIDTH = 1130
const [LEFT, RIGHT, TOP, ROW] = [370, 390, 76, 24]
const [AHEAD, BEHIND] = ['#0b6e4f', '#c2410c']

/** Draws all rows that have a peer. */
export function ratioChart(results: readonly StandingResult[]): string {
  const rows = results.flatMap(({ job, tail, peer }) => (peer ? [{ job: tail ? `${job}, p99` : job, peer }] : []))
  const values = rows.flatMap(({ peer: { value, low, high } }) => [value, low, high]).filter(value => value > 0)
  const lowest = 10 ** Math.floor(Math.log10(Math.min(...values, 0.1)))
  const highest = Math.max(...values, 1) * 1.2
  const x = logScale([lowest, highest], [LEFT, WIDTH - RIGHT])
  const height = TOP + rows.length * ROW + 20
  const ticks = Array.from({ length: Math.round(-Math.log10(lowest)) + 1 }, (_, i) => lowest * 10 ** i)
  const title = 'What Millrace costs over the best peer, in each job (less is better)'
  return drawing(WIDTH, height, title, [
    text(20, 28, title, { 'font-size': 16, 'font-weight': 600 }),
    text(20, 46, 'whiskers: 95 % of the medians of resampled rounds', { fill: MUTED }),
    ...ticks.flatMap(tick => [
      element('line', {
        x1: x(tick),
        x2: x(tick),
        y1: TOP - 6,
        y2: height - 16,
        stroke: tick > 0.99 ? INK : FAINT,
        'stroke-width': tick > 0.99 ? 1.5 : 1,
      }),
      text(x(tick), TOP - 12, formatFigure(tick).replace(/\.?0+$/, ''), { 'text-anchor': 'middle', fill: MUTED }),
    ]),
    ...rows.flatMap(({ job, peer: { name, value, low, high } }, i) => {
      const middle = TOP + i * ROW + ROW / 2
      const [from, to] = [Math.min(x(value), x(1)), Math.max(x(value), x(1))]
      const colour = value <= 1 ? AHEAD : BEHIND
      return [
        text(LEFT - 10, middle + 4, job, { 'text-anchor': 'end' }),
        element('rect', { x: from, y: middle - 7, width: Math.max(to - from, 1), height: 14, fill: colour, rx: 2 }),
        element('line', { x1: x(low), x2: x(high), y1: middle, y2: middle, stroke: INK, 'stroke-width': 1.5 }),
        text(WIDTH - RIGHT + 12, middle + 4, `${formatFigure(value)}  ${name}`, { fill: colour }),
      ]
    }),
  ])
}
