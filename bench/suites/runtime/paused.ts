import type { Backend } from '../../contenders/log/target.ts'
import type { Benchmark, Contender } from '../../harness/suite.ts'

/** Two that keep what is written to them elsewhere than in the heap: in a file that the process reads itself, and in another process. */
const backends: readonly Backend[] = ['sqlite', 'redis']

/** What paused runs cost the process that drove them. */
export function pausedBenchmark(quick: boolean): Benchmark {
  return {
    name: 'paused',
    title: 'the heap that a paused run still takes in the process that drove it, when all is collected',
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
    notes: ['one in ten has a deadline in a week; a hundred of them are answered in the end, and have to complete'],
  }
}
