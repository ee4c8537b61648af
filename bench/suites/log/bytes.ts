import type { StorageName } from '../../contenders/log/bytes.ts'
import type { Benchmark, Contender } from '../../harness/suite.ts'
import { SIZES } from './backend-setups.ts'

const storageNames: Record<StorageName, string> = {
  memory: 'memory',
  sqlite: 'SQLite, its file',
  redis: 'Redis, its memory',
  'redis-file': 'Redis, its file',
  postgres: 'Postgres, tables and indexes',
}

const bytes = () => import('../../contenders/log/bytes.ts')

/** Stored size of an entry. */
export function bytesBenchmark(quick: boolean): Benchmark {
  const sizes = quick ? [16] : SIZES
  const load = { pieces: 1, items: 20_480 }
  const warmUp = { pieces: 1, items: 256 }
  const contenders = (Object.keys(storageNames) as StorageName[]).flatMap(storage =>
    sizes.map((size): Contender => {
      const prepare: Contender['prepare'] = async (count, workIndex) =>
        (await bytes()).bytesOf(storage, size, count, workIndex)
      return { name: `${storageNames[storage]}, ${size} an append`, kind: 'ours', load, warmUp, prepare }
    }),
  )
  const json: Contender = {
    name: 'its JSON with its origin',
    kind: 'floor',
    load,
    warmUp,
    prepare: async (count, workIndex) => (await bytes()).bytesOfJson(16, count, workIndex),
  }
  return {
    name: 'bytes',
    title: 'stored size of a text delta entry, appended by a writer, unmerged',
    item: 'entry',
    unit: 'bytes',
    rounds: 1,
    needs: ['folder', 'redis', 'postgres'],
    contenders: [...contenders, json],
    claims: [],
    notes: ['entries of one append share their origin; in a real answer an entry merges several tokens'],
  }
}
