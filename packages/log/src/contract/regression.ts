import type { Cursor } from '@millrace/protocol'
import type { LogStore } from '../store/log-store.ts'
import { assertEqual, assertTrue, describeAppend } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import { LONG_MS, SHORT_MS, type Trial } from './trial.ts'
import { batch, guest, move } from './writer.ts'

/** Law 4: a log that lost acknowledged entries reports it and starts a new incarnation. */
export const regression: readonly ContractCase[] = [
  define(
    4,
    'finds acknowledged entries of the writer and of guests, inside a batch, at the start and at the floor',
    async trial => {
      const store = await trial.open()
      for (const floor of [0, 2, 3, 4]) {
        for (const sequence of [0, 1, 2, 3, 4].filter(each => each >= floor)) {
          const setup = await setUp(trial, store, `${floor}-${sequence}`)
          await store.trim(setup.streamId, floor)
          const result = await setup.appendAfter(setup.at(sequence))
          assertEqual(
            describeAppend(result),
            'appended 5..5',
            `an append whose last acknowledged is ${sequence}, with the floor ${floor}`,
          )
        }
      }
    },
  ),

  define(4, 'a trimmed entry counts as present', async trial => {
    const store = await trial.open()
    const { streamId, at, appendAfter } = await setUp(trial, store, 'log')
    await store.trim(streamId, 4)
    assertEqual(
      describeAppend(await appendAfter(at(2))),
      'appended 5..5',
      'an append whose last acknowledged entry was trimmed',
    )
  }),

  define(4, 'a log without the last acknowledged entry has regressed', async trial => {
    const store = await trial.open()
    const lost: ((at: (sequence: number) => Cursor) => Cursor)[] = [
      at => ({ ...at(4), sequence: 5 }),
      at => ({ ...at(4), sequence: 900 }),
      at => ({ ...at(4), incarnation: 'another' }),
      at => ({ ...at(4), epoch: 'another' }),
      at => ({ ...at(2), epoch: at(3).epoch }),
      at => ({ ...at(3), epoch: at(2).epoch }),
      at => ({ ...at(0), incarnation: 'another' }),
      at => ({ ...at(0), epoch: 'another' }),
    ]
    for (const [i, lostCursor] of lost.entries()) {
      const { streamId, at, appendAfter } = await setUp(trial, store, `log-${i}`)
      const cursor = lostCursor(at)
      assertEqual(
        describeAppend(await appendAfter(cursor)),
        'regressed',
        `an append with the last acknowledged ${JSON.stringify(cursor)}`,
      )
      const { incarnation, head } = await trial.head(store, streamId)
      assertTrue(incarnation !== at(0).incarnation, 'the incarnation is new', incarnation)
      assertEqual(head, 4, 'the head')
    }
  }),

  define(2, 'cursors from before a regression are truncated', async trial => {
    const store = await trial.open()
    const { streamId, at, appendAfter } = await setUp(trial, store, 'log')
    await appendAfter({ ...at(4), sequence: 9 })
    for (const sequence of [0, 1, 2, 3, 4, 9]) {
      const { truncated, batches } = await trial.page(store, streamId, at(sequence))
      assertEqual([truncated, batches], ['incarnation', []], `the cursor at ${sequence}`)
    }
    const { truncated, batches } = await trial.page(store, streamId, { sequence: 4 })
    assertEqual(
      [truncated, batches],
      [null, []],
      'a read after a sequence without an incarnation, which is not checked',
    )
  }),

  define(4, 'a new claim continues a regressed log after its last entry, with the same ticket', async trial => {
    const store = await trial.open()
    const { streamId, epoch, at, appendAfter } = await setUp(trial, store, 'log')
    const { version } = await trial.head(store, streamId)
    await appendAfter({ ...at(4), sequence: 9 })
    assertEqual(await store.renew(streamId, epoch, LONG_MS), undefined, 'renew of the epoch that regressed')
    assertEqual(describeAppend(await appendAfter(at(4))), 'fenced', 'an append of the writer that regressed')
    const next = await trial.writer(store, streamId, LONG_MS, true)
    assertEqual(
      (await trial.head(store, streamId)).version,
      version,
      'the version, with the incarnation in which it was set',
    )
    assertEqual(
      describeAppend(await next.append(batch('e'), move(version, 'two'))),
      'appended 5..5',
      'an append of the next writer',
    )
    const { version: second, incarnation, ticket } = await trial.head(store, streamId)
    assertEqual([second, ticket], [`5.${incarnation}.${next.epoch}`, 'two'], 'the ticket')
    assertEqual(
      describeAppend(await store.append(streamId, batch('f'), guest('key'))),
      'duplicate 3..3',
      'a key from before the regression',
    )
  }),

  define(4, 'drivers find a regressed log at the latest when its lease expires', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const program = trial.name('program')
    const writer = await trial.writer(store, streamId, SHORT_MS)
    const { version } = await trial.head(store, streamId)
    await writer.append(batch('a'), move(version, 's', { at: 'now', program }))
    writer.lastAcked = { ...writer.lastAcked, sequence: 9 }
    assertEqual(describeAppend(await writer.append(batch('b'))), 'regressed', 'an append with a lost entry')
    await trial.reach(store, streamId, writer.until)
    assertEqual(
      await store.due([program], 1000).then(ids => ids.filter(id => id === streamId)),
      [streamId],
      'the due logs',
    )
  }),
]

/** A log of the writer's 1..2, a guest's 3 and the writer's 4. */
async function setUp(trial: Trial, store: LogStore, label: string) {
  const streamId = await trial.log(store, label)
  const writer = await trial.writer(store, streamId)
  const { version, incarnation } = await trial.head(store, streamId)
  const by = guest('key')
  await writer.append(batch('a', 'b'), move(version, 'one'))
  await store.append(streamId, batch('c'), by)
  await writer.append(batch('d'))
  const { epoch, counter } = writer
  const at = (sequence: number): Cursor => {
    return { sequence, incarnation, epoch: sequence === 0 ? '0' : sequence === 3 ? by.nonce : epoch }
  }
  const appendAfter = (lastAcked: Cursor) =>
    store.append(streamId, batch('next'), { epoch, counter: counter + 1, lastAcked })
  return { streamId, epoch, at, appendAfter }
}
