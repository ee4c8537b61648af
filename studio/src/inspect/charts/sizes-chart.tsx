import { numberOf } from './axis.ts'
import { Columns } from './columns.tsx'
import { rangeOf, type Sizes } from './sizes.ts'

/** How large the pieces are in which it was said. */
export function SizesChart({ sizes }: { readonly sizes: Sizes }) {
  const { counts, count, mean } = sizes
  const columns = counts.map((value, i) => {
    const [from, to] = rangeOf(i)
    const range = from === to || i === 0 ? `${to}` : `${from}–${to}`
    return { key: range, value, tick: range, words: `${numberOf(value)} deltas of ${range} characters` }
  })
  const summary = count === 0 ? 'No delta yet.' : `${numberOf(count)} deltas of ${numberOf(mean)} characters on average`
  return <Columns name="Chunk sizes" columns={columns} unit="deltas" along="characters" summary={summary} isApart />
}
