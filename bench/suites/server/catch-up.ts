import type { CatchUpMode } from '../../contenders/server/catch-up.ts'
import type { Benchmark, Contender } from '../../harness/suite.ts'

/** Time for a late reader to receive a complete session. */
export function catchUpBenchmarks(quick: boolean): Benchmark[] {
  const counts = quick ? [2_000] : [2_000, 20_000]
  return counts.flatMap(count =>
    (['wall', 'cpu'] as const).flatMap(unit => [
      catchUp(`catch-up-memory-${count}`, 'in memory', false, count, unit, quick),
      catchUp(`catch-up-disk-${count}`, 'on disk: SQLite (synchronous=FULL), or their files', true, count, unit, quick),
    ]),
  )
}

function catchUp(
  name: string,
  storage: string,
  isFile: boolean,
  count: number,
  unit: 'wall' | 'cpu',
  quick: boolean,
): Benchmark {
  const load = { pieces: 1, items: count }
  const measure =
    unit === 'cpu' ? 'CPU time of the server' : 'time until an SSE reader in another process has all of it'
  const contender = (name: string, kind: Contender['kind'], mode: CatchUpMode): Contender => ({
    name,
    kind,
    load,
    warmUp: load,
    prepare: async (items, workIndex) =>
      (await import('../../contenders/server/catch-up.ts')).catchUp(mode, isFile, items, workIndex),
  })
  const merged = contender('ours, merged', 'ours', 'merged')
  const entries = contender('ours, entry by entry', 'ours', 'entries')
  const events = contender('durable-streams, SSE', 'peer', 'events')
  const reply = contender('durable-streams, one reply', 'peer', 'reply')
  return {
    name: unit === 'cpu' ? `${name}-cpu` : name,
    title: `a session of ${count.toLocaleString('en')} entries, 16 per append: ${measure}; ${storage}`,
    item: 'entry',
    unit,
    reference: merged.name,
    needs: ['folder'],
    trial: 200,
    contenders: [merged, entries, events, reply],
    claims: [merged, entries].flatMap(of =>
      [events, reply].map(to => ({ kind: 'ratio' as const, of: of.name, to: to.name, atMost: 1 })),
    ),
    notes: [
      'one reply is the peer’s GET without SSE: a JSON array of all entries',
      ...(quick ? ['quick: no long session'] : []),
    ],
  }
}
