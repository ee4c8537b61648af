import { deepStrictEqual, ok } from 'node:assert/strict'
import type { Fields, FieldUpdate } from '@millrace/protocol'
import { type Email, email } from '../../fixtures/email.ts'
import { type Benchmark, type Claim, type Contender, type Job, job, type Load } from '../../harness/suite.ts'

const DELTA = 4
const TOTAL = 1_000_000
const SIZES = [10_000, 100_000, 1_000_000] as const
const warmUp: Load = { pieces: 2, items: 10_000 }

const PLAIN: Fields = { subject: 'set', body: 'text-delta', bullets: 'append', people: 'append', sent: 'set' }
const WILDCARDS: Fields = {
  subject: 'set',
  body: 'text-delta',
  'bullets.*': 'text-delta',
  'people.*.name': 'set',
  'people.*.notes': 'text-delta',
  'people.*.tags': 'append',
  'people.*.address.*': 'set',
  sent: 'set',
}

/** Expected values of the declared fields of a draft, by path. Listed explicitly, independent of the measured code. */
const plainValues = ({ subject, body, bullets, people, sent }: Email) =>
  new Map<string, unknown>(Object.entries({ subject, body, bullets, people, sent }))

const wildcardValues = ({ subject, body, bullets, people, sent }: Email) =>
  new Map<string, unknown>([
    ['subject', subject],
    ['body', body],
    ...bullets.map((bullet, i) => [`bullets.${i}`, bullet] as const),
    ...people.flatMap(({ name, notes, tags, address }, i) => [
      [`people.${i}.name`, name] as const,
      [`people.${i}.notes`, notes] as const,
      [`people.${i}.tags`, tags] as const,
      ...Object.entries(address).map(([key, value]) => [`people.${i}.address.${key}`, value] as const),
    ]),
    ['sent', sent],
  ])

/** Reads a draft to its end and returns the output to check. */
type Reader<Output> = (deltas: readonly string[]) => Output | Promise<Output>

const prepared =
  <Output>(
    reader: () => Promise<Reader<Output>>,
    check: (output: Output, text: string, deltas: readonly string[]) => void,
  ): Contender['prepare'] =>
  async (length, workIndex): Promise<Job> => {
    const read = await reader()
    const { text, deltas } = email(length, workIndex, DELTA)
    return job(
      () => read(deltas),
      output => check(output, text, deltas),
    )
  }

/** Output of a reader. Every contender retains the complete value, so that garbage collection costs the same. */
interface ReaderOutput {
  tally: Tally
  value: unknown
}

/** Counts of updates. The updates themselves are not retained while measuring, like in an application that forwards them. */
interface Tally {
  sets: number
  items: number
  characters: number
}

function count(tally: Tally, update: FieldUpdate): void {
  if (update.kind === 'text-delta') tally.characters += update.delta.length
  else if (update.kind === 'append') tally.items += update.items.length
  else tally.sets++
}

/** The check reads the draft again, collects all updates, and compares them with the document and with the counts. */
async function watchJob(
  fields: Fields,
  valuesOf: (document: Email) => Map<string, unknown>,
  length: number,
  workIndex: number,
): Promise<Job> {
  const { FieldWatcher } = await import('@millrace/protocol')
  const read = (deltas: readonly string[], keep?: FieldUpdate[]) => {
    const watcher = new FieldWatcher(fields)
    const tally: Tally = { sets: 0, items: 0, characters: 0 }
    for (const delta of deltas) {
      for (const update of watcher.push(delta)) {
        count(tally, update)
        keep?.push(update)
      }
    }
    ok(watcher.end())
    return { tally, value: watcher.json.value }
  }
  const prepare = prepared<ReaderOutput>(
    async () => read,
    (output, text, deltas) => {
      const updates: FieldUpdate[] = []
      deepStrictEqual(output, read(deltas, updates))
      checkValue(output.value, text)
      deepStrictEqual(received(updates), valuesOf(JSON.parse(text)))
    },
  )
  return prepare(length, workIndex)
}

/** Received value by path. @throws if a text was split differently from the deltas. */
function received(updates: readonly FieldUpdate[]): Map<string, unknown> {
  const values = new Map<string, unknown>()
  for (const update of updates) {
    const { path } = update
    const old = values.get(path)
    if (update.kind === 'set') values.set(path, update.value)
    else if (update.kind === 'append') {
      if (Array.isArray(old)) old.push(...update.items)
      else values.set(path, [...update.items])
    } else {
      ok(update.delta.length <= DELTA + 1, `${update.delta.length} characters of ${path} at once`)
      values.set(path, `${old ?? ''}${update.delta}`)
    }
  }
  return values
}

const checkValue = (value: unknown, text: string) => deepStrictEqual(value, JSON.parse(text))

const parsed = prepared<unknown>(async () => {
  const { JsonStream } = await import('@millrace/protocol')
  return deltas => {
    const stream = new JsonStream()
    for (const delta of deltas) stream.push(delta)
    ok(stream.end())
    return stream.value
  }
}, checkValue)

/** Emits an update per growth without fields: the cost of emitting updates alone. */
const emitted = prepared<ReaderOutput>(
  async () => {
    const { JsonStream } = await import('@millrace/protocol')
    return deltas => {
      let updates: FieldUpdate[] = []
      const tally: Tally = { sets: 0, items: 0, characters: 0 }
      const stream = new JsonStream({
        onGrow: delta => {
          updates = [{ kind: 'text-delta', path: 'body', delta }]
        },
      })
      for (const delta of deltas) {
        updates = []
        stream.push(delta)
        for (const update of updates) count(tally, update)
      }
      ok(stream.end())
      return { tally, value: stream.value }
    }
  },
  ({ tally: { characters }, value }, text) => {
    checkValue(value, text)
    const { subject, body, bullets, people }: Email = JSON.parse(text)
    const texts = people.flatMap(({ name, tags, address, notes }) => [
      name,
      ...tags,
      address.street,
      address.city,
      notes,
    ])
    const all = [subject, body, ...bullets, ...texts].join('').length
    // If two strings share a delta, only the growth of the second is emitted.
    ok(characters <= all && characters > all * 0.9, `${characters} of ${all} characters`)
  },
)

const jsonriver = prepared<unknown>(async () => {
  const { parse } = await import('jsonriver')
  return async deltas => {
    let last: unknown
    for await (const value of parse(iterate(deltas))) last = value
    return last
  }
}, checkValue)

const partialJson = prepared<unknown>(async () => {
  const { parse } = await import('partial-json')
  return deltas => {
    let text = ''
    let value: unknown
    for (const delta of deltas) {
      text += delta
      value = parse(text)
    }
    return value
  }
}, checkValue)

/** Minimal async iterator. */
function iterate<T>(items: readonly T[]): AsyncIterable<T> {
  let at = 0
  const next = (): Promise<IteratorResult<T, undefined>> => {
    const done = at === items.length
    return Promise.resolve(done ? { done, value: undefined } : { done, value: items[at++] as T })
  }
  return { [Symbol.asyncIterator]: () => ({ next }) }
}

const JSON_STREAM = 'JsonStream'
const PLAIN_FIELDS = 'FieldWatcher'
const WILDCARD_FIELDS = 'FieldWatcher, wildcards'
const EMITTED = 'JsonStream, an update a delta'
const JSONRIVER = 'jsonriver'
const PARTIAL_JSON = 'partial-json'

const nameOf = (reader: string, size: number) =>
  `${reader}, ${TOTAL / size} x ${size < 1_000_000 ? `${size / 1000} KB` : '1 MB'}`

/** Cost of field updates from a document in small deltas, compared with parsing alone, by size. */
export function fields(): Benchmark {
  const [small, , large] = SIZES
  const readers: [string, Contender['kind'], Contender['prepare']][] = [
    [JSON_STREAM, 'ours', parsed],
    [PLAIN_FIELDS, 'ours', (length, workIndex) => watchJob(PLAIN, plainValues, length, workIndex)],
    [WILDCARD_FIELDS, 'ours', (length, workIndex) => watchJob(WILDCARDS, wildcardValues, length, workIndex)],
    [EMITTED, 'floor', emitted],
    [JSONRIVER, 'peer', jsonriver],
  ]
  const rescanning = `${PARTIAL_JSON}, 1 x 10 KB only`
  const ratio = (of: string, to: string, atMost?: number): Claim[] =>
    SIZES.map(size => ({ kind: 'ratio', of: nameOf(of, size), to: nameOf(to, size), ...(atMost && { atMost }) }))
  return {
    name: 'fields',
    title: `the fields of 1 MB in ${DELTA}-character deltas, in k documents of n characters each`,
    item: 'character',
    reference: nameOf(WILDCARD_FIELDS, large),
    contenders: [
      ...readers.flatMap(([reader, kind, prepare]) =>
        SIZES.map(size => {
          return { name: nameOf(reader, size), kind, load: { pieces: TOTAL / size, items: size }, warmUp, prepare }
        }),
      ),
      { name: rescanning, kind: 'peer', load: { pieces: 1, items: small }, warmUp, prepare: partialJson },
    ],
    claims: [
      ...[JSON_STREAM, PLAIN_FIELDS, WILDCARD_FIELDS].map((reader): Claim => {
        return { kind: 'exponent', small: nameOf(reader, small), large: nameOf(reader, large), under: 1.1 }
      }),
      ...ratio(PLAIN_FIELDS, JSON_STREAM, 1.5),
      ...ratio(WILDCARD_FIELDS, JSON_STREAM, 1.5),
      ...ratio(EMITTED, JSON_STREAM),
      ...ratio(WILDCARD_FIELDS, JSONRIVER),
      { kind: 'ratio', of: nameOf(WILDCARD_FIELDS, small), to: rescanning },
    ],
    notes: [
      'the peers only parse and do not report what changed',
      'partial-json parses from the start with each delta, which is quadratic, so it gets 10 KB only',
    ],
  }
}
