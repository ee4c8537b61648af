import type { ClaimResult, LogStore } from '../store/log-store.ts'
import { assertEqual, assertionError, assertPresent, assertTrue, describeAppend } from './assert.ts'
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
    assertTrue(/^[\w-]+$/.test(epoch), 'an epoch has only characters that a cursor may have', epoch)
    assertTrue(epoch !== '0', 'an epoch differs from the mark of an empty log', epoch)
    assertEqual(until, clock + LONG_MS, 'until')
    assertTrue(before.clock <= clock, 'the clock of the claim is that of the store', [before.clock, clock])
    const { lease, ...after } = await trial.page(store, streamId)
    assertEqual(lease, { owner: 'me', until }, 'the lease')
    const { lease: none, ...free } = before
    assertEqual({ ...after, clock: 0 }, { ...free, clock: 0 }, 'the log after a claim, without the lease')
    assertEqual(none, null, 'the lease of a log without a claim')
  }),

  define(4, 'a claim under a live lease is busy, also for its owner, and leaves the lease unchanged', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const streamId = await trial.log(store)
    const writer = await trial.writer(store, streamId)
    const owner = trial.name('owner')
    for (const claimant of ['other', owner]) {
      const claim = await other.claim(streamId, claimant, 1, false)
      const clock = 'clock' in claim ? claim.clock : Number.NaN
      assertEqual(claim, { outcome: 'busy', owner, until: writer.until, clock }, `a claim by ${claimant}`)
      assertTrue(clock < writer.until, 'the clock of a busy claim', clock)
    }
    assertEqual((await trial.head(other, streamId)).lease, { owner, until: writer.until }, 'the lease')
    assertEqual(describeAppend(await writer.append(batch('a'))), 'appended 1..1', 'an append of the current writer')
  }),

  define(4, 'a takeover claims a log under a live lease and fences the previous writer', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const streamId = await trial.log(store)
    const zombie = await trial.writer(store, streamId)
    assertEqual(describeAppend(await zombie.append(batch('a'))), 'appended 1..1', 'an append before the takeover')
    const next = await trial.writer(other, streamId, LONG_MS, true)
    assertTrue(next.epoch !== zombie.epoch, 'every claim has another epoch', next.epoch)
    assertEqual(describeAppend(await zombie.append(batch('b'))), 'fenced', 'an append of the old writer')
    zombie.counter--
    assertEqual(describeAppend(await zombie.append(batch('a'))), 'fenced', 'an append that the old writer sends again')
    assertEqual(await store.renew(streamId, zombie.epoch, LONG_MS), undefined, 'renew of the old writer')
    assertEqual(describeAppend(await next.append(batch('c'))), 'appended 2..2', 'the first append of the new writer')
    assertEqual((await trial.head(store, streamId)).lease?.until, next.until, 'the lease')
  }),

  define(4, 'an expired lease allows a new claim, and only the claim fences its writer', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const streamId = await trial.log(store)
    const late = await trial.writer(store, streamId, SHORT_MS)
    await trial.reach(store, streamId, late.until)
    const { lease } = await trial.head(store, streamId)
    assertEqual(lease, { owner: trial.name('owner'), until: late.until }, 'an expired lease that was not released')
    assertEqual(
      describeAppend(await late.append(batch('a'))),
      'appended 1..1',
      'an append after the lease has expired, before another claim',
    )
    const next = await trial.nextWriter(other, streamId)
    assertEqual(
      describeAppend(await late.append(batch('b'))),
      'fenced',
      'an append after the lease has expired, after another claim',
    )
    assertEqual(describeAppend(await next.append(batch('c'))), 'appended 2..2', 'an append of the next writer')
  }),

  define(4, 'one of several concurrent claims of a free log succeeds', async trial => {
    const handles = await trial.opened(4)
    const streamId = await trial.log(handles[0] as LogStore)
    const claims = await Promise.all(handles.map((store, i) => store.claim(streamId, `o${i}`, LONG_MS, false)))
    const outcomes = claims.map(({ outcome }) => outcome).sort()
    assertEqual(outcomes, ['busy', 'busy', 'busy', 'claimed'], 'the claims')
    const winner = `o${claims.findIndex(({ outcome }) => outcome === 'claimed')}`
    for (const claim of claims)
      if (claim.outcome === 'busy') assertEqual(claim.owner, winner, 'the owner that a busy claim names')
  }),

  define(4, 'of several concurrent takeovers only the last may append', async trial => {
    const handles = await trial.opened(4)
    const streamId = await trial.log(handles[0] as LogStore)
    const writers = await Promise.all(handles.map(store => trial.writer(store, streamId, LONG_MS, true)))
    assertEqual(new Set(writers.map(({ epoch }) => epoch)).size, 4, 'the number of epochs')
    const results = (await Promise.all(writers.map(writer => writer.append(batch('x'))))).map(describeAppend).sort()
    assertEqual(results, ['appended 1..1', 'fenced', 'fenced', 'fenced'], 'the appends')
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
      assertEqual(
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
    assertEqual(marks.slice(start), [next.epoch], 'the marks from the first append of the new writer on')
    assertEqual(marks.length, zombie.counter + 1, 'the batches of both')
  }),

  define(4, 'renew sets the lease from now on, shorter or longer, expired or not', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const writer = await trial.writer(store, streamId)
    for (const ttlMs of [2 * LONG_MS, SHORT_MS, LONG_MS]) {
      const { until, clock } = assertPresent(
        await store.renew(streamId, writer.epoch, ttlMs),
        'renew of the current epoch',
      )
      assertEqual(until, clock + ttlMs, `until after a renew for ${ttlMs}`)
      assertEqual((await trial.head(store, streamId)).lease, { owner: trial.name('owner'), until }, 'the lease')
      if (ttlMs === SHORT_MS) await trial.reach(store, streamId, until)
    }
    assertEqual((await store.claim(streamId, 'other', LONG_MS, false)).outcome, 'busy', 'a claim after the renew')
    assertEqual(describeAppend(await writer.append(batch('a'))), 'appended 1..1', 'an append after the renews')
  }),

  define(4, 'release ends the lease and the epoch', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const writer = await trial.writer(store, streamId)
    await writer.append(batch('a'))
    await store.release(streamId, writer.epoch)
    assertEqual((await trial.head(store, streamId)).lease, null, 'the lease')
    assertEqual(await store.renew(streamId, writer.epoch, LONG_MS), undefined, 'renew of a released epoch')
    assertEqual(describeAppend(await writer.append(batch('b'))), 'fenced', 'an append under a released epoch')
    writer.counter--
    assertEqual(
      describeAppend(await writer.append(batch('a'))),
      'fenced',
      'the last append again, under a released epoch',
    )
    await store.release(streamId, writer.epoch)
    const next = await trial.writer(store, streamId)
    assertEqual(describeAppend(await next.append(batch('c'))), 'appended 2..2', 'an append of the next writer')
  }),

  define(4, 'release of another epoch does nothing', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const zombie = await trial.writer(store, streamId)
    const writer = await trial.writer(store, streamId, LONG_MS, true)
    for (const epoch of [zombie.epoch, 'another', '']) await store.release(streamId, epoch)
    assertEqual((await trial.head(store, streamId)).lease?.until, writer.until, 'the lease')
    assertEqual((await store.claim(streamId, 'other', LONG_MS, false)).outcome, 'busy', 'a claim')
    assertEqual(describeAppend(await writer.append(batch('a'))), 'appended 1..1', 'an append of the current writer')
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
        assertEqual(
          describeAppend(await store.append(each, batch('a'), by)),
          'fenced',
          `an append under the epoch '${epoch}'`,
        )
        assertEqual(await store.renew(each, epoch, LONG_MS), undefined, `renew of the epoch '${epoch}'`)
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
    assertEqual(second.by.counter, first.counter, 'the counters under both epochs')
    assertEqual(
      describeAppend(await second.append(batch('b'))),
      'appended 2..2',
      'the first append under the next epoch',
    )
  }),
]

function claimed(claim: ClaimResult): ClaimResult & { outcome: 'claimed' } {
  if (claim.outcome !== 'claimed') throw assertionError(`claim: expected 'claimed', found '${claim.outcome}'`)
  return claim
}
