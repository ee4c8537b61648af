import { countsUpTo } from './axis.ts'
import { Columns } from './columns.tsx'
import { deltasOf, rangeOf, type Sizes, sizesWords } from './sizes.ts'

/** Sizes of the deltas of a run. */
export function SizesChart({ sizes }: { readonly sizes: Sizes }) {
  const { counts } = sizes
  const columns = counts.map((value, i) => {
    const [from, to] = rangeOf(i)
    const range = from === to || i === 0 ? `${to}` : `${from}–${to}`
    return { key: range, value, tick: range, words: deltasOf(value, range) }
  })
  return (
    <Columns
      name="Chunk sizes"
      columns={columns}
      unit="deltas"
      along="characters"
      summary={sizesWords(sizes)}
      ticksOf={countsUpTo}
      isApart
    />
  )
}
