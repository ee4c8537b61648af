import { sequence, words } from '../../fixtures/random.ts'

/** The deltas of an answer on a page: each has a number, by which it is known when it arrived and when it was shown. */
export function numbered(count: number, piece: number): string[] {
  const next = sequence(piece)
  return Array.from({ length: count }, (_, i) => `${words(next, 1)}~${i}~ `)
}

/** Milliseconds between two deltas, and which of them. */
export interface Paced {
  readonly deltas: readonly string[]
  readonly paceMs: number
}

/** Says the deltas at their pace: where it is late it does not wait, so that as many are said in a second on a busy machine. */
export async function pace({ deltas, paceMs }: Paced, say: (delta: string) => void): Promise<void> {
  const since = performance.now()
  for (const [i, delta] of deltas.entries()) {
    const rest = since + i * paceMs - performance.now()
    if (rest > 0) await new Promise(resolve => setTimeout(resolve, rest))
    say(delta)
  }
}
