/** The most similar name, for "did you mean". Undefined if none is close. */
export function nearest(input: string, names: readonly string[]): string | undefined {
  const [best] = names
    .map(name => ({ name, edits: distance(input, name) }))
    .filter(
      ({ name, edits }) =>
        edits <= Math.max(1, Math.floor(name.length / 3)) || (input.length > 1 && name.startsWith(input)),
    )
    .sort((a, b) => a.edits - b.edits)
  return best?.name
}

/** The edit distance: insertions, deletions, substitutions and swaps of adjacent letters. */
function distance(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, at) => at)]
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= to.length; j++) {
      const isSame = from[i - 1] === to[j - 1]
      const isSwapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      const swapped = isSwapped ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY
      row.push(Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (isSame ? 0 : 1), swapped))
    }
  }
  return at(from.length, to.length)
}
