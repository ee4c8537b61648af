// The standings table, for the terminal and for `docs/performance.md`.
import { formatCost, formatFigure } from './format.ts'
import type { Comparison, StandingResult } from './standing.ts'
import { aligned } from './table.ts'
import { claimText } from './verify.ts'

const HEAD = ['job', 'ours', 'best peer', 'ours/peer', 'floor', 'ours/floor', 'exponent']

/** Cells of a row. In the long form each ratio is followed by its interval. */
function cells({ job, unit, tail, ours, p99, peer, floor, growth }: StandingResult, isLong: boolean): string[] {
  const formatP99 = (value: number | undefined) => (value === undefined ? '' : ` (p99 ${formatCost(value, unit)})`)
  const ratio = (compared: Comparison | undefined) => {
    if (!compared) return ''
    const { value, low, high } = compared
    return isLong ? `${formatFigure(value)} [${formatFigure(low)}..${formatFigure(high)}]` : formatFigure(value)
  }
  return [
    tail ? `${job}, p99` : job,
    ours === undefined ? '' : `${formatCost(ours, unit)}${formatP99(p99?.ours)}`,
    peer ? `${formatCost(peer.cost, unit)}${formatP99(p99?.peer)} ${peer.name}` : '',
    ratio(peer),
    floor ? formatCost(floor.cost, unit) : '',
    ratio(floor),
    ratio(growth),
  ]
}

/** Formats the table for a terminal. `isVerified` adds a column with the result of each claim. */
export function overview(results: readonly StandingResult[], isVerified: boolean): string {
  const head = isVerified ? [...HEAD, 'claims'] : HEAD
  const lines = results.map(result => [...cells(result, isVerified), ...(isVerified ? [rulings(result)] : [])])
  return aligned([head, ...lines]).join('\n')
}

function rulings({ claims }: StandingResult): string {
  return claims.map(claim => `${claim.ruling}: ${claimText(claim)}`).join('; ')
}

/** Formats the table as Markdown. */
export function markdown(results: readonly StandingResult[]): string {
  const head = [...HEAD, 'claimed']
  const rows = results.map(result => [...cells(result, true), result.claims.map(claimText).join('; ')])
  const line = (row: string[]) => `| ${row.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}
