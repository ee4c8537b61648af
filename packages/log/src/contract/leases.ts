import type { ClaimResult, LogStore } from '../store/log-store.ts'
import { assertionError, describeAppend, holds, present, same } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import { LONG_MS, SHORT_MS } from './trial.ts'
import { batch, move } from './writer.ts'

/** Law 4: leases, takeovers and fencing. */
export const leases: readonly ContractCase[] = [
  define(4, 'a claim takes a free log for its ttlMs under a new epoch', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const before = await trial.page(store, streamId)
    const { epoch, until, clock } = claimed(await store.claim(streamId, 'me', LONG_MS, false))
    holds(/^[\w-]+$/.test(epoch), 'an epoch has the letters of a cursor', epoch)
    holds(epoch !== '0', 'an epoch is not the mark of an empty log', epoch)
    same(until, clock + LONG_MS, 'until')
    holds(before.clock <= clock, 'the clock of the claim is that of the store', [before.clock, clock])
    const { lease, ...after } = await trial.page(store, streamId)
    same(lease, { owner: 'me', until }, 'the lease')
    const { lease: none, ...free } = before
    same({ ...after, clock: 0 }, { ...free, clock: 0 }, 'all but the lease')
    same(none, null, 'the lease of a log without a claim')
  }),

  define(4, 'a claim under a live lease is busy, also for its owner, and leaves the lease unchanged', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const streamId = await trial.log(store)
    const writer = await trial.writer(store, streamId)
    const owner = trial.name('owner')
    for (const claimant of ['other', owner]) {
      const claim = await other.claim(streamId, claimant, 1, false)
      const clock = 'clock' in claim ? claim.clock : Number.NaN
      same(claim, { outcome: 'busy', owner, until: writer.until, clock }, `a claim by ${claimant}`)
      holds(clock < writer.until, 'the clock of a busy claim', clock)
    }
    same((await trial.head(other, streamId)).lease, { owner, until: writer.until }, 'the lease')
    same(describeAppend(await writer.append(batch('a'))), 'appended 1..1', 'an append of the one that holds the log')
  }),

  define(4, 'a takeover claims a log under a live lease and fences the previous writer', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const streamId = await trial.log(store)
    const zombie = await trial.writer(store, streamId)
    same(describeAppend(await zombie.append(batch('a'))), 'appended 1..1', 'an append before the takeover')
    const next = await trial.writer(other, streamId, LONG_MS, true)
    holds(next.epoch !== zombie.epoch, 'every claim has another epoch', next.epoch)
    same(describeAppend(await zombie.append(batch('b'))), 'fenced', 'an append of the old writer')
    zombie.counter--
    same(describeAppend(await zombie.append(batch('a'))), 'fenced', 'an append that the old writer sends again')
    same(await store.renew(streamId, zombie.epoch, LONG_MS), undefined, 'renew of the old writer')
    same(describeAppend(await next.append(batch('c'))), 'appended 2..2', 'the first append of the new writer')
    same((await trial.head(store, streamId)).lease?.until, next.until, 'the lease')
  }),

  define(4, 'an expired lease allows a new claim, and only the claim fences its writer', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const streamId = await trial.log(store)
    const late = await trial.writer(store, streamId, SHORT_MS)
    await trial.reach(store, streamId, late.until)
    const { lease } = await trial.head(store, streamId)
    same(lease, { owner: trial.name('owner'), until: late.until }, 'an expired lease that was not released')
    same(
      describeAppend(await late.append(batch('a'))),
      'appended 1..1',
      'an append after the lease, before another claim',
    )
    const next = await trial.writer(other, streamId)
    same(describeAppend(await late.append(batch('b'))), 'fenced', 'an append after the lease and after another claim')
    same(describeAppend(await next.append(batch('c'))), 'appended 2..2', 'an append of the next writer')
  }),

  define(4, 'one of several concurrent claims of a free log succeeds', async trial => {
    const handles = await trial.opened(4)
    const streamId = await trial.log(handles[0] as LogStore)
    const claims = await Promise.all(handles.map((store, i) => store.claim(streamId, `o${i}`, LONG_MS, false)))
    const outcomes = claims.map(({ outcome }) => outcome).sort()
    same(outcomes, ['busy', 'busy', 'busy', 'claimed'], 'the claims')
    const winner = `o${claims.findIndex(({ outcome }) => outcome === 'claimed')}`
    for (const claim of claims)
      if (claim.outcome === 'busy') same(claim.owner, winner, 'the owner that a busy claim names')
  }),

  define(4, 'of several concurrent takeovers only the last may append', async trial => {
    const handles = await trial.opened(4)
    const streamId = await trial.log(handles[0] as LogStore)
    const writers = await Promise.all(handles.map(store => trial.writer(store, streamId, LONG_MS, true)))
    same(new Set(writers.map(({ epoch }) => epoch)).size, 4, 'the number of epochs')
    const results = (await Promise.all(writers.map(writer => writer.append(batch('x'))))).map(describeAppend).sort()
    same(results, ['appended 1..1', 'fenced', 'fenced', 'fenced'], 'the appends')
  }),

  define(4, 'a writer appends nothing after a takeover', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const streamId = await trial.log(store)
    const zombie = await trial.writer(store, streamId)
    let fenced = false
    let begun = () => {}
    const atWork = new Promise<void>(resolve => {
      begun = resolve
    })
    const work = async () => {
      for (let i = 0; i < 200 && !fenced; i++) {
        fenced = (await zombie.append(batch(`old-${i}`))).outcome === 'fenced'
        if (i === 5) begun()
      }
    }
    const takeover = async () => {
      await atWork
      const writer = await trial.writer(other, streamId, LONG_MS, true)
      same(
        describeAppend(await writer.append(batch('new'))).slice(0, 8),
        'appended',
        'the first append after the takeover',
      )
      return writer
    }
    const [next] = await Promise.all([takeover(), work()])
    const { batches } = await trial.page(other, streamId)
    const marks = batches.map(({ mark }) => mark)
    const start = marks.indexOf(next.epoch)
    same(marks.slice(start), [next.epoch], 'the marks from the first append of the new writer on')
    same(marks.length, zombie.counter + 1, 'the batches of both')
  }),

  define(4, 'renew sets the lease from now on, shorter or longer, expired or not', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const writer = await trial.writer(store, streamId)
    for (const ttlMs of [2 * LONG_MS, SHORT_MS, LONG_MS]) {
      const { until, clock } = present(
        await store.renew(streamId, writer.epoch, ttlMs),
        'renew of the epoch that holds the log',
      )
      same(until, clock + ttlMs, `until after a renew for ${ttlMs}`)
      same((await trial.head(store, streamId)).lease, { owner: trial.name('owner'), until }, 'the lease')
      if (ttlMs === SHORT_MS) await trial.reach(store, streamId, until)
    }
    same((await store.claim(streamId, 'other', LONG_MS, false)).outcome, 'busy', 'a claim after the renew')
    same(describeAppend(await writer.append(batch('a'))), 'appended 1..1', 'an append after the renews')
  }),

  define(4, 'release ends the lease and the epoch', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const writer = await trial.writer(store, streamId)
    await writer.append(batch('a'))
    await store.release(streamId, writer.epoch)
    same((await trial.head(store, streamId)).lease, null, 'the lease')
    same(await store.renew(streamId, writer.epoch, LONG_MS), undefined, 'renew of a released epoch')
    same(describeAppend(await writer.append(batch('b'))), 'fenced', 'an append under a released epoch')
    writer.counter--
    same(describeAppend(await writer.append(batch('a'))), 'fenced', 'the last append again, under a released epoch')
    await store.release(streamId, writer.epoch)
    const next = await trial.writer(store, streamId)
    same(describeAppend(await next.append(batch('c'))), 'appended 2..2', 'an append of the next writer')
  }),

  define(4, 'release of another epoch does nothing', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const zombie = await trial.writer(store, streamId)
    const writer = await trial.writer(store, streamId, LONG_MS, true)
    for (const epoch of [zombie.epoch, 'another', '']) await store.release(streamId, epoch)
    same((await trial.head(store, streamId)).lease?.until, writer.until, 'the lease')
    same((await store.claim(streamId, 'other', LONG_MS, false)).outcome, 'busy', 'a claim')
    same(describeAppend(await writer.append(batch('a'))), 'appended 1..1', 'an append of the one that holds the log')
  }),

  define(4, 'a log without a lease has no epoch that can be guessed', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const released = await trial.log(store, 'released')
    await store.release(released, (await trial.writer(store, released)).epoch)
    for (const each of [streamId, released]) {
      const { incarnation } = await trial.head(store, each)
      for (const epoch of ['', '0', 'null', 'undefined']) {
        const by = { epoch, counter: 1, lastAcked: { sequence: 0, incarnation, epoch: '0' } }
        same(describeAppend(await store.append(each, batch('a'), by)), 'fenced', `an append under the epoch '${epoch}'`)
        same(await store.renew(each, epoch, LONG_MS), undefined, `renew of the epoch '${epoch}'`)
      }
    }
  }),

  define(5, 'counters of appends start again under every epoch', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const { version } = await trial.head(store, streamId)
    const first = await trial.writer(store, streamId)
    await first.append(batch('a'), move(version, 's'))
    const second = await trial.writer(store, streamId, LONG_MS, true)
    same(second.by.counter, first.counter, 'the counters of the two')
    same(describeAppend(await second.append(batch('b'))), 'appended 2..2', 'the first append under the next epoch')
  }),
]

function claimed(claim: ClaimResult): ClaimResult & { outcome: 'claimed' } {
  if (claim.outcome !== 'claimed') throw assertionError(`claim: expected 'claimed', found '${claim.outcome}'`)
  return claim
}
