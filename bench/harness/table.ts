import type { Verdict } from './claim.ts'
import type { Row } from './rounds.ts'
import type { Benchmark } from './suite.ts'

/** A benchmark's rows and verdicts as people read them. */
export function table(suite: string, benchmark: Benchmark, rows: Row[], verdicts: Verdict[]): string {
  const reference = rows.find(({ name }) => name === benchmark.reference)
  const compared = rows.some(({ kind }) => kind !== 'ours')
  const head = ['contender', 'CPU ms, median [min..max]', `ns / ${benchmark.item}`, compared ? 'ours/peer' : '']
  const body = rows.map(row => {
    if (row.error) return [row.name, 'FAILED', '', '']
    const { median, min, max } = row.cpu
    const ratio = !compared || !reference || reference.error ? '' : ratioOf(reference, row)
    const name = row.kind === 'floor' ? `floor: ${row.name}` : row.name
    return [name, `${figure(median)} [${figure(min)}..${figure(max)}]`, figure(row.perItem), ratio]
  })
  const widths = head.map((title, i) => Math.max(title.length, ...body.map(cells => cells[i]?.length ?? 0)))
  const line = (cells: string[]) =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd()
  return [
    `${suite}/${benchmark.name}: ${benchmark.title}`,
    line(head),
    ...body.map(line),
    ...verdicts.map(verdict => `  ${sentence(verdict)}`),
    ...(benchmark.notes ?? []).map(note => `  note: ${note}`),
    ...rows.flatMap(row => (row.error ? [`  FAILED ${row.name}: ${row.error.split('\n', 4).join('\n')}`] : [])),
    '',
  ].join('\n')
}

/** The reference stands as 1, and our other contenders are not held against it. */
function ratioOf(reference: Row, row: Row): string {
  if (row.kind === 'ours') return row === reference ? '1' : ''
  return figure(reference.perItem / row.perItem)
}

function sentence({ text, value, range, bound, met }: Verdict): string {
  const rounds = range ? ` [${figure(range.min)}..${figure(range.max)}]` : ''
  const judged = bound ? `, ${bound}: ${met ? 'met' : 'NOT met'}` : ''
  return `${text}: ${figure(value)}${rounds}${judged}`
}

/** Three significant digits, without an exponent. */
function figure(value: number): string {
  if (!Number.isFinite(value)) return '-'
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 10 ? 1 : value >= 1 ? 2 : 3)
}
