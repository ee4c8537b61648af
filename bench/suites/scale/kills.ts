import type { SharedBackend } from '../../contenders/scale/kills.ts'
import type { Benchmark, Contender } from '../../harness/suite.ts'

const backends: readonly SharedBackend[] = ['sqlite', 'redis', 'postgres']
const KILLS = 20
/** Maximum median of the silence, in ms. */
const MAX_SILENCE_MS = 5000

/** Silence of a stream whose driver is killed. */
export function killsBenchmark(quick: boolean): Benchmark {
  const nameOf = (backend: SharedBackend): string => `ours, ${backend}`
  return {
    name: 'kills',
    title:
      'silence of a stream whose driver is killed with -9: last token before to first token after, default settings',
    item: 'kill',
    unit: 'latency',
    rounds: 1,
    trial: 2,
    contenders: backends.map(
      (backend): Contender => ({
        name: nameOf(backend),
        kind: 'ours',
        load: { pieces: 1, items: quick ? 3 : KILLS },
        warmUp: { pieces: 1, items: 1 },
        prepare: async count => (await import('../../contenders/scale/kills.ts')).kills(backend, count),
      }),
    ),
    claims: backends.map(backend => ({ kind: 'cost', of: nameOf(backend), atMost: MAX_SILENCE_MS })),
    needs: ['folder', 'redis', 'postgres'],
    notes: [
      'two drivers share the store, and one of them is killed while it streams; a third process reads',
      'a token every 20 ms; the kills are spread over the time between two renewals of the lease',
    ],
  }
}
