import type { LogStore } from '../store/log-store.ts'
import { assertEqual } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import { LONG_MS, type Trial } from './trial.ts'
import { batch, guest, textsOf } from './writer.ts'

/** Law 2, live: every change of a log after `watch` wakes, from any handle. */
export const watching: readonly ContractCase[] = [
  define(2, 'watch: every append wakes, from the same handle', trial => appendsWake(trial, 'same')),
  define(2, 'watch: every append wakes, from another handle', trial => appendsWake(trial, 'other')),

  define(2, 'watch: an append right after the start of the watch wakes', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    for (let i = 0; i < 8; i++) {
      const streamId = await trial.log(store, `log-${i}`)
      const follower = trial.follow(store, streamId)
      const appended = (i % 2 ? store : other).append(streamId, batch('a'), guest())
      await Promise.all([appended, follower.sees('an append at once after the watch', page => page?.head === 1)])
      follower.stop()
    }
  }),

  define(2, 'watch: the last of many appends wakes', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const streamId = await trial.log(store)
    const follower = trial.follow(store, streamId)
    for (let round = 1; round <= 4; round++) {
      await Promise.all(Array.from({ length: 10 }, () => other.append(streamId, batch('a'), guest())))
      await follower.sees(`the last of ${10 * round} appends`, page => page?.head === 10 * round)
    }
  }),

  define(2, 'watch: a claim, a trim and a removal wake, from any handle', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    for (const [i, by] of [store, other].entries()) {
      const streamId = await trial.log(store, `log-${i}`)
      await store.append(streamId, batch('a', 'b'), guest())
      const follower = trial.follow(store, streamId)
      await by.claim(streamId, 'first', LONG_MS, false)
      await follower.sees('a claim', page => page?.lease?.owner === 'first')
      await by.claim(streamId, 'second', LONG_MS, true)
      await follower.sees('a takeover', page => page?.lease?.owner === 'second')
      await by.trim(streamId, 1)
      await follower.sees('a trim', page => page?.floor === 1)
      await by.remove(streamId)
      await follower.sees('a removal', page => page === undefined)
    }
  }),

  define(
    2,
    'watch: a release, a fork into the log and a restoration wake',
    async trial => {
      const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
      const source = await trial.log(other, 'source')
      const streamId = trial.id('fork')
      const follower = trial.follow(store, streamId)
      const ticket = { state: '', due: { at: null, program: null } }
      await other.fork(source, 0, streamId, { principal: null, ticket, closing: null })
      await follower.sees('a fork', page => page !== undefined)
      const claim = await other.claim(streamId, 'owner', LONG_MS, false)
      await follower.sees('a claim', page => page?.lease?.owner === 'owner')
      await other.release(streamId, claim.outcome === 'claimed' ? claim.epoch : '')
      await follower.sees('a release', page => page?.lease === null)
      const { incarnation } = await trial.head(store, streamId)
      await other.restored()
      await follower.sees('a restoration', page => page?.incarnation !== incarnation)
    },
    { alone: true },
  ),

  define(2, 'watch: an append that finds the log regressed wakes, from any handle', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    for (const [i, by] of [store, other].entries()) {
      const streamId = await trial.log(store, `log-${i}`)
      const writer = await trial.writer(by, streamId)
      const { incarnation } = writer.lastAcked
      const follower = trial.follow(store, streamId)
      writer.lastAcked = { ...writer.lastAcked, sequence: 7 }
      assertEqual((await writer.append(batch('a'))).outcome, 'regressed', 'an append after an absent entry')
      await follower.sees('the new incarnation', page => page?.incarnation !== incarnation)
    }
  }),

  define(2, 'watch: continues when the log is created and removed', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const streamId = trial.id()
    const follower = trial.follow(store, streamId)
    for (const n of [1, 2]) {
      await other.create(streamId, null)
      await Promise.all(Array.from({ length: n }, () => other.append(streamId, batch('a'), guest())))
      await follower.sees(`an append to a log made ${n} times`, page => page?.head === n)
      await other.remove(streamId)
      await follower.sees('its removal', page => page === undefined)
    }
  }),

  define(2, 'watch: many watchers of one log, and watchers of many logs, are each woken', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const ids = await Promise.all(['a', 'b', 'c'].map(label => trial.log(store, label)))
    const followers = ids.flatMap(id => [store, store, store, other, other].map(each => trial.follow(each, id)))
    for (const head of [1, 2, 3]) {
      await Promise.all(ids.map(id => other.append(id, batch('x'), guest())))
      await Promise.all(followers.map(each => each.sees(`append ${head}`, page => page?.head === head)))
    }
  }),

  define(2, 'watch: stop ends only its own watch', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const streamId = await trial.log(store)
    const wake = counter()
    const stopped = [store.watch(streamId, wake.call), store.watch(streamId, wake.call)]
    const stays = trial.follow(store, streamId)
    await other.append(streamId, batch('a'), guest())
    await stays.sees('an append', page => page?.head === 1)
    for (const stop of stopped) stop()
    const before = wake.count
    await other.append(streamId, batch('b'), guest())
    await stays.sees('an append after another watch was stopped', page => page?.head === 2)
    await store.append(streamId, batch('c'), guest())
    await stays.sees('an append by the same handle after another watch was stopped', page => page?.head === 3)
    assertEqual(wake.count - before, 0, 'the wake-ups after stop')
    for (const stop of stopped) stop()
    const again = trial.follow(store, streamId)
    await other.append(streamId, batch('d'), guest())
    await again.sees('an append, by a watch that came after a stop', page => page?.head === 4)
    await stays.sees('an append after a second stop', page => page?.head === 4)
  }),

  define(2, 'watch: a reader that reads only on wake-ups gets every entry once', async trial => {
    const handles = await trial.opened(3)
    const [store] = handles as [LogStore]
    const streamId = await trial.log(store)
    const { incarnation } = await trial.head(store, streamId)
    const read: string[] = []
    let cursor = { sequence: 0, incarnation, epoch: '0' }
    const next = async () => {
      const { batches, truncated } = await trial.page(store, streamId, cursor, { batches: 4, bytes: 1000 })
      assertEqual(truncated, null, `the cursor at ${cursor.sequence}`)
      for (const { first, last, mark, body } of batches) {
        assertEqual(first, cursor.sequence + 1, 'the sequence after the last that was read')
        read.push(...textsOf(body))
        cursor = { sequence: last, incarnation, epoch: mark }
      }
      return batches.length > 0
    }
    const follower = trial.follow(store, streamId)
    const follow = async () => {
      while (cursor.sequence < 90) {
        const { sequence } = cursor
        await follower.sees(`an entry after ${sequence} of 90`, page => (page?.head ?? 0) > sequence)
        assertEqual(await next(), true, `whether a log whose head is past ${sequence} has batches after it`)
        while (await next());
      }
    }
    const write = handles.map(async (each, i) => {
      for (let n = 0; n < 15; n++) await each.append(streamId, batch(`${i}-${n}`, `${i}-${n}'`), guest())
    })
    await Promise.all([follow(), ...write])
    assertEqual(
      [read.length, new Set(read).size],
      [90, 90],
      'the entries that were read, and how many of them are different',
    )
  }),
]

async function appendsWake(trial: Trial, from: 'same' | 'other'): Promise<void> {
  const store = await trial.open()
  const by = from === 'same' ? store : await trial.open()
  const streamId = await trial.log(store)
  const writer = await trial.writer(by, streamId)
  const follower = trial.follow(store, streamId)
  for (const head of [1, 2, 3]) {
    await writer.append(batch('a'))
    await follower.sees(`append ${head} of a writer`, page => page?.head === head)
  }
  for (const head of [4, 5]) {
    await by.append(streamId, batch('a'), guest())
    await follower.sees(`append ${head} of a guest`, page => page?.head === head)
  }
}

function counter() {
  const wake = { count: 0, call: () => void wake.count++ }
  return wake
}
