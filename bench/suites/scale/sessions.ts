import type { Rest } from '../../contenders/scale/at-rest.ts'
import type { Benchmark, Contender } from '../../harness/suite.ts'

/** Two that keep what is written to them elsewhere than in the heap: in a file that the process reads itself, and in another process. */
const backends = ['sqlite', 'redis'] as const
const rests: readonly Rest[] = ['idle', 'paused']

/** What a session at rest takes of the process that drove it. */
export function sessionsBenchmark(quick: boolean): Benchmark {
  return {
    name: 'sessions',
    title:
      'heap and external memory that a session at rest takes in the process that drove it, when all is collected: idle, its run has ended; paused, its run waits for approval',
    item: 'session',
    unit: 'bytes',
    rounds: quick ? 1 : 3,
    trial: 20,
    contenders: backends.flatMap(backend =>
      rests.map(
        (rest): Contender => ({
          name: `${rest}, ${backend}`,
          kind: 'ours',
          load: { pieces: 1, items: quick ? 1_000 : 5_000 },
          warmUp: { pieces: 1, items: 500 },
          prepare: async (count, piece) =>
            (await import('../../contenders/scale/at-rest.ts')).sessionsAtRest(backend, rest, count, piece),
        }),
      ),
    ),
    claims: [],
    needs: ['folder', 'redis'],
    notes: ['some of them are read in the end, or approved, and have to be whole'],
  }
}
