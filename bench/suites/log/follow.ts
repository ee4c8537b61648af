import type { Benchmark, Claim, Contender } from '../../harness/suite.ts'
import { type BackendSetup, backendSetups, logCountText, MIN_SHARE } from './backend-setups.ts'

type FollowLayer = 'raw' | 'writer'

const layerNames: Record<FollowLayer, string> = { raw: 'raw', writer: 'ours' }

/** Append throughput with a reader on every log. The time ends when all readers have all entries. */
export function followBenchmarks(quick: boolean, rounds: number): Benchmark[] {
  return backendSetups.flatMap(setup => (setup.follow ? [benchmark(setup, setup.follow, quick, rounds)] : []))
}

function benchmark(setup: BackendSetup, follow: string, quick: boolean, rounds: number): Benchmark {
  const { backend, title, needs } = setup
  const logs = setup.logs.at(-1) as number
  const sizes = quick ? [16] : setup.sizes
  const name = (layer: FollowLayer, size: number) => `${layerNames[layer]}, ${size} an append`
  const contender = (layer: FollowLayer, size: number): Contender => {
    const load = { pieces: 1, items: setup.items(size, logs) / 2 }
    return {
      name: name(layer, size),
      kind: layer === 'writer' ? 'ours' : 'floor',
      load,
      warmUp: load,
      prepare: async (count, workIndex) =>
        (await import('../../contenders/log/follow.ts')).followEntries(layer, backend, size, logs, count, workIndex),
    }
  }
  return {
    name: `follow-${backend}`,
    title: `append entries to ${title} until readers in the same process have them, ${logCountText(logs)}`,
    item: 'entry',
    unit: 'wall',
    rounds,
    needs,
    contenders: sizes.flatMap(size => (['raw', 'writer'] as const).map(layer => contender(layer, size))),
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
