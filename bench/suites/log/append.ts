import type { AppendLayer } from '../../contenders/log/append.ts'
import type { Benchmark, Claim, Contender } from '../../harness/suite.ts'
import { type BackendSetup, backendSetups, logCountText, MIN_SHARE } from './backend-setups.ts'

const layerNames: Record<AppendLayer, string> = { raw: 'raw', store: 'our store', writer: 'our writer' }

/** Append throughput, compared with the raw backend. */
export function appendBenchmarks(quick: boolean, rounds: number): Benchmark[] {
  return backendSetups.map(setup => benchmark(setup, quick, rounds))
}

function benchmark(setup: BackendSetup, quick: boolean, rounds: number): Benchmark {
  const { backend, title, needs, raw } = setup
  const shapes = setup.sizes
    .flatMap(size => setup.logs.map(logs => ({ size, logs })))
    .filter(({ size, logs }) => !quick || (size === 16 && logs === setup.logs.at(-1)))
  const name = (layer: AppendLayer, size: number, logs: number) =>
    `${layerNames[layer]}, ${size} an append, ${logCountText(logs)}`
  const contender = (layer: AppendLayer, size: number, logs: number): Contender => {
    const items = setup.items(size, logs)
    const load = { pieces: 1, items }
    return {
      name: name(layer, size, logs),
      kind: layer === 'raw' ? 'floor' : 'ours',
      load,
      warmUp: load,
      prepare: async (count, workIndex) =>
        (await import('../../contenders/log/append.ts')).appendEntries(layer, backend, size, logs, count, workIndex),
    }
  }
  const claims = shapes.flatMap(({ size, logs }): Claim[] =>
    (['store', 'writer'] as const).map((layer): Claim => {
      const of = name(layer, size, logs)
      if (backend === 'memory') return { kind: 'speed', of, ...(size > 1 && { atLeast: 1_000_000 }) }
      return { kind: 'rate', of, to: name('raw', size, logs), atLeast: MIN_SHARE }
    }),
  )
  return {
    name: `append-${backend}`,
    title: `append entries to ${title}, by entries per append, one append in flight per log`,
    item: 'entry',
    unit: 'wall',
    rounds,
    contenders: shapes.flatMap(({ size, logs }) =>
      (['raw', 'store', 'writer'] as const).map(layer => contender(layer, size, logs)),
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
