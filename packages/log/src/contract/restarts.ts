import { setImmediate as turn } from 'node:timers/promises'
import type { AppendResult, Batch, GuestAppend, LogStore, WriterAppend } from '../store/log-store.ts'
import { assertEqual, describeAppend, formatRange } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import { LONG_MS, type Trial } from './trial.ts'
import { batch, guest, move, textsOf } from './writer.ts'

const RESTARTS = { alone: true, needs: ['restart'] } as const

/** Laws 2, 4 and 5 across a restart of the server: acknowledged entries survive, and retries are duplicates. */
export const restarts: readonly ContractCase[] = [
  define(
    2,
    'restart: acknowledged data is unchanged',
    async trial => {
      const store = await trial.open()
      const principal = trial.name('ann')
      const program = trial.name('program')
      const streamId = await trial.log(store, 'log', principal)
      const due = await trial.log(store, 'due', principal)
      const writer = await trial.writer(store, streamId)
      const { version } = await trial.head(store, streamId)
      await writer.append(batch('a', 'b'), move(version, 'one', { at: 'now', program }))
      await store.append(streamId, batch('c'), guest('key'))
      await store.append(streamId, batch('d'), guest('late'))
      await store.putSnapshot(streamId, { sequence: 2, mark: 'm', version: 1, body: '{}' }, 3)
      await store.putBlob(streamId, 'hash', new Uint8Array([0, 255]))
      await store.trim(streamId, 1)
      const { version: first } = await trial.head(store, due)
      await store.append(due, batch('x'), guest(), move(first, 's', { at: 'now', program }))
      await writer.append(batch('e'))
      const before = await trial.page(store, streamId, { sequence: 1 })
      const list = await store.list(principal, 9)

      await trial.subject.restart?.()
      const other = await trial.open()
      const after = await trial.available(() => trial.page(other, streamId, { sequence: 1 }))
      assertEqual({ ...after, clock: 0 }, { ...before, clock: 0 }, 'the log')
      assertEqual(after.batches.map(formatRange), ['1..2', '3..3', '4..4', '5..5'], 'the batches after the restart')
      assertEqual(formatRange(await other.find(streamId, 'key')), '3..3', 'a key')
      assertEqual((await other.getSnapshot(streamId, 9))?.sequence, 2, 'the snapshot')
      assertEqual([...((await other.getBlob(streamId, 'hash')) ?? [])], [0, 255], 'the blob')
      assertEqual(await other.list(principal, 9), list, 'the list')
      assertEqual(
        (await other.due([program], 10_000)).filter(id => id === due || id === streamId),
        [due],
        'the due logs',
      )
      assertEqual((await trial.page(other, streamId, writer.lastAcked)).truncated, null, 'the last cursor')

      const again = { ...writer.by, counter: writer.counter }
      const repeated = await trial.available(() => store.append(streamId, batch('e'), again))
      assertEqual(describeAppend(repeated), 'duplicate 5..5', "the writer's last append, repeated")
      assertEqual(describeAppend(await writer.append(batch('f'))), 'appended 6..6', "the writer's next append")
      assertEqual(
        describeAppend(await other.append(streamId, batch('c'), guest('key'))),
        'duplicate 3..3',
        'a repeated append with a key',
      )
    },
    RESTARTS,
  ),

  define(
    1,
    'restart: appends in flight exist once each, and a retry returns their sequences',
    async trial => {
      const handles = await trial.opened(3)
      const [store] = handles as [LogStore]
      const streamId = await trial.log(store)
      const acked = new Map<string, string>()
      let working = true
      const append = async (each: LogStore, text: string, by: WriterAppend | GuestAppend): Promise<AppendResult> => {
        const result = await insist(trial, each, streamId, batch(text, 'tail'), by)
        // A store that answers without yielding to the event loop would block the other calls.
        await turn()
        acked.set(text, 'first' in result ? formatRange(result) : result.outcome)
        return result
      }
      const guests = handles.slice(1).map(async (each, i) => {
        for (let n = 0; working; n++) await append(each, `guest-${i}-${n}`, guest(`key-${i}-${n}`))
      })
      const write = async () => {
        const writer = await trial.writer(store, streamId, LONG_MS)
        for (let n = 0; working; n++) {
          const result = await append(store, `writer-${n}`, writer.by)
          if (!('first' in result)) return
          writer.counter++
          writer.lastAcked = { ...writer.lastAcked, sequence: result.last, epoch: writer.epoch }
        }
      }
      const restart = async () => {
        await trial.until('appends were made', async () => acked.size > 20)
        await trial.subject.restart?.()
        const { size } = acked
        await trial.until('appends succeed again', async () => acked.size > size + 20)
      }
      await Promise.all([restart().finally(() => (working = false)), write(), ...guests])

      const { batches, head } = await trial.page(await trial.open(), streamId)
      const found = new Map(batches.map(each => [textsOf(each.body)[0] ?? '', formatRange(each)]))
      const byName = (map: Map<string, string>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1))
      assertEqual(byName(found), byName(acked), 'the batches, compared with the acknowledgements')
      assertEqual([batches.length, head], [acked.size, 2 * acked.size], 'the number of batches and the head')
    },
    RESTARTS,
  ),

  define(
    2,
    'restart: a watch continues and misses no later append',
    async trial => {
      const store = await trial.open()
      const streamId = await trial.log(store)
      const follower = trial.follow(store, streamId)
      await store.append(streamId, batch('a'), guest())
      await follower.sees('an append before the restart', page => page?.head === 1)
      await trial.subject.restart?.()
      const other = await trial.open()
      for (const head of [2, 3, 4]) {
        const by = guest()
        await insist(trial, other, streamId, batch('b'), by)
        await follower.sees(`append ${head}, after the restart`, page => page?.head === head)
      }
    },
    RESTARTS,
  ),
]

/** Retries an append under the same key or counter until it gets an answer. */
const insist = (trial: Trial, store: LogStore, id: string, added: Batch, by: WriterAppend | GuestAppend) =>
  trial.available(() => store.append(id, added, by))
