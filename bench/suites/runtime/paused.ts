import type { Backend } from '../../contenders/log/target.ts'
import type { Benchmark, Contender } from '../../harness/suite.ts'

/** Backends that store entries outside the heap: in a file, and in another process. */
const backends: readonly Backend[] = ['sqlite', 'redis']

/** Memory of paused runs in the process that drove them. */
export function pausedBenchmark(quick: boolean): Benchmark {
  return {
    name: 'paused',
    title: 'heap of a paused run in the process that drove it, after garbage collection',
    item: 'paused run',
    unit: 'bytes',
    rounds: 1,
    trial: 20,
    contenders: backends.map(
      (backend): Contender => ({
        name: backend,
        kind: 'ours',
        load: { pieces: 1, items: quick ? 1_000 : 10_000 },
        warmUp: { pieces: 1, items: 500 },
        prepare: async count => (await import('../../contenders/runtime/paused.ts')).pausedRuns(backend, count),
      }),
    ),
    claims: [],
    needs: ['folder', 'redis'],
    notes: ['one run in ten has a deadline a week ahead; at the end a hundred runs are answered and must complete'],
  }
}
