import type { Cursor } from '@millrace/protocol'
import type { LogStore } from '../store/log-store.ts'
import { assertEqual, describeAppend, formatRange } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import type { Trial } from './trial.ts'
import { batch, guest, move } from './writer.ts'

/** Law 12 in a store: effects of a trim. */
export const trimming: readonly ContractCase[] = [
  define(
    12,
    'trim: raises the floor to the requested sequence, never lowers it and never passes the head',
    async trial => {
      const { store, streamId } = await setUp(trial)
      for (const [to, floor] of [
        [0, 0],
        [2, 2],
        [1, 2],
        [0, 2],
        [2, 2],
        [5, 5],
        [900, 6],
        [3, 6],
      ] as const) {
        await store.trim(streamId, to)
        const page = await trial.head(store, streamId)
        assertEqual([page.floor, page.head], [floor, 6], `the floor and the head after trim to ${to}`)
      }
      const empty = await trial.log(store, 'empty')
      await store.trim(empty, 5)
      assertEqual((await trial.head(store, empty)).floor, 0, 'the floor of an empty log')
    },
  ),

  define(12, 'trim: entries above the floor are read as before', async trial => {
    const store = await trial.open()
    for (const floor of [1, 2, 3, 4, 5, 6]) {
      const { streamId, at } = await setUp(trial, store, `log-${floor}`)
      const before = await trial.page(store, streamId)
      await store.trim(streamId, floor)
      const kept = before.batches.filter(({ last }) => last > floor)
      for (const cursor of [at(floor), { sequence: floor }]) {
        const { truncated, batches } = await trial.page(store, streamId, cursor)
        assertEqual([truncated, batches], [null, kept], `a read at the floor ${floor}`)
      }
      const { clock, version } = before
      const head = { ...before, floor, clock, version, batches: [], truncated: 'below-floor' }
      assertEqual({ ...(await trial.head(store, streamId)), clock, version }, head, `the head after a trim to ${floor}`)
    }
  }),

  define(12, 'trim: a floor inside a batch is proven by the mark of that batch', async trial => {
    const { store, streamId, at } = await setUp(trial)
    await store.trim(streamId, 5)
    assertEqual(
      (await trial.page(store, streamId, at(5))).batches.map(formatRange),
      ['4..6'],
      'the batch around the floor',
    )
    const read = async (cursor: Cursor) => (await trial.page(store, streamId, cursor)).truncated
    assertEqual(await read({ ...at(5), epoch: 'another' }), 'epoch', 'another mark at the floor')
    assertEqual(await read(at(6)), null, 'a cursor above the floor in that batch')
    assertEqual(await read(at(4)), 'below-floor', 'a cursor below the floor in that batch')
  }),

  define(1, 'trim: sequences continue after a trim of everything', async trial => {
    const { store, streamId, writer, at } = await setUp(trial)
    await store.trim(streamId, 6)
    const { batches, mark } = await trial.page(store, streamId, at(6))
    assertEqual([batches, mark], [[], writer.epoch], 'the batches and the mark after a trim of everything')
    assertEqual(describeAppend(await writer.append(batch('g'))), 'appended 7..7', "the writer's next append")
    assertEqual(describeAppend(await store.append(streamId, batch('h'), guest())), 'appended 8..8', "a guest's append")
    assertEqual((await trial.page(store, streamId, at(6))).batches.map(formatRange), ['7..7', '8..8'], 'the batches')
  }),

  define(2, 'trim: a concurrent reader gets every entry or a truncated page', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const streamId = await trial.log(store)
    const writer = await trial.writer(store, streamId)
    for (let i = 0; i < 30; i++) await writer.append(batch(`${i}`, `${i}'`))
    let trimming = true
    const trim = async () => {
      for (let floor = 1; floor < 60; floor += 3) await other.trim(streamId, floor)
      trimming = false
    }
    const readWhileTrimming = async () => {
      const { incarnation } = writer.lastAcked
      let sequence = 0
      while (trimming) {
        const cursor = { sequence, incarnation, epoch: sequence === 0 ? '0' : writer.epoch }
        const { truncated, floor, batches } = await trial.page(store, streamId, cursor, { batches: 3, bytes: 1000 })
        assertEqual(
          truncated,
          sequence < floor ? 'below-floor' : null,
          `a cursor at ${sequence} with the floor ${floor}`,
        )
        const [first = { first: 0, last: 0 }] = batches
        const next = first.first <= sequence + 1 && first.last > sequence
        assertEqual(
          next,
          truncated === null,
          `whether the entry after ${sequence} is in ${batches.map(formatRange).join(' ')}`,
        )
        sequence = floor
      }
    }
    await Promise.all([trim(), readWhileTrimming()])
  }),

  define(5, 'trim: deletes the keys of its entries except kept ones', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const names = ['gone', 'kept', 'partly', 'stays']
    for (const [i, name] of names.entries()) {
      const added = name === 'partly' ? batch('x', 'y') : batch('x')
      assertEqual(
        describeAppend(await store.append(streamId, added, guest(name, name === 'kept'))).slice(0, 8),
        'appended',
        `append ${i}`,
      )
    }
    await store.trim(streamId, 3)
    const found = await Promise.all(names.map(async name => formatRange(await store.find(streamId, name))))
    assertEqual(found, ['none', '2..2', '3..4', '5..5'], `the keys ${names.join()}`)
    const again = []
    for (const name of ['kept', 'partly', 'stays', 'gone']) {
      again.push(describeAppend(await store.append(streamId, batch('again'), guest(name))))
    }
    assertEqual(again, ['duplicate 2..2', 'duplicate 3..4', 'duplicate 5..5', 'appended 6..6'], 'the repeated appends')
    await store.trim(streamId, 6)
    assertEqual(formatRange(await store.find(streamId, 'kept')), '2..2', 'a kept key after a second trim')
  }),

  define(5, "trim: a writer's last append is still known", async trial => {
    const { store, streamId, writer } = await setUp(trial)
    const again = { ...writer.by, counter: writer.counter }
    await store.trim(streamId, 6)
    assertEqual(
      describeAppend(await store.append(streamId, batch('d', 'e', 'f'), again)),
      'duplicate 4..6',
      'the last append, repeated',
    )
  }),

  define(12, 'trim: with a version, drops entries only if the ticket still has that version', async trial => {
    const { store, streamId, writer } = await setUp(trial)
    const { version } = await trial.head(store, streamId)
    await writer.append(batch('g'), move(version, 'two'))
    const before = await trial.page(store, streamId)
    for (const other of [version, '', `${before.version}~2`]) {
      assertEqual(await store.trim(streamId, 2, other), false, `a trim on the version '${other}'`)
    }
    assertEqual(
      { ...(await trial.page(store, streamId)), clock: 0 },
      { ...before, clock: 0 },
      'the log after the refused trims',
    )
    assertEqual(await store.trim(streamId, 2, before.version), true, 'a trim on the version of the ticket')
    const { floor, version: next } = await trial.head(store, streamId)
    assertEqual(floor, 2, 'the floor after the trim')
    assertEqual(await store.trim(streamId, 2, before.version), false, 'a repeated trim on the old version')
    assertEqual(await store.trim(streamId, 2, next), true, 'a trim to the current floor')
    assertEqual(await store.trim(streamId, 1), true, 'a trim to below the floor, without a version')
    assertEqual(await store.trim(trial.id('absent'), 1), false, 'a trim of an absent log')
    assertEqual(await store.trim(trial.id('absent'), 1, next), false, 'a trim of an absent log, on a version')
  }),

  define(12, 'trim: a decision on the version before the trim is refused as moved', async trial => {
    const { store, streamId, writer } = await setUp(trial)
    const seen = new Set([(await trial.head(store, streamId)).version])
    for (const floor of [2, 3, 6]) {
      const before = await trial.head(store, streamId)
      await store.trim(streamId, floor)
      const after = await trial.head(store, streamId)
      assertEqual(seen.has(after.version), false, `whether the version after a trim to ${floor} was there before`)
      seen.add(after.version)
      assertEqual([after.ticket, after.touchedAt], ['one', before.touchedAt], 'the ticket and touchedAt after the trim')
      const late = move(before.version, 'late')
      assertEqual(
        describeAppend(await store.append(streamId, batch('x'), guest(), late)),
        'moved',
        "a guest's append on the version before the trim",
      )
      assertEqual(
        describeAppend(await writer.append(batch('x'), late)),
        'moved',
        "a writer's append on the version before the trim",
      )
      assertEqual(await store.remove(streamId, before.version), false, 'a removal on the version before the trim')
      await store.trim(streamId, floor)
      assertEqual(
        (await trial.head(store, streamId)).version,
        after.version,
        'the version after a trim that left the floor',
      )
    }
    const { version, incarnation } = await trial.head(store, streamId)
    assertEqual(
      describeAppend(await writer.append(batch('g'), move(version, 'two'))),
      'appended 7..7',
      'an append on the version',
    )
    assertEqual(
      (await trial.head(store, streamId)).version,
      `7.${incarnation}.${writer.epoch}`,
      'the version after the append',
    )
  }),

  define(12, 'trim: leaves snapshots and blobs', async trial => {
    const { store, streamId } = await setUp(trial)
    const snapshot = { sequence: 2, mark: 'm', version: 1, body: '{}' }
    await store.putSnapshot(streamId, snapshot, 3)
    await store.putBlob(streamId, 'hash', new Uint8Array([1, 2]))
    await store.trim(streamId, 6)
    assertEqual(await store.getSnapshot(streamId, 6), snapshot, 'a snapshot below the floor')
    assertEqual([...((await store.getBlob(streamId, 'hash')) ?? [])], [1, 2], 'a blob')
  }),
]

/** A log of the writer's 1..2, a guest's 3 and the writer's 4..6. */
async function setUp(trial: Trial, existingStore?: LogStore, label?: string) {
  const store = existingStore ?? (await trial.open())
  const streamId = await trial.log(store, label)
  const writer = await trial.writer(store, streamId)
  const { version, incarnation } = await trial.head(store, streamId)
  const by = guest()
  await writer.append(batch('a', 'b'), move(version, 'one'))
  await store.append(streamId, batch('c'), by)
  await writer.append(batch('d', 'e', 'f'))
  const at = (sequence: number): Cursor => ({ sequence, incarnation, epoch: sequence === 3 ? by.nonce : writer.epoch })
  return { store, streamId, writer, at }
}
