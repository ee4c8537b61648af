import type { LogStore } from '../store/log-store.ts'
import { assertEqual, assertTrue, describeAppend } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import type { Trial } from './trial.ts'
import { batch, batchOf, guest, move, textsOf } from './writer.ts'

/** Names with special characters, and names that are easily confused. */
const NAMES = [
  ...['', ' ', 'a', 'A', ' a', 'a ', 'a\u00a0', 'é', 'e\u0301', 'É', '語', '🙂', '\u200b', '\ufeff', '\ufeffa'],
  ...['__proto__', 'constructor', 'toString', 'null', 'undefined', 'true', '0', '00', '-1', '1e0', 'NaN'],
  ...[
    ':',
    '::',
    'a:',
    ':a',
    'a::b',
    'a:b',
    '{',
    '}',
    '{a}',
    '{}a',
    'a{b}c',
    '[',
    '*',
    '?',
    '%',
    '_',
    '$1',
    '\\',
    '/',
    '..',
  ],
  ...[
    "'",
    '"',
    '`',
    "';--",
    '\n',
    '\r',
    '\r\n',
    'a\nb',
    '\t',
    '\u0000',
    'a\u0000',
    'a\u0000b',
    '\u0001',
    '\u007f',
    '\u2028',
    '#',
    '&',
    '<',
    '|',
    '0.i.0',
  ],
  ...[long('x'), `${long('x')}y`, long('語')],
]

/** JSON texts that change when they are parsed and serialised. */
const BODIES = [
  '[null]',
  ' [ 1 , 2 ]\n',
  '[1e400, 0.1000, -0, 12345678901234567890, 1E5]',
  '[{"b":1,"a":2,"b":3,"":0,"__proto__":4}]',
  '["\\u0000\\ud800\\udc00\\ud800 \\/ \\"\\\\ \\u2028"]',
  '["é e\u0301 語 🙂 \u2028\u2029 \u200b\ufeff \u007f"]',
  '["\'; DROP TABLE logs; -- $1 %s {0} :a ?"]',
  '[[[[]]]]',
]

const BYTES = 1024 * 1024

/** Law 6, and the interface: texts are opaque. Their size is checked before a sequence is assigned. */
export const texts: readonly ContractCase[] = [
  define(6, 'a batch of exactly maxBatchBytes is appended, one more byte is too large', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const max = store.maxBatchBytes
    assertTrue(Number.isSafeInteger(max) && max > 0, 'maxBatchBytes is a number of bytes', max)
    assertEqual(other.maxBatchBytes, max, 'maxBatchBytes of another handle')
    const streamId = await trial.log(store)
    const writer = await trial.writer(store, streamId)
    assertEqual(describeAppend(await writer.append(batchOf(max + 1))), 'too-large', 'a batch of maxBatchBytes + 1')
    assertEqual(describeAppend(await writer.append(batchOf(max))), 'appended 1..1', 'a batch of maxBatchBytes')
    assertEqual(
      describeAppend(await store.append(streamId, batchOf(max + 1), guest())),
      'too-large',
      "a guest's batch of maxBatchBytes + 1",
    )
    assertEqual(
      describeAppend(await store.append(streamId, batchOf(max), guest())),
      'appended 2..2',
      "a guest's batch of maxBatchBytes",
    )
    const { batches } = await trial.page(store, streamId, { sequence: 1 }, { batches: 9, bytes: 1 })
    assertEqual(
      batches.map(({ body }) => body === batchOf(max).body),
      [true],
      'whether the batch is returned unchanged',
    )
  }),

  define(6, 'bytes are counted, not characters', async trial => {
    const store = await trial.open()
    const max = store.maxBatchBytes
    const streamId = await trial.log(store)
    const [fits, over] = [batchOf(max, true), batchOf(max + 1, true)]
    assertEqual(
      [Buffer.byteLength(fits.body), Buffer.byteLength(over.body)],
      [max, max + 1],
      'the sizes of both batches, in bytes',
    )
    assertEqual(
      describeAppend(await store.append(streamId, over, guest())),
      'too-large',
      'a batch with fewer characters than maxBatchBytes and more bytes',
    )
    assertEqual(
      describeAppend(await store.append(streamId, fits, guest())),
      'appended 1..1',
      'a batch of maxBatchBytes in longer characters',
    )
  }),

  define(6, 'an append that was too large changes no sequence, key, counter or ticket', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const { version } = await trial.head(store, streamId)
    const writer = await trial.writer(store, streamId)
    const before = await trial.page(store, streamId)
    const large = batchOf(store.maxBatchBytes + 1)
    assertEqual(describeAppend(await writer.append(large, move(version, 's'))), 'too-large', "a writer's append")
    assertEqual(
      describeAppend(await store.append(streamId, large, guest('key'), move(version, 's'))),
      'too-large',
      "a guest's append",
    )
    assertEqual(
      { ...(await trial.page(store, streamId)), clock: 0 },
      { ...before, clock: 0 },
      'the log after the refused calls',
    )
    assertEqual(await store.find(streamId, 'key'), undefined, 'the key')
    assertEqual(
      describeAppend(await store.append(streamId, batch('a'), guest('key'))),
      'appended 1..1',
      'a smaller batch, same key',
    )
    assertEqual(
      describeAppend(await writer.append(batch('b'), move(version, 's'))),
      'appended 2..2',
      'a smaller batch, same count',
    )
  }),

  define('interface', 'a body is returned unchanged for any JSON text', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const writer = await trial.writer(store, streamId)
    const long = [`["${'\\u0000é語🙂\\ud800'.repeat(BYTES / 24)}"]`, `["${'x'.repeat(BYTES)}"]`]
    const bodies = [...BODIES, ...long.filter(body => Buffer.byteLength(body) <= store.maxBatchBytes)]
    for (const [i, body] of bodies.entries()) {
      const count = (JSON.parse(body) as unknown[]).length
      const result = await (i % 2 ? writer.append({ body, count }) : store.append(streamId, { body, count }, guest()))
      assertEqual(result.outcome, 'appended', 'an append')
    }
    const { batches } = await trial.page(await trial.open(), streamId)
    for (const [i, body] of bodies.entries()) {
      assertEqual(batches[i]?.body === body, true, `whether the body ${body.slice(0, 60)} comes back as it was`)
    }
  }),

  define('interface', 'a ticket is returned unchanged for any text', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    for (const state of [...NAMES.filter(name => !name.includes('\0')), ...BODIES, 'x'.repeat(100_000)]) {
      const { version } = await trial.head(store, streamId)
      await store.append(streamId, batch('x'), guest(), move(version, state))
      assertEqual((await trial.head(store, streamId)).ticket, state, 'the text of the ticket')
    }
  }),

  define('interface', 'a stream id is any text, and different ids never collide', async trial => {
    const store = await trial.open()
    for (const name of NAMES) await store.remove(trial.removeAtEnd(name))
    for (const name of NAMES) assertEqual(await store.create(name, null), true, `create of ${JSON.stringify(name)}`)
    for (const name of NAMES) await store.append(name, batch(name), guest('key'))
    const other = await trial.open()
    for (const name of NAMES) {
      const { batches } = await trial.page(other, name)
      assertEqual(
        batches.map(({ body }) => textsOf(body)),
        [[name]],
        `the entries of ${JSON.stringify(name)}`,
      )
      const writer = await trial.writer(other, name)
      assertEqual(
        describeAppend(await writer.append(batch('x'))),
        'appended 2..2',
        `a writer of ${JSON.stringify(name)}`,
      )
    }
    for (const [i, name] of NAMES.entries()) {
      assertEqual(await store.remove(name), true, `remove of ${JSON.stringify(name)}`)
      const next = NAMES[i + 1]
      if (next !== undefined) assertEqual((await trial.head(store, next)).head, 2, `the log ${JSON.stringify(next)}`)
    }
  }),

  define('interface', 'a key is any text, and different keys never collide', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    for (const [i, name] of NAMES.entries()) {
      assertEqual(await store.find(streamId, name), undefined, `the key ${JSON.stringify(name)} before its append`)
      const result = describeAppend(await store.append(streamId, batch('x'), guest(name)))
      assertEqual(result, `appended ${i + 1}..${i + 1}`, `an append under ${JSON.stringify(name)}`)
    }
    for (const [i, name] of NAMES.entries()) {
      const range = { first: i + 1, last: i + 1 }
      assertEqual(await store.find(streamId, name), range, `the key ${JSON.stringify(name)}`)
      const again = describeAppend(await store.append(streamId, batch('x'), guest(name)))
      assertEqual(again, `duplicate ${i + 1}..${i + 1}`, `an append under ${JSON.stringify(name)} again`)
    }
  }),

  define('interface', 'owners, programs and principals are any text, and different ones never collide', async trial => {
    const store = await trial.open()
    const ids = await eachNamed(trial, store)
    const unique = trial.name('')
    for (const [i, name] of NAMES.entries()) {
      const streamId = ids[i] as string
      const lines = (await store.list(unique + name, 9)).streams.map(line => line.streamId)
      assertEqual(lines, [streamId], `the logs of the principal ${JSON.stringify(name)}`)
      assertEqual((await trial.head(store, streamId)).principal, unique + name, 'the principal')
      const found = await store.due([unique + name], 10_000)
      assertEqual(
        found.filter(id => ids.includes(id)),
        [streamId],
        `the logs due to the program ${JSON.stringify(name)}`,
      )
      await store.claim(streamId, name, 60_000, false)
      assertEqual((await trial.head(store, streamId)).lease?.owner, name, 'the owner')
    }
  }),
]

async function eachNamed(trial: Trial, store: LogStore): Promise<string[]> {
  const ids: string[] = []
  for (const [i, name] of NAMES.entries()) {
    const unique = trial.name('') + name
    const streamId = await trial.log(store, `${i}`, unique)
    const { version } = await trial.head(store, streamId)
    await store.append(streamId, batch('x'), guest(), move(version, '', { at: 'now', program: unique }))
    ids.push(streamId)
  }
  return ids
}

/** 500 characters that do not compress. */
function long(letter: string): string {
  const code = letter.charCodeAt(0)
  return Array.from({ length: 500 }, (_, i) => String.fromCharCode(code - ((i * i * 7 + (i >> 3)) % 23))).join('')
}
