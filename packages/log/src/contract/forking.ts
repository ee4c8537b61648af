import type { Cursor } from '@millrace/protocol'
import type { Fork, LogStore, StoredBatch } from '../store/log-store.ts'
import { assertEqual, assertTrue, describeAppend, formatRange } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import { LONG_MS, type Trial } from './trial.ts'
import { batch, guest, move, textsOf } from './writer.ts'

const FORK: Fork = { principal: null, ticket: { state: 'forked', due: { at: null, program: null } }, closing: null }

/** The interface, law 2: a fork is a separate log that starts as a copy of a prefix. */
export const forking: readonly ContractCase[] = [
  define(
    'interface',
    'fork: has the entries up to its position, also inside a batch, and its own ticket',
    async trial => {
      const setup = await setUp(trial)
      const { store, source, at } = setup
      const { batches: all, clock } = await trial.page(store, source)
      for (const forkAt of [0, 1, 2, 3, 4, 5, 6]) {
        const target = trial.id(`fork-${forkAt}`)
        assertEqual(
          await store.fork(source, forkAt, target, { ...FORK, principal: 'bob' }),
          'forked',
          `a fork at ${forkAt}`,
        )
        const page = await trial.page(store, target)
        const { head, mark, floor, version, ticket, principal, lease, incarnation, truncated } = page
        const { epoch } = at(forkAt)
        assertEqual(
          { head, mark, floor, version, ticket, principal, lease, truncated },
          {
            ...{ head: forkAt, mark: epoch, floor: 0, version: `${forkAt}.${incarnation}.${epoch}`, ticket: 'forked' },
            ...{ principal: 'bob', lease: null, truncated: null },
          },
          `the head of a fork at ${forkAt}`,
        )
        assertEqual(
          page.batches.map(entriesOf),
          all.filter(({ first }) => first <= forkAt).map(cutAt(forkAt)),
          'the batches of the fork',
        )
        assertTrue(
          clock <= page.createdAt && page.createdAt === page.touchedAt,
          'the fork was created and touched now',
          page,
        )
        assertEqual(
          (await trial.page(store, target, { ...at(forkAt), incarnation })).truncated,
          null,
          'a cursor at the end of the fork',
        )
      }
    },
  ),

  define('interface', 'fork: ends with the closing batch, if any, and the ticket follows it', async trial => {
    const { store, source, at } = await setUp(trial)
    const { batches: all } = await trial.page(store, source)
    for (const forkAt of [0, 2, 5, 6]) {
      const target = trial.id(`fork-${forkAt}`)
      const closing = { batch: batch('closing', 'time'), nonce: 'closer' }
      assertEqual(await store.fork(source, forkAt, target, { ...FORK, closing }), 'forked', `a fork at ${forkAt}`)
      const { head, mark, version, ticket, incarnation, batches } = await trial.page(store, target)
      assertEqual(
        { head, mark, version, ticket },
        { head: forkAt + 2, mark: 'closer', version: `${forkAt + 2}.${incarnation}.closer`, ticket: 'forked' },
        `the head of a closed fork at ${forkAt}`,
      )
      assertEqual(
        batches.slice(0, -1).map(entriesOf),
        all.filter(({ first }) => first <= forkAt).map(cutAt(forkAt)),
        'the copy',
      )
      const [end] = (await trial.page(store, target, { ...at(forkAt), incarnation })).batches
      assertEqual(
        [formatRange(end), end?.mark, end?.body],
        [formatRange(lastTwo(head)), 'closer', closing.batch.body],
        'the closing batch of the fork',
      )
      assertTrue(
        (end?.timestamp ?? 0) >= (batches.at(-2)?.timestamp ?? 0),
        'the time of the closing batch is not before that of the copied batches',
        batches,
      )
      assertEqual(
        describeAppend(await store.append(target, batch('x'), guest())),
        `appended ${head + 1}..${head + 1}`,
        'an append',
      )
    }
  }),

  define(2, 'fork: has a new incarnation, so that cursors of its source are truncated', async trial => {
    const { store, source, at } = await setUp(trial)
    const forks = [trial.id('one'), trial.id('two')]
    for (const target of forks) await store.fork(source, 6, target, FORK)
    const incarnations = await Promise.all(
      [source, ...forks].map(async id => (await trial.head(store, id)).incarnation),
    )
    assertEqual(new Set(incarnations).size, 3, 'the number of incarnations')
    for (const sequence of [0, 3, 6]) {
      assertEqual((await trial.page(store, forks[0] as string, at(sequence))).truncated, 'incarnation', `${sequence}`)
    }
  }),

  define(4, 'fork: has no lease and no epoch, and its source keeps both', async trial => {
    const { store, source, writer } = await setUp(trial)
    const target = trial.id('fork')
    await store.fork(source, 6, target, FORK)
    const { incarnation } = await trial.head(store, target)
    for (const counter of [writer.counter, writer.counter + 1]) {
      const by = { ...writer.by, counter, lastAcked: { ...writer.lastAcked, incarnation } }
      assertEqual(
        describeAppend(await store.append(target, batch('x'), by)),
        'fenced',
        "an append of the source's writer to the fork",
      )
    }
    assertEqual(await store.renew(target, writer.epoch, LONG_MS), undefined, "renew of the source's writer on the fork")
    const forkWriter = await trial.writer(store, target)
    assertEqual(
      describeAppend(await forkWriter.append(batch('x'))),
      'appended 7..7',
      "an append of the fork's own writer",
    )
    assertEqual(
      describeAppend(await writer.append(batch('y'))),
      'appended 7..7',
      "an append of the source's writer to the source",
    )
  }),

  define('interface', 'fork: continues after its position, and reads cross it', async trial => {
    const { store, source, at } = await setUp(trial)
    const target = trial.id('fork')
    await store.fork(source, 5, target, FORK)
    const { version, incarnation } = await trial.head(store, target)
    const by = guest()
    assertEqual(
      describeAppend(await store.append(target, batch('x'), by, move(version, 'two'))),
      'appended 6..6',
      'an append to the fork',
    )
    const { batches, ...page } = await trial.page(store, target)
    assertEqual([page.ticket, page.version], ['two', `6.${incarnation}.${by.nonce}`], 'the ticket of the fork')
    assertEqual(batches.map(formatRange), ['1..2', '3..3', '4..5', '6..6'], 'the batches of the fork')
    const after = await trial.page(store, target, { ...at(5), incarnation })
    assertEqual(
      [after.truncated, after.batches.map(formatRange)],
      [null, ['6..6']],
      'the batches after the fork position',
    )
    assertEqual(textsOf(after.batches[0]?.body ?? '[]'), ['x'], 'the entries after the fork position')
    assertEqual(
      (await trial.page(store, target, { ...at(6), incarnation })).truncated,
      'epoch',
      "the source's mark at 6",
    )
  }),

  define('interface', 'fork: copies the keys, snapshots and blobs that belong to its entries', async trial => {
    const { store, source } = await setUp(trial)
    await store.append(source, batch('late'), guest('late'))
    for (const sequence of [2, 3, 7]) await store.putSnapshot(source, snapshotAt(sequence), 9)
    await store.putBlob(source, 'hash', new Uint8Array([1, 2, 3]))
    const target = trial.id('fork')
    await store.fork(source, 6, target, FORK)
    assertEqual(formatRange(await store.find(target, 'key')), '3..3', 'a key of an entry that was copied')
    assertEqual(await store.find(target, 'late'), undefined, 'a key of an entry that was not')
    assertEqual(
      describeAppend(await store.append(target, batch('c'), guest('key'))),
      'duplicate 3..3',
      'an append under a copied key',
    )
    assertEqual(
      describeAppend(await store.append(target, batch('l'), guest('late'))),
      'appended 7..7',
      'an append under a key that was not copied',
    )
    assertEqual(
      await store.getSnapshot(target, Number.MAX_SAFE_INTEGER),
      snapshotAt(3),
      'the newest snapshot of the fork',
    )
    assertEqual(await store.getSnapshot(target, 2), snapshotAt(2), 'an older snapshot of the fork')
    assertEqual([...((await store.getBlob(target, 'hash')) ?? [])], [1, 2, 3], 'a blob of the fork')
  }),

  define('interface', 'fork: of a trimmed log starts at its floor or later', async trial => {
    const { store, source, at } = await setUp(trial)
    await store.append(source, batch('g'), guest('late', true))
    await store.trim(source, 3)
    assertEqual(await store.fork(source, 2, trial.id('below'), FORK), 'out-of-range', 'a fork below the floor')
    assertEqual(
      await store.read(trial.id('below'), { sequence: 0 }, { batches: 1, bytes: 1 }),
      undefined,
      'read of the target of a refused fork',
    )
    for (const forkAt of [3, 5, 7]) {
      const target = trial.id(`fork-${forkAt}`)
      assertEqual(await store.fork(source, forkAt, target, FORK), 'forked', `a fork at ${forkAt}`)
      const { head, floor, incarnation } = await trial.head(store, target)
      assertEqual([head, floor], [forkAt, 3], `the head and the floor of a fork at ${forkAt}`)
      const proven = await trial.page(store, target, { ...at(3), incarnation })
      const [, expected] =
        [
          [3, []],
          [5, ['4..5']],
          [7, ['4..6', '7..7']],
        ].find(([n]) => n === forkAt) ?? []
      assertEqual([proven.truncated, proven.batches.map(formatRange)], [null, expected], 'a read at its floor')
      assertEqual((await trial.page(store, target)).truncated, 'below-floor', 'a read below its floor')
      assertEqual(
        describeAppend(await store.append(target, batch('x'), guest())),
        `appended ${forkAt + 1}..${forkAt + 1}`,
        'an append',
      )
    }
  }),

  define(5, 'fork: copies a key that was kept past a trim', async trial => {
    const store = await trial.open()
    const source = await trial.log(store, 'source')
    await store.append(source, batch('a'), guest('kept', true))
    await store.append(source, batch('b'), guest('gone'))
    await store.append(source, batch('c'), guest())
    await store.trim(source, 2)
    const target = trial.id('fork')
    await store.fork(source, 3, target, FORK)
    assertEqual(formatRange(await store.find(target, 'kept')), '1..1', 'a kept key')
    assertEqual(await store.find(target, 'gone'), undefined, 'a key whose entry was trimmed')
    await store.trim(target, 3)
    assertEqual(formatRange(await store.find(target, 'kept')), '1..1', 'a kept key after a trim of the fork')
  }),

  define(
    'interface',
    'fork: reports a missing source, an existing target and an invalid position, and makes nothing',
    async trial => {
      const { store, source } = await setUp(trial)
      const other = await trial.log(store, 'other', 'ann')
      const before = await trial.page(store, other)
      const target = trial.id('target')
      assertEqual(await store.fork(trial.id('absent'), 0, target, FORK), 'absent', 'a fork of a missing log')
      assertEqual(
        await store.fork(source, 3, other, { ...FORK, principal: 'bob' }),
        'exists',
        'a fork into an existing log',
      )
      assertEqual(
        await store.fork(source, 3, source, { ...FORK, principal: 'bob' }),
        'exists',
        'a fork into its source',
      )
      assertEqual(await store.fork(source, 7, target, FORK), 'out-of-range', 'a fork above the head')
      assertEqual({ ...(await trial.page(store, other)), clock: 0 }, { ...before, clock: 0 }, 'the existing log')
      assertEqual(await store.read(target, { sequence: 0 }, { batches: 1, bytes: 1 }), undefined, 'the target')
    },
  ),

  define('interface', 'fork: shares nothing with its source', async trial => {
    const { store, source } = await setUp(trial)
    await store.putSnapshot(source, snapshotAt(2), 9)
    await store.putBlob(source, 'hash', new Uint8Array([1]))
    const target = trial.id('fork')
    await store.fork(source, 6, target, FORK)
    const fork = await trial.page(store, target)

    await store.append(source, batch('s'), guest('of-source'))
    await store.trim(source, 4)
    await store.putSnapshot(source, { ...snapshotAt(2), body: 'changed' }, 1)
    await store.putBlob(source, 'of-source', new Uint8Array([2]))
    assertEqual(
      { ...(await trial.page(store, target)), clock: 0 },
      { ...fork, clock: 0 },
      'the fork after changes of the source',
    )
    assertEqual(await store.find(target, 'of-source'), undefined, 'a later key of the source')
    assertEqual(await store.getSnapshot(target, 9), snapshotAt(2), 'a snapshot of the fork')
    assertEqual(await store.getBlob(target, 'of-source'), undefined, 'a later blob of the source')

    const { floor, head } = await trial.head(store, source)
    await store.append(target, batch('t', 'u'), guest('of-fork'), move(fork.version, 'two'))
    await store.putBlob(target, 'of-fork', new Uint8Array([3]))
    await store.putSnapshot(target, snapshotAt(7), 9)
    await store.trim(target, 7)
    const { floor: floorAfter, head: headAfter, ticket } = await trial.head(store, source)
    assertEqual([floorAfter, headAfter, ticket], [floor, head, 'one'], 'the source after changes of the fork')
    assertEqual(await store.find(source, 'of-fork'), undefined, 'a key of the fork, in the source')
    assertEqual(await store.getBlob(source, 'of-fork'), undefined, 'a blob of the fork, in the source')
    assertEqual((await store.getSnapshot(source, 99))?.body, 'changed', 'the newest snapshot of the source')
    await store.remove(target)
    assertEqual(
      (await trial.page(store, source, { sequence: 4 })).batches.map(formatRange),
      ['4..6', '7..7'],
      'the source after the removal of the fork',
    )
  }),

  define('interface', 'fork: outlives the removal of its source', async trial => {
    const { store, source } = await setUp(trial)
    await store.putSnapshot(source, snapshotAt(3), 9)
    await store.putBlob(source, 'hash', new Uint8Array([1]))
    const target = trial.id('fork')
    await store.fork(source, 6, target, FORK)
    const fork = await trial.page(store, target)
    await store.remove(source)
    assertEqual({ ...(await trial.page(store, target)), clock: 0 }, { ...fork, clock: 0 }, 'the fork')
    assertEqual(formatRange(await store.find(target, 'key')), '3..3', 'the key in the fork')
    assertEqual(await store.getSnapshot(target, 9), snapshotAt(3), 'the snapshot of the fork')
    assertEqual([...((await store.getBlob(target, 'hash')) ?? [])], [1], 'the blob of the fork')
  }),

  define('interface', 'fork: is due by its own ticket, also while its source has a lease', async trial => {
    const { store, source } = await setUp(trial)
    const program = trial.name('program')
    const target = trial.id('fork')
    await store.fork(source, 3, target, { ...FORK, ticket: { state: 's', due: { at: 'now', program } } })
    assertEqual(
      (await store.due([program], 10_000)).filter(id => id === target),
      [target],
      'the due logs',
    )
  }),

  define('interface', 'fork: one of several concurrent forks into one target is made', async trial => {
    const handles = await trial.opened(4)
    const [store] = handles as [LogStore]
    const source = await trial.log(store, 'source')
    for (let i = 1; i <= 8; i++) await store.append(source, batch(`${i}`), guest())
    const target = trial.id('fork')
    const append = (async () => {
      for (let i = 0; i < 8; i++) await store.append(source, batch('more'), guest())
    })()
    const forks = handles.map((each, i) => each.fork(source, 5 + i, target, { ...FORK, principal: `p${i}` }))
    const [results] = await Promise.all([Promise.all(forks), append])
    const winner = results.indexOf('forked')
    assertEqual(
      results,
      handles.map((_, i) => (i === winner ? 'forked' : 'exists')),
      'the forks',
    )
    const { principal, head, batches } = await trial.page(store, target)
    assertEqual([principal, head], [`p${winner}`, 5 + winner], 'the fork')
    assertEqual(
      batches.flatMap(({ body }) => textsOf(body)),
      Array.from({ length: head }, (_, i) => `${i + 1}`),
      'the entries of the fork',
    )
  }),
]

const snapshotAt = (sequence: number) => ({ sequence, mark: `m${sequence}`, version: 1, body: `{"at":${sequence}}` })

const lastTwo = (head: number) => ({ first: head - 1, last: head })

/** A batch with only the elements that its sequences cover. */
function entriesOf({ first, last, timestamp, mark, body }: StoredBatch) {
  return { first, last, timestamp, mark, texts: textsOf(body).slice(0, last - first + 1) }
}

const cutAt = (sequence: number) => (found: StoredBatch) =>
  entriesOf({ ...found, last: Math.min(found.last, sequence) })

/** A log of the writer's 1..2, a guest's 3 and the writer's 4..6, under a lease. */
async function setUp(trial: Trial) {
  const store: LogStore = await trial.open()
  const source = await trial.log(store, 'source', 'ann')
  const writer = await trial.writer(store, source)
  const { version, incarnation } = await trial.head(store, source)
  const by = guest('key')
  await writer.append(batch('a', 'b'), move(version, 'one'))
  await store.append(source, batch('c'), by)
  await writer.append(batch('d', 'e', 'f'))
  const at = (sequence: number): Cursor => {
    return { sequence, incarnation, epoch: sequence === 0 ? '0' : sequence === 3 ? by.nonce : writer.epoch }
  }
  return { store, source, writer, at }
}
