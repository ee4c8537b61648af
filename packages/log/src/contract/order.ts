import type { AppendResult, LogStore, StoredBatch } from '../store/log-store.ts'
import { assertEqual, assertTrue, describeAppend, formatRange } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import { batch, guest, move, textsOf } from './writer.ts'

const HANDLES = 4
const ROUNDS = 8

/** Law 1: one total order per log, assigned by the store with each batch. */
export const order: readonly ContractCase[] = [
  define('interface', 'create makes an empty log once and leaves an existing log unchanged', async trial => {
    const store = await trial.open()
    const before = await trial.head(store, await trial.log(store, 'other'))
    const streamId = await trial.log(store, 'log', 'ann')
    const page = await trial.page(store, streamId)
    const { incarnation, head, mark, floor, version, ticket, principal, lease, batches, truncated } = page
    assertEqual(
      { head, mark, floor, ticket, principal, lease, batches, truncated },
      { head: 0, mark: '0', floor: 0, ticket: '', principal: 'ann', lease: null, batches: [], truncated: null },
      'an empty log',
    )
    assertTrue(/^[\w-]+$/.test(incarnation), 'an incarnation has only characters that a cursor may have', incarnation)
    assertTrue(incarnation !== before.incarnation, 'two logs have different incarnations', incarnation)
    assertEqual(version, `0.${incarnation}.0`, 'the version of a ticket that never moved')
    assertEqual(page.touchedAt, page.createdAt, 'touchedAt of a new log')
    assertTrue(before.clock <= page.createdAt && page.createdAt <= page.clock, 'createdAt is a time by the store', page)

    assertEqual(await store.create(streamId, 'bob'), false, 'create of a log that is there')
    assertEqual(
      { ...(await trial.page(store, streamId)), clock: 0 },
      { ...page, clock: 0 },
      'the log after a second create',
    )
  }),

  define('interface', 'one of several concurrent creates makes the log', async trial => {
    const handles = await trial.opened(HANDLES)
    const streamId = trial.id()
    const created = await Promise.all(handles.map((store, i) => store.create(streamId, `p${i}`)))
    assertEqual(created.filter(Boolean).length, 1, 'the creates that made the log')
    const { principal } = await trial.head(handles[0] as LogStore, streamId)
    assertEqual(principal, `p${created.indexOf(true)}`, 'the principal is that of the create that made the log')
  }),

  define('interface', 'only create and fork make a log; other calls report it as missing', async trial => {
    const store = await trial.open()
    const streamId = trial.id()
    const by = { epoch: 'e', counter: 1, lastAcked: { sequence: 0, incarnation: 'i', epoch: '0' } }
    assertEqual(describeAppend(await store.append(streamId, batch('a'), by)), 'fenced', "a writer's append")
    assertEqual(describeAppend(await store.append(streamId, batch('a'), guest())), 'moved', "a guest's append")
    const ticket = move('0.i.0', 's')
    assertEqual(
      describeAppend(await store.append(streamId, batch('a'), guest(), ticket)),
      'moved',
      "a guest's append with a ticket",
    )
    assertEqual(await store.claim(streamId, 'me', 1000, true), { outcome: 'absent' }, 'claim')
    assertEqual(await store.renew(streamId, 'e', 1000), undefined, 'renew')
    await store.release(streamId, 'e')
    await store.trim(streamId, 3)
    await store.putSnapshot(streamId, { sequence: 0, mark: '0', version: 1, body: '{}' }, 3)
    await store.putBlob(streamId, 'h', new Uint8Array([1]))
    assertEqual(await store.find(streamId, 'k'), undefined, 'find')
    assertEqual(await store.getSnapshot(streamId, 10), undefined, 'getSnapshot')
    assertEqual(await store.getBlob(streamId, 'h'), undefined, 'getBlob')
    assertEqual(await store.remove(streamId), false, 'remove')
    assertEqual(await store.read(streamId, { sequence: 0 }, { batches: 9, bytes: 9 }), undefined, 'read')
    assertEqual(await store.create(streamId, null), true, 'create after calls on an absent log')
    assertEqual(await store.getSnapshot(streamId, 10), undefined, 'a snapshot that was put before its log was created')
    assertEqual(await store.getBlob(streamId, 'h'), undefined, 'a blob that was put before its log was created')
  }),

  define(1, 'sequences start at 1 without gaps, and each batch is contiguous', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const writer = await trial.writer(store, streamId)
    const nonce = guest()
    assertEqual(describeAppend(await writer.append(batch('a', 'b', 'c'))), 'appended 1..3', 'the first append')
    assertEqual(describeAppend(await store.append(streamId, batch('d'), nonce)), 'appended 4..4', "a guest's append")
    assertEqual(describeAppend(await writer.append(batch('e', 'f'))), 'appended 5..6', 'the next append')
    const { batches, head, mark, truncated } = await trial.page(store, streamId)
    assertEqual(
      batches.map(({ first, last, mark, body }) => ({ first, last, mark, body })),
      [
        { first: 1, last: 3, mark: writer.epoch, body: batch('a', 'b', 'c').body },
        { first: 4, last: 4, mark: nonce.nonce, body: batch('d').body },
        { first: 5, last: 6, mark: writer.epoch, body: batch('e', 'f').body },
      ],
      'the batches',
    )
    assertEqual({ head, mark, truncated }, { head: 6, mark: writer.epoch, truncated: null }, 'the head')
  }),

  define(1, 'concurrent appends get contiguous batches without gap or overlap', async trial => {
    const handles = await trial.opened(HANDLES)
    const streamId = await trial.log(handles[0] as LogStore)
    const acked = (await Promise.all(handles.map((store, i) => appendRounds(store, streamId, `${i}`)))).flat()
    const { batches, head } = await trial.page(handles[0] as LogStore, streamId)
    gapFree(batches, head)
    const stored = batches.map(found => `${formatRange(found)} ${textsOf(found.body).join()}`)
    const acknowledged = acked.map(({ first, last, texts }) => `${formatRange({ first, last })} ${texts.join()}`)
    const inOrder = (a: string, b: string) => Number.parseInt(a, 10) - Number.parseInt(b, 10)
    assertEqual(stored, acknowledged.sort(inOrder), 'the log, compared with the acknowledgements')
  }),

  define(1, 'a page is a consistent read while other writers append', async trial => {
    const [reader, ...writers] = (await trial.opened(HANDLES)) as [LogStore, ...LogStore[]]
    const streamId = await trial.log(reader)
    let writing = true
    const work = Promise.all(writers.map((store, i) => appendRounds(store, streamId, `${i}`))).finally(() => {
      writing = false
    })
    const readWhileWriting = async () => {
      let known: readonly StoredBatch[] = []
      while (writing) {
        const { batches, head, mark } = await trial.page(reader, streamId)
        gapFree(batches, head)
        assertEqual(batches.slice(0, known.length), known, 'the batches of the previous read')
        assertEqual(mark, batches.at(-1)?.mark ?? '0', 'the mark of the head')
        known = batches
      }
    }
    await Promise.all([work, readWhileWriting()])
  }),

  define(1, 'timestamps come from the clock of the store and never decrease', async trial => {
    const handles = await trial.opened(HANDLES)
    const [store] = handles as [LogStore]
    const streamId = await trial.log(store)
    const before = (await trial.head(store, streamId)).clock
    const results: AppendResult[] = []
    for (const _ of Array(ROUNDS))
      results.push(...(await Promise.all(handles.map(each => each.append(streamId, batch('x'), guest())))))
    const { batches, clock } = await trial.page(store, streamId)
    neverBack([before, ...batches.map(({ timestamp }) => timestamp), clock])
    areTimestamps(results, batches)
    const result = await store.append(streamId, batch('x'), guest())
    neverBack([clock, 'clock' in result ? result.clock : Number.NaN, (await trial.head(store, streamId)).clock])
  }),

  define(
    1,
    'timestamps do not decrease when the clock is moved back',
    async trial => {
      const store = await trial.open()
      const streamId = await trial.log(store)
      const writer = await trial.writer(store, streamId)
      const results: AppendResult[] = []
      for (const ms of [-60_000, 20_000, 30_000, 10_000]) {
        results.push(await store.append(streamId, batch('x'), guest()), await writer.append(batch('y')))
        await trial.subject.advance?.(ms)
      }
      const { batches } = await trial.page(store, streamId)
      neverBack(batches.map(({ timestamp }) => timestamp))
      areTimestamps(results, batches)
    },
    { alone: true, needs: ['advance'] },
  ),

  define(1, 'logs do not share sequences, incarnations or entries', async trial => {
    const store = await trial.open()
    const ids = await Promise.all(['a', 'b', 'c'].map(label => trial.log(store, label)))
    const results = await Promise.all(ids.flatMap(id => [1, 2].map(() => store.append(id, batch(id), guest()))))
    assertEqual(
      results.map(describeAppend).sort(),
      [1, 2].flatMap(n => ids.map(() => `appended ${n}..${n}`)).sort(),
      'the appends',
    )
    for (const id of ids) {
      const { batches } = await trial.page(store, id)
      assertEqual(
        batches.flatMap(({ body }) => textsOf(body)),
        [id, id],
        'the entries of one log',
      )
    }
  }),
]

interface Acked {
  readonly first: number
  readonly last: number
  readonly texts: string[]
}

async function appendRounds(store: LogStore, streamId: string, actor: string): Promise<Acked[]> {
  const acked: Acked[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const texts = Array.from({ length: 1 + (round % 4) }, (_, i) => `${actor}-${round}-${i}`)
    const result = await store.append(streamId, batch(...texts), guest())
    if (result.outcome !== 'appended') assertEqual(describeAppend(result), 'appended', 'a valid append')
    else acked.push({ first: result.first, last: result.last, texts })
  }
  return acked
}

function gapFree(batches: readonly StoredBatch[], head: number): void {
  let last = 0
  for (const found of batches) {
    assertEqual(found.first, last + 1, `the first sequence of the batch after ${last}`)
    assertEqual(
      found.last - found.first + 1,
      textsOf(found.body).length,
      `the entries of the batch at ${formatRange(found)}`,
    )
    last = found.last
  }
  assertEqual(head, last, 'the head')
}

function neverBack(times: readonly number[]): void {
  for (const [i, time] of times.entries())
    assertTrue(i === 0 ? time > 0 : time >= (times[i - 1] as number), 'timestamps never decrease', times)
}

/** Each append answered with the timestamp of its batch. */
function areTimestamps(results: readonly AppendResult[], batches: readonly StoredBatch[]): void {
  const answered = results.map(result => ('clock' in result ? [result.last, result.clock] : []))
  const stored = batches.map(({ last, timestamp }) => [last, timestamp])
  assertEqual(answered.sort(byFirst), stored.sort(byFirst), 'the sequence and the timestamp that each append returned')
}

const byFirst = ([a = 0]: readonly number[], [b = 0]: readonly number[]): number => a - b
