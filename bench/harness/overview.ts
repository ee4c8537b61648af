// The standings table, for the terminal and for `docs/performance.md`.
import { cost, figure } from './figure.ts'
import type { Compared, StandingResult } from './standing.ts'
import { aligned } from './table.ts'
import { claimed } from './verify.ts'

const HEAD = ['job', 'ours', 'best peer', 'ours/peer', 'floor', 'ours/floor', 'exponent']

/** Cells of a row. In the long form each ratio is followed by its interval. */
function cells({ job, unit, tail, ours, p99, peer, floor, growth }: StandingResult, isLong: boolean): string[] {
  const formatP99 = (value: number | undefined) => (value === undefined ? '' : ` (p99 ${cost(value, unit)})`)
  const ratio = (compared: Compared | undefined) => {
    if (!compared) return ''
    const { value, low, high } = compared
    return isLong ? `${figure(value)} [${figure(low)}..${figure(high)}]` : figure(value)
  }
  return [
    tail ? `${job}, p99` : job,
    ours === undefined ? '' : `${cost(ours, unit)}${formatP99(p99?.ours)}`,
    peer ? `${cost(peer.cost, unit)}${formatP99(p99?.peer)} ${peer.name}` : '',
    ratio(peer),
    floor ? cost(floor.cost, unit) : '',
    ratio(floor),
    ratio(growth),
  ]
}

/** Formats the table for a terminal. `isVerified` adds a column with the result of each claim. */
export function overview(results: readonly StandingResult[], isVerified: boolean): string {
  const head = isVerified ? [...HEAD, 'claims'] : HEAD
  const lines = results.map(stand => [...cells(stand, isVerified), ...(isVerified ? [rulings(stand)] : [])])
  return aligned([head, ...lines]).join('\n')
}

function rulings({ held }: StandingResult): string {
  return held.map(claim => `${claim.ruling}: ${claimed(claim)}`).join('; ')
}

/** Formats the table as Markdown. */
export function markdown(results: readonly StandingResult[]): string {
  const head = [...HEAD, 'claimed']
  const rows = results.map(stand => [...cells(stand, true), stand.held.map(claimed).join('; ')])
  const line = (row: string[]) => `| ${row.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}
