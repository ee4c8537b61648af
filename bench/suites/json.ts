import { deepStrictEqual, ok } from 'node:assert/strict'
import { document } from '../fixtures/document.ts'
import { type Benchmark, type Contender, type Job, job, type Load, type Suite } from '../harness/suite.ts'

const DELTA = 4
const SAMPLES = 20
const warmUp: Load = { pieces: 2, items: 10_000 }

/** One JSON document that arrives in small deltas, with a usable partial value after each. */
export const json: Suite = {
  name: 'json',
  benchmarks: quick => [large(), growth(), small(), lengths(quick)],
}

/** Parses a document. Calls `onPartial` with the partial value after each delta and returns the final value. */
type Reader = (deltas: string[], onPartial: (partial: unknown) => void) => unknown

function contender(kind: Contender['kind'], name: string, load: Load, reader: () => Promise<Reader>): Contender {
  const prepare: Contender['prepare'] = async (length, workIndex) =>
    documentJob(length, workIndex, await reader(), kind === 'floor' ? 0 : SAMPLES)
  return { name, kind, load, warmUp, prepare }
}

/** Parses one document. At `samples` evenly spread deltas it records how many records the partial value has. */
function documentJob(length: number, workIndex: number, read: Reader, samples: number): Job {
  const { text, deltas } = document(length, workIndex, DELTA)
  const every = Math.floor(deltas.length / samples)
  const records: number[] = []
  let onPartial = 0
  let usable = 0
  return job(
    () => {
      return read(deltas, partial => {
        if (typeof partial === 'object' && partial !== null) usable++
        if (++onPartial === (records.length + 1) * every)
          records.push((partial as Partial<Document>)?.records?.length ?? 0)
      })
    },
    value => {
      deepStrictEqual(value, JSON.parse(text))
      ok(usable >= deltas.length - 1, `only ${usable} of ${deltas.length} deltas left a usable value`)
      ok(records.length >= samples, `expected ${samples} samples, found ${records.length}`)
      const ends = recordEnds(text)
      for (const [sample, found] of records.entries()) {
        const at = (sample + 1) * every * DELTA
        const complete = ends.filter(end => end <= at).length
        ok(
          found === complete || found === complete + 1,
          `${found} records at character ${at}, where ${complete} are complete`,
        )
      }
    },
  )
}

interface Document {
  records: unknown[]
}

/** End offsets of the records of a document. */
function recordEnds(text: string): number[] {
  let next = text.indexOf('[') + 1
  return (JSON.parse(text) as Document).records.map(record => {
    const end = next + JSON.stringify(record).length
    next = end + 1
    return end
  })
}

const millrace = async (): Promise<Reader> => {
  const { JsonStream } = await import('@millrace/protocol')
  return (deltas, onPartial) => {
    const stream = new JsonStream({ strict: true })
    for (const delta of deltas) {
      stream.push(delta)
      onPartial(stream.value)
    }
    ok(stream.end())
    return stream.value
  }
}

const millraceSnapshots = async (): Promise<Reader> => {
  const { JsonStream } = await import('@millrace/protocol')
  return (deltas, onPartial) => {
    const stream = new JsonStream({ strict: true })
    for (const delta of deltas) {
      stream.push(delta)
      onPartial(stream.snapshot())
    }
    ok(stream.end())
    return stream.snapshot()
  }
}

const jsonriver = async (): Promise<Reader> => {
  const { parse } = await import('jsonriver')
  return async (deltas, onPartial) => {
    let last: unknown
    // jsonriver yields nothing for a delta without a change. So the value is read when the next delta is requested.
    const source = iterate(deltas, () => onPartial(last))
    for await (const value of parse(source)) last = value
    return last
  }
}

const partialJson = async (): Promise<Reader> => {
  const { parse } = await import('partial-json')
  return (deltas, onPartial) => {
    let text = ''
    let value: unknown
    for (const delta of deltas) {
      text += delta
      value = parse(text)
      onPartial(value)
    }
    return value
  }
}

const aiPartialJson = async (): Promise<Reader> => {
  const { parsePartialJson } = await import('ai')
  return async (deltas, onPartial) => {
    let text = ''
    let value: unknown
    for (const delta of deltas) {
      text += delta
      value = (await parsePartialJson(text)).value ?? value
      onPartial(value)
    }
    return value
  }
}

/** Only parses at the end, without partial values. */
const parseAtEnd = async (): Promise<Reader> => (deltas, onPartial) => {
  let text = ''
  for (const delta of deltas) {
    text += delta
    onPartial(deltas)
  }
  return JSON.parse(text)
}

/** Minimal async iterator. Calls `after` before each item but the first. */
function iterate<T>(items: readonly T[], after: () => void): AsyncIterable<T> {
  let at = 0
  const next = (): Promise<IteratorResult<T, undefined>> => {
    if (at > 0) after()
    const done = at === items.length
    return Promise.resolve(done ? { done, value: undefined } : { done, value: items[at++] as T })
  }
  return { [Symbol.asyncIterator]: () => ({ next }) }
}

/** The async iteration that jsonriver's interface requires, without parsing. */
const iteration = async (): Promise<Reader> => async (deltas, onPartial) => {
  let text = ''
  for await (const delta of iterate(deltas, () => onPartial(deltas))) text += delta
  return JSON.parse(text)
}

function large(): Benchmark {
  const load = { pieces: 1, items: 1_000_000 }
  return {
    name: 'large',
    title: `1 MB in ${DELTA}-character deltas, with a usable partial value after each`,
    item: 'character',
    reference: 'millrace',
    contenders: [
      contender('ours', 'millrace', load, millrace),
      contender('peer', 'jsonriver', load, jsonriver),
      contender('floor', 'concat, one JSON.parse at the end', load, parseAtEnd),
      contender('floor', 'the same through an async iterator', load, iteration),
    ],
    claims: [{ kind: 'ratio', of: 'millrace', to: 'jsonriver', atMost: 0.5 }],
    notes: ['both return the value that they keep building; jsonriver reads only from an async iterator'],
  }
}

function growth(): Benchmark {
  const small = 'millrace, 10 x 100 KB'
  const large = 'millrace, 1 x 1 MB'
  return {
    name: 'growth',
    title: `1 MB in ${DELTA}-character deltas, as ten documents and as one`,
    item: 'character',
    reference: small,
    contenders: [
      contender('ours', small, { pieces: 10, items: 100_000 }, millrace),
      contender('ours', large, { pieces: 1, items: 1_000_000 }, millrace),
    ],
    claims: [{ kind: 'exponent', small, large, under: 1.1 }],
  }
}

function small(): Benchmark {
  const load = { pieces: 1, items: 10_000 }
  return {
    name: 'small',
    title: `10 KB in ${DELTA}-character deltas, with a usable partial value after each`,
    item: 'character',
    reference: 'millrace',
    contenders: [
      contender('ours', 'millrace', load, millrace),
      contender('ours', 'millrace, a snapshot after each', load, millraceSnapshots),
      contender('peer', 'jsonriver', load, jsonriver),
      contender('peer', 'partial-json', load, partialJson),
      contender('peer', 'AI SDK parsePartialJson', load, aiPartialJson),
    ],
    claims: [],
    notes: ['partial-json and the AI SDK parse from the start with each delta: 1 MB would take an hour'],
  }
}

function lengths(quick: boolean): Benchmark {
  const readers: [string, Contender['kind'], () => Promise<Reader>, most: number][] = [
    ['millrace', 'ours', millrace, 1000],
    ['jsonriver', 'peer', jsonriver, 1000],
    // Larger documents take minutes.
    ['partial-json', 'peer', partialJson, 30],
    ['AI SDK parsePartialJson', 'peer', aiPartialJson, 30],
  ]
  return {
    name: 'lengths',
    title: `documents of 3, 10, 30, 100 and 1,000 KB in ${DELTA}-character deltas, cost per character`,
    item: 'character',
    rounds: quick ? 1 : 3,
    contenders: readers.flatMap(([name, kind, reader, maxKb]) =>
      [3, 10, 30, 100, 1000]
        .filter(size => size <= maxKb)
        .map(size => contender(kind, `${name}, ${size} KB`, { pieces: 1, items: size * 1000 }, reader)),
    ),
    claims: readers.map(([name, , , maxKb]) => ({
      kind: 'exponent',
      small: `${name}, 3 KB`,
      large: `${name}, ${maxKb} KB`,
    })),
  }
}
