import type { Benchmark, Contender } from '../../harness/suite.ts'
import { backendSetups } from './backend-setups.ts'

/** Latency from a write to a reader. */
export function latencyBenchmark(quick: boolean, rounds: number): Benchmark {
  const contenders = backendSetups
    .filter(({ backend }) => backend !== 'sqlite-full')
    .flatMap(({ backend }) =>
      (['parent', 'child'] as const)
        .filter(writerIn => writerIn === 'parent' || backend !== 'memory')
        .map((writerIn): Contender => {
          return {
            name: `${backend}, ${writerIn === 'parent' ? 'in one process' : 'from another process'}`,
            kind: 'ours',
            load: { pieces: 1, items: quick ? 60 : 250 },
            warmUp: { pieces: 1, items: 25 },
            prepare: async count =>
              (await import('../../contenders/log/latency.ts')).latencies(writerIn, backend, count),
          }
        }),
    )
  return {
    name: 'latency',
    title: 'time from just before a write until a reader has it, with a write every 4 ms',
    item: 'write',
    unit: 'latency',
    rounds,
    trial: 8,
    needs: ['folder', 'redis', 'postgres'],
    contenders,
    claims: [],
    notes: ['a reader in another process polls an SQLite file every 25 ms'],
  }
}
