import { formatFigure, formatLarge } from './format.ts'
import type { Verdict } from './judge.ts'
import type { Row } from './run-rounds.ts'
import type { Spread } from './statistics.ts'
import type { Benchmark, Unit } from './suite.ts'

/** Columns for each unit. */
const columns: Record<Unit, (item: string, rounds: string) => { title: string; show: (row: Row) => string }[]> = {
  cpu: (item, rounds) => [
    { title: `CPU ms, ${rounds}`, show: ({ value }) => range(value) },
    { title: `ns / ${item}`, show: ({ perItem }) => formatFigure(perItem) },
  ],
  wall: (item, rounds) => [
    { title: `wall ms, ${rounds}`, show: ({ value }) => range(value) },
    { title: `${item} / s`, show: ({ perItem }) => formatLarge(1e9 / perItem) },
  ],
  latency: (_item, rounds) => [
    { title: `p50 ms, ${rounds}`, show: ({ value }) => range(value) },
    { title: `p99 ms, ${rounds}`, show: ({ p99 }) => (p99 ? range(p99) : '') },
  ],
  bytes: item => [{ title: `bytes / ${item}`, show: ({ perItem }) => formatFigure(perItem) }],
  times: (item, rounds) => [{ title: `times / ${item}, ${rounds}`, show: ({ value }) => range(value) }],
}

/** Formats the rows and verdicts of a benchmark. */
export function table(suite: string, benchmark: Benchmark, rows: Row[], verdicts: Verdict[]): string {
  const reference = rows.find(({ name }) => name === benchmark.reference)
  const compared = reference !== undefined && rows.some(({ kind }) => kind !== 'ours')
  const rounds = `median of ${Math.max(...rows.map(({ samples }) => samples.length))} [min..max]`
  const measured = columns[benchmark.unit ?? 'cpu'](benchmark.item, rounds)
  const head = ['contender', ...measured.map(({ title }) => title), compared ? 'ours/peer' : '']
  const body = rows.map(row => {
    if (row.error) return [row.name, 'FAILED']
    const ratio = !compared || reference.error ? '' : ratioOf(reference, row)
    const name = row.kind === 'floor' ? `floor: ${row.name}` : row.name
    return [name, ...measured.map(({ show }) => show(row)), ratio]
  })
  return [
    `${suite}/${benchmark.name}: ${benchmark.title}`,
    ...aligned([head, ...body]),
    ...verdicts.map(verdict => `  ${sentence(verdict)}`),
    // Only the notes of the last round are printed.
    ...rows.flatMap(({ name, samples }) => samples.at(-1)?.notes?.map(note => `  ${name}: ${note}`) ?? []),
    ...(benchmark.notes ?? []).map(note => `  note: ${note}`),
    ...rows.flatMap(row => (row.error ? [`  FAILED ${row.name}: ${row.error.split('\n', 4).join('\n')}`] : [])),
    '',
  ].join('\n')
}

/** The reference is 1. Our other contenders get no ratio. */
function ratioOf(reference: Row, row: Row): string {
  if (row.kind === 'ours') return row === reference ? '1' : ''
  return formatFigure(reference.perItem / row.perItem)
}

function sentence({ text, value, range, bound, met }: Verdict): string {
  const rounds = range ? ` [${formatFigure(range.min)}..${formatFigure(range.max)}]` : ''
  const judged = bound ? `, ${bound}: ${met ? 'met' : 'NOT met'}` : ''
  return `${text}: ${value >= 1e4 ? formatLarge(value) : formatFigure(value)}${rounds}${judged}`
}

function range({ median, min, max }: Spread): string {
  return `${formatFigure(median)} [${formatFigure(min)}..${formatFigure(max)}]`
}

/** Aligns cells in columns: the first column to the left, the others to the right. */
export function aligned(lines: readonly string[][]): string[] {
  const widths = (lines[0] ?? []).map((_, i) => Math.max(...lines.map(cells => cells[i]?.length ?? 0)))
  return lines.map(cells =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
}
