import type { Fork, LogStore, Page } from '../store/log-store.ts'
import { assertEqual, assertRejects, assertTrue, codeOf, describeAppend } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import { LONG_MS, type Trial } from './trial.ts'
import { batch, guest, move } from './writer.ts'

const FORK: Fork = { principal: null, ticket: { state: '', due: { at: null, program: null } }, closing: null }

/** Laws 2 and 4: removal of a log, restored backups and closed handles. */
export const removal: readonly ContractCase[] = [
  define('interface', 'remove: deletes everything of a log and returns whether it existed', async trial => {
    const { store, streamId, writer, principal } = await setUp(trial)
    const { version } = await trial.head(store, streamId)
    assertEqual(await store.remove(streamId), true, 'remove of an existing log')
    assertEqual(await store.remove(streamId), false, 'remove of an absent log')
    assertEqual(await store.read(streamId, { sequence: 0 }, { batches: 9, bytes: 999 }), undefined, 'read')
    assertEqual(await store.find(streamId, 'key'), undefined, 'find')
    assertEqual(await store.getSnapshot(streamId, 9), undefined, 'getSnapshot')
    assertEqual(await store.getBlob(streamId, 'hash'), undefined, 'getBlob')
    assertEqual((await store.list(principal, 9)).streams, [], 'list')
    assertEqual(describeAppend(await writer.append(batch('x'))), 'fenced', "an append of the removed log's writer")
    assertEqual(
      describeAppend(await store.append(streamId, batch('x'), guest('key'))),
      'moved',
      "a guest's append under a known key",
    )
    assertEqual(
      describeAppend(await store.append(streamId, batch('x'), guest(), move(version, 's'))),
      'moved',
      "a guest's append",
    )
    assertEqual((await store.claim(streamId, 'me', LONG_MS, true)).outcome, 'absent', 'claim')
    assertEqual(await store.renew(streamId, writer.epoch, LONG_MS), undefined, 'renew')
    assertEqual(await store.fork(streamId, 0, trial.id('fork'), FORK), 'absent', 'fork')
  }),

  define(5, 'remove: with a version, deletes the log only if the ticket still has that version', async trial => {
    const { store, streamId, writer } = await setUp(trial)
    const before = await trial.page(store, streamId)
    const { version: first, incarnation } = before
    for (const version of ['', `0.${incarnation}.0`, `${first}x`, `1.another.${writer.epoch}`]) {
      assertEqual(await store.remove(streamId, version), false, `remove on the version '${version}'`)
    }
    assertEqual(
      { ...(await trial.page(store, streamId)), clock: 0 },
      { ...before, clock: 0 },
      'the log after the refused removals',
    )
    await writer.append(batch('d'), move(first, 'two'))
    assertEqual(await store.remove(streamId, first), false, 'remove on the version before the last move')
    const { version } = await trial.head(store, streamId)
    await writer.append(batch('e'))
    assertEqual(await store.remove(streamId, version), true, 'remove on the current version')
    assertEqual(
      await store.read(streamId, { sequence: 0 }, { batches: 9, bytes: 999 }),
      undefined,
      'read after the removal',
    )
    assertEqual(await store.remove(streamId, version), false, 'remove of an absent log')
  }),

  define(5, 'remove: of a concurrent removal and ticket move on one version exactly one wins', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    for (let round = 0; round < 8; round++) {
      const streamId = await trial.log(store, `log-${round}`)
      const { version } = await trial.head(store, streamId)
      const remove = () => store.remove(streamId, version)
      const append = () => other.append(streamId, batch('x'), guest(), move(version, 's'))
      const [removed, { outcome }] = await (round % 2
        ? Promise.all([remove(), append()])
        : Promise.all([append(), remove()]).then(([result, gone]) => [gone, result] as const))
      assertEqual(outcome, removed ? 'moved' : 'appended', `an append beside a remove that returned ${removed}`)
      const page = await store.read(streamId, { sequence: 0 }, { batches: 9, bytes: 999 })
      assertEqual(page?.head, removed ? undefined : 1, 'the head of the log')
    }
  }),

  define('interface', 'remove: a concurrent append leaves nothing behind', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const principal = trial.name('ann')
    const program = trial.name('program')
    for (let round = 0; round < 8; round++) {
      const streamId = await trial.log(store, 'log', principal)
      const { version } = await trial.head(store, streamId)
      const due = move(version, 's', { at: 'now', program })
      const appends = [
        () => other.append(streamId, batch('x'), guest('key'), due),
        () => other.putBlob(streamId, 'hash', new Uint8Array([1])),
        () => other.putSnapshot(streamId, { sequence: 0, mark: '0', version: 1, body: '{}' }, 1),
        () => other.claim(streamId, 'me', LONG_MS, false),
      ]
      const calls: (() => Promise<unknown>)[] = [...appends]
      calls.splice(round % 5, 0, () => store.remove(streamId))
      await Promise.all(calls.map(call => call()))
      assertEqual(
        await store.read(streamId, { sequence: 0 }, { batches: 9, bytes: 999 }),
        undefined,
        'read after the removal',
      )
      assertEqual((await store.list(principal, 9)).streams, [], 'list after the removal')
      assertEqual((await store.due([program], 10_000)).includes(streamId), false, 'whether it is due after the removal')
      await store.create(streamId, null)
      const { head, ticket, lease, batches } = await trial.page(store, streamId)
      assertEqual(
        { head, ticket, lease, batches },
        { head: 0, ticket: '', lease: null, batches: [] },
        'the log, created again',
      )
      assertEqual(await store.find(streamId, 'key'), undefined, 'the key')
      assertEqual(await store.getBlob(streamId, 'hash'), undefined, 'the blob')
      assertEqual(await store.getSnapshot(streamId, 9), undefined, 'the snapshot')
      await store.remove(streamId)
    }
  }),

  define(2, 'remove: a log created again under the same id is a different log', async trial => {
    const { store, streamId, writer } = await setUp(trial)
    const before = await trial.page(store, streamId)
    await store.remove(streamId)
    assertEqual(await store.create(streamId, null), true, 'create after remove')
    const { incarnation, head, mark, floor, version, ticket, principal, lease, batches } = await trial.page(
      store,
      streamId,
    )
    assertTrue(incarnation !== before.incarnation, 'the incarnation is new', incarnation)
    assertEqual(
      { head, mark, floor, version, ticket, principal, lease, batches },
      {
        ...{ head: 0, mark: '0', floor: 0, version: `0.${incarnation}.0`, ticket: '', principal: null, lease: null },
        batches: [],
      },
      'the new log',
    )
    assertEqual(await store.find(streamId, 'key'), undefined, 'a key of the old log')
    assertEqual(await store.getSnapshot(streamId, 9), undefined, 'a snapshot of the old log')
    assertEqual(await store.getBlob(streamId, 'hash'), undefined, 'a blob of the old log')

    assertEqual(describeAppend(await writer.append(batch('x'))), 'fenced', "an append of the old log's writer")
    assertEqual(await store.renew(streamId, writer.epoch, LONG_MS), undefined, 'renew of the old writer')
    const stale = move(before.version, 's')
    assertEqual(
      describeAppend(await store.append(streamId, batch('x'), guest(), stale)),
      'moved',
      'an append on the old version',
    )
    assertEqual(
      describeAppend(await store.append(streamId, batch('x', 'y', 'z'), guest('key'))),
      'appended 1..3',
      'an append under an old key',
    )
    for (const { last, mark } of before.batches) {
      const cursor = { sequence: last, incarnation: before.incarnation, epoch: mark }
      const page = await trial.page(store, streamId, cursor)
      assertEqual([page.truncated, page.batches], ['incarnation', []], `an old cursor at ${last}`)
    }
    const next = await trial.writer(store, streamId)
    assertTrue(next.epoch !== writer.epoch, 'the epoch is new', next.epoch)
    await store.release(streamId, writer.epoch)
    assertEqual(
      describeAppend(await next.append(batch('w'))),
      'appended 4..4',
      'the new writer, after a release by the old',
    )
  }),

  define(
    2,
    'restored: gives every log a new incarnation, ends leases and epochs, and leaves the rest unchanged',
    async trial => {
      const { store, streamId, writer } = await setUp(trial)
      const program = trial.name('program')
      const { version: first } = await trial.head(store, streamId)
      await writer.append(batch('d'), move(first, 'two', { at: 'now', program }))
      const trimmed = await trial.log(store, 'trimmed')
      await store.append(trimmed, batch('a', 'b'), guest())
      await store.trim(trimmed, 1)
      const ids = [streamId, trimmed, await trial.log(store, 'empty')]
      const before = await Promise.all(ids.map(id => trial.page(store, id, { sequence: id === trimmed ? 1 : 0 })))
      const count = await store.restored()

      const all = await Promise.all(ids.map(id => trial.page(store, id, { sequence: id === trimmed ? 1 : 0 })))
      const kept = ({ lease: _, clock: __, incarnation: ___, ...rest }: Page) => rest
      assertEqual(all.map(kept), before.map(kept), 'all but the leases and the incarnations')
      assertEqual(
        new Set([...before, ...all].map(({ incarnation }) => incarnation)).size,
        6,
        'the number of incarnations',
      )
      assertEqual(
        all.map(({ lease }) => lease),
        [null, null, null],
        'the leases',
      )
      assertEqual(
        (await store.due([program], 10_000)).filter(id => id === streamId),
        [streamId],
        'the due logs',
      )
      for (const { last, mark } of before[0]?.batches ?? []) {
        const cursor = { sequence: last, incarnation: before[0]?.incarnation ?? '', epoch: mark }
        assertEqual((await trial.page(store, streamId, cursor)).truncated, 'incarnation', `an old cursor at ${last}`)
      }
      assertEqual(describeAppend(await writer.append(batch('x'))), 'fenced', "an append of the old epoch's writer")
      assertEqual(await store.renew(streamId, writer.epoch, LONG_MS), undefined, 'renew of the old epoch')
      const next = await trial.writer(store, streamId)
      assertEqual(
        describeAppend(await next.append(batch('e'), move(all[0]?.version ?? '', 's'))),
        'appended 5..5',
        'the next writer',
      )
      assertEqual(
        describeAppend(await store.append(streamId, batch('x'), guest('key'))),
        'duplicate 2..2',
        'a key from before the restore',
      )

      await trial.log(store, 'another')
      assertEqual(await store.restored(), count + 1, 'the number of logs, with one that was added')
      const other = await trial.open()
      await trial.close(other)
      await assertRejects(other.restored(), 'closed', 'restored by a handle that was closed')
    },
    { alone: true },
  ),

  define('interface', 'close: rejects every call of this handle; other handles continue', async trial => {
    const { store, streamId, writer } = await setUp(trial)
    const other = await trial.open()
    await trial.close(other)
    const snapshot = { sequence: 0, mark: '0', version: 1, body: '' }
    const calls: Record<string, () => Promise<unknown>> = {
      create: () => other.create(trial.id('new'), null),
      append: () => other.append(streamId, batch('x'), guest()),
      read: () => other.read(streamId, { sequence: 0 }, { batches: 1, bytes: 1 }),
      find: () => other.find(streamId, 'key'),
      claim: () => other.claim(streamId, 'me', LONG_MS, true),
      renew: () => other.renew(streamId, writer.epoch, LONG_MS),
      release: () => other.release(streamId, writer.epoch),
      due: () => other.due([], 1),
      putSnapshot: () => other.putSnapshot(streamId, snapshot, 1),
      getSnapshot: () => other.getSnapshot(streamId, 9),
      putBlob: () => other.putBlob(streamId, 'other', new Uint8Array([1])),
      getBlob: () => other.getBlob(streamId, 'hash'),
      trim: () => other.trim(streamId, 1),
      fork: () => other.fork(streamId, 0, trial.id('fork'), FORK),
      list: () => other.list(null, 1),
      remove: () => other.remove(streamId),
    }
    for (const [name, call] of Object.entries(calls))
      await assertRejects(call(), 'closed', `${name} of a closed handle`)
    assertEqual(await store.create(trial.id('new'), null), true, 'a log that a closed handle was asked to create')
    assertEqual(describeAppend(await writer.append(batch('d'))), 'appended 4..4', 'an append by another handle')
  }),

  define('interface', 'close: wakes the watchers of this handle, and their reads reject with closed', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const ids = [await trial.log(store), trial.id('absent')]
    const removedBy = new Set<number>()
    for (const [i, streamId] of [...ids, ...ids].entries()) {
      const read = () => other.read(streamId, { sequence: 0 }, { batches: 0, bytes: 1 })
      other.watch(streamId, () => void read().catch(error => codeOf(error) === 'closed' && removedBy.add(i)))
    }
    await trial.close(other)
    await trial.until('each of 4 watchers got the closed error of its handle', async () => removedBy.size === 4)
  }),

  define('interface', 'close: ends the watches of this handle only', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const streamId = await trial.log(store)
    const closed = trial.follow(other, streamId)
    const stays = trial.follow(store, streamId)
    await store.append(streamId, batch('a'), guest())
    await Promise.all([closed, stays].map(each => each.sees('an append', page => page?.head === 1)))
    await trial.close(other)
    const { wakes } = closed
    await store.append(streamId, batch('b'), guest())
    await stays.sees('an append after another handle was closed', page => page?.head === 2)
    assertEqual(closed.wakes - wakes, 0, 'the wake-ups of a closed handle')
    closed.stop()
  }),
]

/** A log with 1 and 3 by its writer, 2 by a guest, a snapshot, a blob and a lease. */
async function setUp(trial: Trial) {
  const store: LogStore = await trial.open()
  const principal = trial.name('ann')
  const streamId = await trial.log(store, 'log', principal)
  const writer = await trial.writer(store, streamId)
  const { version } = await trial.head(store, streamId)
  await writer.append(batch('a'), move(version, 'one'))
  await store.append(streamId, batch('b'), guest('key', true))
  await writer.append(batch('c'))
  await store.putSnapshot(streamId, { sequence: 2, mark: 'm', version: 1, body: '{}' }, 3)
  await store.putBlob(streamId, 'hash', new Uint8Array([1, 2, 3]))
  return { store, streamId, writer, principal }
}
