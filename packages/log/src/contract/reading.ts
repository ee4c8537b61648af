import type { Cursor } from '@millrace/protocol'
import type { LogStore, Page, ReadLimit } from '../store/log-store.ts'
import { assertEqual, assertTrue, describeAppend, formatRange } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import { ALL, HEAD_ONLY, type Trial } from './trial.ts'
import { batch, batchOf, type ContractWriter, guest } from './writer.ts'

/** Laws 2 and 8: checks of a cursor, and limits of a read. */
export const reading: readonly ContractCase[] = [
  define(2, 'a read returns all whole batches that end after the cursor', async trial => {
    const { store, streamId, at } = await three(trial)
    const expected = ['1..2 3..3 4..6', '1..2 3..3 4..6', '3..3 4..6', '4..6', '4..6', '4..6', '']
    for (const [sequence, ranges] of expected.entries()) {
      for (const cursor of [{ sequence }, at(sequence)]) {
        const page = await trial.page(store, streamId, cursor)
        assertEqual(page.truncated, null, `a cursor at ${sequence}`)
        assertEqual(page.batches.map(formatRange).join(' '), ranges, `the batches after ${sequence}`)
      }
    }
  }),

  define(2, 'a cursor of another incarnation is truncated, before all other reasons', async trial => {
    const { store, streamId, at } = await three(trial)
    await store.trim(streamId, 1)
    for (const sequence of [0, 1, 2, 6, 7]) {
      for (const epoch of [at(sequence).epoch, 'another']) {
        await truncates(trial, store, streamId, { sequence, incarnation: 'another', epoch }, 'incarnation')
      }
    }
  }),

  define(2, 'a cursor with another mark than the entry there is truncated', async trial => {
    const { store, streamId, writer, at } = await three(trial)
    for (const sequence of [0, 1, 2, 3, 4, 5, 6]) {
      await truncates(trial, store, streamId, { ...at(sequence), epoch: 'another' }, 'epoch')
    }
    await truncates(trial, store, streamId, { ...at(3), epoch: writer.epoch }, 'epoch')
    await truncates(trial, store, streamId, { ...at(4), epoch: at(3).epoch }, 'epoch')
    await truncates(trial, store, streamId, { ...at(6), epoch: '0' }, 'epoch')
  }),

  define(2, 'a cursor past the head is truncated instead of an empty page', async trial => {
    const { store, streamId, writer, at } = await three(trial)
    for (const sequence of [7, 8, 1_000_000]) {
      await truncates(trial, store, streamId, { ...at(6), sequence }, 'past-head')
      await truncates(trial, store, streamId, { ...at(6), sequence, epoch: 'another' }, 'past-head')
      await truncates(trial, store, streamId, { sequence }, 'past-head')
    }
    await writer.append(batch('g'))
    assertEqual(
      (await trial.page(store, streamId, { sequence: 7 })).truncated,
      null,
      'the cursor once the log has grown',
    )

    const empty = await trial.log(store, 'empty')
    await truncates(trial, store, empty, { sequence: 1 }, 'past-head')
    await truncates(trial, store, empty, { ...(await cursorOf(trial, store, empty)), sequence: 1 }, 'past-head')
  }),

  define(2, 'a cursor below the floor is truncated, one at the floor is not', async trial => {
    const { store, streamId, at } = await three(trial)
    await store.trim(streamId, 3)
    for (const sequence of [0, 1, 2]) {
      await truncates(trial, store, streamId, at(sequence), 'below-floor')
      await truncates(trial, store, streamId, { sequence }, 'below-floor')
    }
    for (const cursor of [at(3), { sequence: 3 }]) {
      const page = await trial.page(store, streamId, cursor)
      assertEqual(page.truncated, null, 'a cursor at the floor')
      assertEqual(page.batches.map(formatRange).join(' '), '4..6', 'the batches after the floor')
    }
    await truncates(trial, store, streamId, { ...at(3), epoch: 'another' }, 'epoch')
  }),

  define(2, 'a cursor of an empty log is proven by the mark 0', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const cursor = await cursorOf(trial, store, streamId)
    assertEqual(cursor.epoch, '0', 'the mark of an empty log')
    assertEqual((await trial.page(store, streamId, cursor)).truncated, null, 'the cursor of an empty log')
    await truncates(trial, store, streamId, { ...cursor, epoch: 'another' }, 'epoch')
    await store.append(streamId, batch('a'), guest())
    const page = await trial.page(store, streamId, cursor)
    assertEqual(
      [page.truncated, page.batches.map(formatRange).join()],
      [null, '1..1'],
      'the same cursor after an append',
    )
  }),

  define(2, 'a truncated page still contains the head', async trial => {
    const { store, streamId, at } = await three(trial)
    const { incarnation } = at(0)
    const { head, mark, floor, truncated, ...page } = await trial.page(store, streamId, { ...at(6), sequence: 9 })
    assertEqual(
      { head, mark, floor, truncated, incarnation: page.incarnation, version: page.version },
      { head: 6, mark: at(6).epoch, floor: 0, truncated: 'past-head', incarnation, version: `0.${incarnation}.0` },
      'the head of a truncated page',
    )
  }),

  define(8, 'a read returns at most the requested batches; zero reads only the head', async trial => {
    const { store, streamId, at } = await three(trial)
    const gives = async (limit: ReadLimit, ranges: string, cursor = at(0)) => {
      const page = await trial.page(store, streamId, cursor, limit)
      assertEqual(
        [page.batches.map(formatRange).join(' '), page.head],
        [ranges, 6],
        `a read of ${limit.batches} batches`,
      )
    }
    await gives({ ...ALL, batches: 1 }, '1..2')
    await gives({ ...ALL, batches: 2 }, '1..2 3..3')
    await gives({ ...ALL, batches: 3 }, '1..2 3..3 4..6')
    await gives({ ...ALL, batches: 1 }, '4..6', at(4))
    await gives(HEAD_ONLY, '')
    const beyondHead = await trial.page(store, streamId, { ...at(6), sequence: 9 }, HEAD_ONLY)
    assertEqual(beyondHead.truncated, 'past-head', 'a read of the head alone still proves its cursor')
  }),

  define(8, 'a read stops after the batch that reaches the byte limit, and returns at least one batch', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    for (let i = 0; i < 8; i++) await store.append(streamId, batchOf(1000), guest())
    const readSizes = async (bytes: number, sequence = 0, batches = ALL.batches) => {
      const page = await trial.page(store, streamId, { sequence }, { batches, bytes })
      assertEqual(page.batches[0]?.first, sequence + 1, `the first batch of a read after ${sequence}`)
      return page.batches.length
    }
    assertEqual([await readSizes(1), await readSizes(1, 7)], [1, 1], 'the batches of a read of one byte')
    assertEqual(await readSizes(100_000), 8, 'the batches of a read of more bytes than there are')
    const some = await readSizes(4000)
    assertTrue(some >= 2 && some <= 6, 'a read of 4,000 bytes gives about four batches of 1,000', some)
    assertEqual(
      [await readSizes(100_000, 0, 2), await readSizes(1, 0, 2)],
      [2, 1],
      'the smaller of the two limits counts',
    )
  }),

  define(2, 'reading page by page returns every batch once', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const writer = await trial.writer(store, streamId)
    for (let i = 0; i < 24; i++) {
      const one = batch(...Array.from({ length: 1 + (i % 3) }, (_, j) => `${i}-${j}`))
      assertEqual(
        describeAppend(await (i % 2 ? writer.append(one) : store.append(streamId, one, guest()))).slice(0, 8),
        'appended',
        'append',
      )
    }
    const whole = await trial.page(store, streamId)
    for (const limit of [
      { ...ALL, batches: 1 },
      { ...ALL, batches: 7 },
      { ...ALL, bytes: 60 },
    ]) {
      let cursor = await cursorOf(trial, store, streamId, 0)
      const paged = []
      for (;;) {
        const { batches, truncated, incarnation } = await trial.page(store, streamId, cursor, limit)
        assertEqual(truncated, null, `a cursor at ${cursor.sequence}`)
        const end = batches.at(-1)
        if (end === undefined || paged.length > whole.batches.length) break
        paged.push(...batches)
        cursor = { sequence: end.last, incarnation, epoch: end.mark }
      }
      assertEqual(paged, whole.batches, `the log in pages of ${JSON.stringify(limit)}`)
    }
  }),
]

/** A log of the writer's 1..2, a guest's 3 and the writer's 4..6. */
async function three(trial: Trial) {
  const store = await trial.open()
  const streamId = await trial.log(store)
  const writer: ContractWriter = await trial.writer(store, streamId)
  const by = guest()
  await writer.append(batch('a', 'b'))
  await store.append(streamId, batch('c'), by)
  await writer.append(batch('d', 'e', 'f'))
  const { incarnation } = writer.lastAcked
  const at = (sequence: number): Cursor => {
    const epoch = sequence === 0 ? '0' : sequence === 3 ? by.nonce : writer.epoch
    return { sequence, incarnation, epoch }
  }
  return { store, streamId, writer, at }
}

async function truncates(
  trial: Trial,
  store: LogStore,
  streamId: string,
  after: Parameters<LogStore['read']>[1],
  reason: Page['truncated'],
): Promise<void> {
  const { truncated, batches } = await trial.page(store, streamId, after)
  assertEqual({ truncated, batches }, { truncated: reason, batches: [] }, `a read after ${JSON.stringify(after)}`)
}

async function cursorOf(trial: Trial, store: LogStore, streamId: string, sequence?: number): Promise<Cursor> {
  const { incarnation, head, mark } = await trial.head(store, streamId)
  return sequence === undefined ? { sequence: head, incarnation, epoch: mark } : { sequence, incarnation, epoch: '0' }
}
