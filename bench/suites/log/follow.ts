import type { Benchmark, Claim, Contender } from '../../harness/suite.ts'
import { inLogs, MIN_SHARE, type Place, places } from './places.ts'

type Way = 'raw' | 'writer'

const names: Record<Way, string> = { raw: 'raw', writer: 'ours' }

/** Append throughput with a reader on every log. The time ends when all readers have all entries. */
export function followBenchmarks(quick: boolean, rounds: number): Benchmark[] {
  return places.flatMap(place => (place.follow ? [benchmark(place, place.follow, quick, rounds)] : []))
}

function benchmark(place: Place, follow: string, quick: boolean, rounds: number): Benchmark {
  const { backend, title, needs } = place
  const logs = place.logs.at(-1) as number
  const sizes = quick ? [16] : place.sizes
  const name = (way: Way, size: number) => `${names[way]}, ${size} an append`
  const contender = (way: Way, size: number): Contender => {
    const load = { pieces: 1, items: place.items(size, logs) / 2 }
    return {
      name: name(way, size),
      kind: way === 'writer' ? 'ours' : 'floor',
      load,
      warmUp: load,
      prepare: async (count, workIndex) =>
        (await import('../../contenders/log/follow.ts')).followEntries(way, backend, size, logs, count, workIndex),
    }
  }
  return {
    name: `follow-${backend}`,
    title: `entries into ${title} and out again to a reader in the same process, ${inLogs(logs)}`,
    item: 'entry',
    unit: 'wall',
    rounds,
    needs,
    contenders: sizes.flatMap(size => (['raw', 'writer'] as const).map(way => contender(way, size))),
    claims: sizes.map((size): Claim => {
      const bound = backend === 'memory' ? {} : { atLeast: MIN_SHARE }
      return { kind: 'rate', of: name('writer', size), to: name('raw', size), ...bound }
    }),
    notes: [
      follow,
      'ours: a commit and a reader of the same StreamManager; all readers parse the entries',
      ...(quick ? ['quick: 16 an append only'] : []),
    ],
  }
}
