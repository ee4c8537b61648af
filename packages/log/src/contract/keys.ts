import type { LogStore } from '../store/log-store.ts'
import { assertEqual, describeAppend, formatRange } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import { batch, guest, move } from './writer.ts'

/** Law 5: a repeated append is a duplicate with its first sequences. */
export const keys: readonly ContractCase[] = [
  define(5, "a guest's key is found, with its sequences, from every handle", async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const streamId = await trial.log(store)
    const neighbour = await trial.log(store, 'neighbour')
    const writer = await trial.writer(store, streamId)
    await writer.append(batch('a'))
    await store.append(streamId, batch('b', 'c'), guest('key'))
    await store.append(streamId, batch('d'), guest('other'))
    for (const each of [store, other]) {
      assertEqual(formatRange(await each.find(streamId, 'key')), '2..3', 'the sequences of a key')
      assertEqual(formatRange(await each.find(streamId, 'other')), '4..4', 'the sequences of another key')
      assertEqual(await each.find(streamId, 'unknown'), undefined, 'an unknown key')
      assertEqual(await each.find(streamId, writer.epoch), undefined, 'the epoch of the writer, searched as a key')
      assertEqual(await each.find(neighbour, 'key'), undefined, 'the key in another log')
    }
    assertEqual(
      describeAppend(await other.append(neighbour, batch('x'), guest('key'))),
      'appended 1..1',
      'the same key in another log',
    )
    assertEqual(
      describeAppend(await other.append(streamId, batch('y'), guest('key'))),
      'duplicate 2..3',
      'a repeated append with the key',
    )
  }),

  define(
    5,
    'one of several concurrent appends under one key is appended, and all return its sequences',
    async trial => {
      const handles = await trial.opened(4)
      const [store] = handles as [LogStore]
      const streamId = await trial.log(store)
      for (let round = 1; round <= 6; round++) {
        const { version } = await trial.head(store, streamId)
        const sends = handles.map((each, i) =>
          each.append(streamId, batch(`${i}`), guest(`key-${round}`), i % 2 ? move(version, `${round}`) : undefined),
        )
        const expectedRange = `${round}..${round}`
        const results = (await Promise.all(sends)).map(describeAppend).sort()
        assertEqual(
          results,
          [`appended ${expectedRange}`, ...Array(3).fill(`duplicate ${expectedRange}`)],
          'the appends under one key',
        )
      }
      assertEqual((await trial.head(store, streamId)).head, 6, 'the head')
    },
  ),

  define(5, "a writer's append sent twice concurrently is appended once", async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const streamId = await trial.log(store)
    const writer = await trial.writer(store, streamId)
    for (let round = 1; round <= 6; round++) {
      const { by } = writer
      const { version } = await trial.head(store, streamId)
      const ticket = move(version, `${round}`)
      const sends = [writer.append(batch('x', 'y'), ticket), other.append(streamId, batch('x', 'y'), by, ticket)]
      const results = (await Promise.all(sends)).map(describeAppend).sort()
      const expectedRange = `${2 * round - 1}..${2 * round}`
      assertEqual(results, [`appended ${expectedRange}`, `duplicate ${expectedRange}`], 'the two sends')
      writer.counter = by.counter
      writer.lastAcked = { ...by.lastAcked, sequence: 2 * round, epoch: writer.epoch }
    }
    assertEqual((await trial.head(store, streamId)).head, 12, 'the head')
  }),

  define(5, 'a duplicate does not move the ticket again', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const writer = await trial.writer(store, streamId)
    const { version } = await trial.head(store, streamId)
    await store.append(streamId, batch('a'), guest('key'), move(version, 'one'))
    const { version: second } = await trial.head(store, streamId)
    const { by } = writer
    await writer.append(batch('b'), move(second, 'two', { at: null, program: 'p' }))
    const before = await trial.page(store, streamId)
    const due = { at: 'now', program: trial.name('program') } as const
    for (const ifVersion of [version, second, before.version]) {
      const again = move(ifVersion, 'again', due)
      assertEqual(
        describeAppend(await store.append(streamId, batch('a'), guest('key'), again)),
        'duplicate 1..1',
        "a guest's repeated append",
      )
      assertEqual(
        describeAppend(await store.append(streamId, batch('b'), by, again)),
        'duplicate 2..2',
        "a writer's repeated append",
      )
    }
    assertEqual(
      { ...(await trial.page(store, streamId)), clock: 0 },
      { ...before, clock: 0 },
      'the log after the duplicates',
    )
    assertEqual((await store.due([due.program], 1000)).includes(streamId), false, 'whether the log became due')
  }),

  define(5, "a writer's append is recognised by its counter until the next one is appended", async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const writer = await trial.writer(store, streamId)
    const first = writer.by
    await writer.append(batch('a', 'b'))
    assertEqual(
      describeAppend(await store.append(streamId, batch('other'), first)),
      'duplicate 1..2',
      'a repeated counter with another body',
    )
    await store.append(streamId, batch('c'), guest())
    assertEqual(
      describeAppend(await store.append(streamId, batch('a', 'b'), first)),
      'duplicate 1..2',
      "a repeated append, after a guest's append",
    )
    const second = writer.by
    await writer.append(batch('d'))
    assertEqual(
      describeAppend(await store.append(streamId, batch('a', 'b'), first)),
      'fenced',
      'a repeated append that is not the last',
    )
    assertEqual(
      describeAppend(await store.append(streamId, batch('d'), second)),
      'duplicate 4..4',
      'a repeated last append',
    )
    assertEqual((await trial.head(store, streamId)).head, 4, 'the head')
  }),
]
