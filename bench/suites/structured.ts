import { strictEqual } from 'node:assert/strict'
import type { Json, StructuredDataChunk, StructuredState } from '@millrace/protocol'
import { memo } from '../fixtures/memo.ts'
import { parsed } from '../fixtures/text.ts'
import { type Benchmark, type Contender, type Job, job, type Load, type Suite } from '../harness/suite.ts'
import { fields } from './structured/fields.ts'

const COMMIT = 10
const SIZES = [10_000, 100_000]
const warmUp: Load = { pieces: 6, items: 10_000 }

/** Structured objects: appending to one, growing a text with a state per delta, and field updates from streamed text. */
export const structured: Suite = {
  name: 'structured',
  benchmarks: () => [append(), text(), fields()],
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
    title: `${total.toLocaleString('en')} appends to k objects of n items each`,
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

const DELTAS: Load = { pieces: 5, items: 20_000 }

/** Cost of a text delta, with a state after each. */
function text(): Benchmark {
  const contender = (kind: Contender['kind'], name: string, prepare: Contender['prepare']): Contender => {
    return { name, kind, load: DELTAS, warmUp, prepare }
  }
  const ours = 'applyStructuredChunk'
  const peer = 'a reducer by the rules of Kortyx'
  return {
    name: 'text',
    title: `${DELTAS.items.toLocaleString('en')} text deltas, with a state after each`,
    item: 'delta',
    reference: ours,
    contenders: [
      contender('ours', ours, applied),
      contender('ours', 'accumulator, a read after each', readEach),
      contender('ours', 'accumulator, one read at the end', readOnce),
      contender('peer', peer, likeKortyx),
      contender('floor', 'a string that grows', concatenated),
    ],
    claims: [{ kind: 'ratio', of: ours, to: peer, atMost: 1 }],
  }
}

const DELTA = 'word '

const textChunksOf = memo((count: number, _piece: number): StructuredDataChunk[] =>
  parsed(
    Array.from({ length: count }, (): StructuredDataChunk => {
      return {
        type: 'structured-data',
        streamId: 's1',
        dataType: 'mail',
        kind: 'text-delta',
        path: 'draft.body',
        delta: DELTA,
      }
    }),
  ),
)

const checkText = (data: unknown, count: number): void =>
  strictEqual((data as { draft: { body: string } }).draft.body, DELTA.repeat(count))

async function applied(count: number, workIndex: number): Promise<Job> {
  const { applyStructuredChunk } = await import('@millrace/protocol')
  const chunks = textChunksOf(count, workIndex)
  return job(
    () => {
      let state: StructuredState | undefined
      for (const chunk of chunks) state = applyStructuredChunk(state, chunk)
      return state
    },
    state => checkText(state?.data, count),
  )
}

const readEach = (count: number, workIndex: number): Promise<Job> => read(count, workIndex, true)
const readOnce = (count: number, workIndex: number): Promise<Job> => read(count, workIndex, false)

async function read(count: number, workIndex: number, isEach: boolean): Promise<Job> {
  const { StructuredAccumulator } = await import('@millrace/protocol')
  const chunks = textChunksOf(count, workIndex)
  return job(
    () => {
      const accumulator = new StructuredAccumulator()
      for (const chunk of chunks) {
        accumulator.write(chunk)
        if (isEach) accumulator.read()
      }
      return accumulator.read()
    },
    state => checkText(state?.data, count),
  )
}

async function likeKortyx(count: number, workIndex: number): Promise<Job> {
  const { reduceLikeKortyx } = await import('../../interop/kortyx/kortyx-reducer.fixture.ts')
  const chunks = textChunksOf(count, workIndex)
  return job(
    () => {
      let state: ReturnType<typeof reduceLikeKortyx> | undefined
      for (const chunk of chunks) state = reduceLikeKortyx(state, chunk)
      return state
    },
    state => checkText(state?.data, count),
  )
}

async function concatenated(count: number, workIndex: number): Promise<Job> {
  const chunks = textChunksOf(count, workIndex)
  return job(
    () => {
      let body = ''
      for (const chunk of chunks) if (chunk.kind === 'text-delta') body += chunk.delta
      return body
    },
    body => strictEqual(body, DELTA.repeat(count)),
  )
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
