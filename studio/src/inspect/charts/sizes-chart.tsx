import { countTicks } from './axis.ts'
import { ColumnChart } from './column-chart.tsx'
import { bucketRange, deltasOf, type SizeHistogram, sizesSummary } from './size-histogram.ts'

/** Sizes of the deltas of a run. */
export function SizesChart({ sizes }: { readonly sizes: SizeHistogram }) {
  const { counts } = sizes
  const columns = counts.map((value, i) => {
    const [from, to] = bucketRange(i)
    const range = from === to || i === 0 ? `${to}` : `${from}–${to}`
    return { key: range, value, tick: range, description: deltasOf(value, range) }
  })
  return (
    <ColumnChart
      name="Chunk sizes"
      columns={columns}
      yLabel="deltas"
      xLabel="characters"
      summary={sizesSummary(sizes)}
      ticksOf={countTicks}
      hasGaps
    />
  )
}
