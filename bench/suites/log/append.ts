import type { Way } from '../../contenders/log/append.ts'
import type { Benchmark, Claim, Contender } from '../../harness/suite.ts'
import { inLogs, MIN_SHARE, type Place, places } from './places.ts'

const names: Record<Way, string> = { raw: 'raw', store: 'our store', writer: 'our writer' }

/** Append throughput, compared with the raw backend. */
export function appendBenchmarks(quick: boolean, rounds: number): Benchmark[] {
  return places.map(place => benchmark(place, quick, rounds))
}

function benchmark(place: Place, quick: boolean, rounds: number): Benchmark {
  const { backend, title, needs, raw } = place
  const shapes = place.sizes
    .flatMap(size => place.logs.map(logs => ({ size, logs })))
    .filter(({ size, logs }) => !quick || (size === 16 && logs === place.logs.at(-1)))
  const name = (way: Way, size: number, logs: number) => `${names[way]}, ${size} an append, ${inLogs(logs)}`
  const contender = (way: Way, size: number, logs: number): Contender => {
    const items = place.items(size, logs)
    const load = { pieces: 1, items }
    return {
      name: name(way, size, logs),
      kind: way === 'raw' ? 'floor' : 'ours',
      load,
      warmUp: load,
      prepare: async (count, workIndex) =>
        (await import('../../contenders/log/append.ts')).appendEntries(way, backend, size, logs, count, workIndex),
    }
  }
  const claims = shapes.flatMap(({ size, logs }): Claim[] =>
    (['store', 'writer'] as const).map((way): Claim => {
      const of = name(way, size, logs)
      if (backend === 'memory') return { kind: 'speed', of, ...(size > 1 && { atLeast: 1_000_000 }) }
      return { kind: 'rate', of, to: name('raw', size, logs), atLeast: MIN_SHARE }
    }),
  )
  return {
    name: `append-${backend}`,
    title: `entries into ${title}, by entries per append, one append in flight per log`,
    item: 'entry',
    unit: 'wall',
    rounds,
    contenders: shapes.flatMap(({ size, logs }) =>
      (['raw', 'store', 'writer'] as const).map(way => contender(way, size, logs)),
    ),
    claims,
    needs,
    notes: [
      raw,
      'an entry is a text delta with its origin, 150 bytes of JSON; our store gets the same JSON, our writer gets chunks, which it validates and encodes',
      ...(quick ? ['quick: 16 an append only'] : []),
    ],
  }
}
