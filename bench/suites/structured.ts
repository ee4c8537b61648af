import { strictEqual } from 'node:assert/strict'
import type { Json, StructuredDataChunk, StructuredState } from '@millrace/protocol'
import { memo } from '../fixtures/memo.ts'
import { parsed } from '../fixtures/text.ts'
import { type Benchmark, type Contender, type Job, job, type Load, type Suite } from '../harness/suite.ts'
import { fields } from './structured/fields.ts'

const COMMIT = 10
const SIZES = [10_000, 100_000]
const warmUp: Load = { pieces: 6, items: 10_000 }

/** Structured objects: appending to one, and field updates from streamed text. */
export const structured: Suite = {
  name: 'structured',
  benchmarks: () => [append(), fields()],
}

/** Cost of appending one item per chunk to an array in a structured object. */
function append(): Benchmark {
  const total = 100_000
  const appenders: [string, Contender['kind'], Contender['prepare']][] = [
    ['reduceStructuredChunks', 'ours', reduced],
    [`accumulator, a commit every ${COMMIT}`, 'ours', accumulated],
    ['an array that grows', 'floor', pushed],
  ]
  const name = (appender: string, size: number) => `${appender}, ${total / size} x ${size.toLocaleString('en')}`
  return {
    name: 'append',
    title: `${total.toLocaleString('en')} appends, as k objects of n items`,
    item: 'append',
    reference: name('reduceStructuredChunks', SIZES[1] ?? 0),
    contenders: appenders.flatMap(([appender, kind, prepare]) =>
      SIZES.map(size => {
        return { name: name(appender, size), kind, load: { pieces: total / size, items: size }, warmUp, prepare }
      }),
    ),
    claims: appenders.map(([appender, kind]) => ({
      kind: 'exponent',
      small: name(appender, SIZES[0] ?? 0),
      large: name(appender, SIZES[1] ?? 0),
      ...(kind === 'ours' ? { under: 1.1 } : {}),
    })),
  }
}

const chunksOf = memo((count: number, _piece: number): StructuredDataChunk[] =>
  parsed(
    Array.from({ length: count }, (_, i): StructuredDataChunk => {
      return {
        type: 'structured-data',
        streamId: 's1',
        dataType: 'report',
        kind: 'append',
        path: 'a.items',
        items: [{ i }],
      }
    }),
  ),
)

async function reduced(count: number, workIndex: number): Promise<Job> {
  const { reduceStructuredChunks } = await import('@millrace/protocol')
  const chunks = chunksOf(count, workIndex)
  return job(
    () => reduceStructuredChunks(chunks)['s1'],
    state => checkItems(itemsOf(state), count),
  )
}

async function accumulated(count: number, workIndex: number): Promise<Job> {
  const { StructuredAccumulator } = await import('@millrace/protocol')
  const chunks = chunksOf(count, workIndex)
  return job(
    () => {
      const accumulator = new StructuredAccumulator()
      let open = 0
      for (const chunk of chunks) {
        accumulator.write(chunk)
        if (++open < COMMIT) continue
        accumulator.commit()
        open = 0
      }
      return accumulator.read()
    },
    state => checkItems(itemsOf(state), count),
  )
}

async function pushed(count: number, workIndex: number): Promise<Job> {
  const chunks = chunksOf(count, workIndex)
  return job(
    () => {
      const items: Json[] = []
      for (const chunk of chunks) if (chunk.kind === 'append') items.push(...chunk.items)
      return items
    },
    items => checkItems(items, count),
  )
}

function itemsOf(state: StructuredState | undefined): Json | undefined {
  return (state?.data as { a?: { items?: Json } } | undefined)?.a?.items
}

function checkItems(items: Json | undefined, count: number): void {
  strictEqual(Array.isArray(items) && items.length, count)
  for (const [at, item] of (items as { i: number }[]).entries()) strictEqual(item.i, at)
}
