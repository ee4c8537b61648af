// Requests to a run from outside, and how its writer receives them, on every store.

import type { Chunk } from '@millrace/protocol'
import { expect } from 'vitest'
import { mustStop, type Ticket } from '../ticket/ticket.ts'
import { InstrumentedStore } from './instrumented-store.fixture.ts'
import { delta, entriesOf, lineOf, request, stop } from './manager-world.fixture.ts'
import { type Behaviour, define, Watcher } from './managers-on-store.fixture.ts'
import { StreamManager } from './stream-manager.ts'
import { expectTicketFromEntries } from './writer-behaviours.fixture.ts'

const R1 = { runId: 'r1', agentType: 'assistant' }
const WORDS = 300

export const requestBehaviours: Behaviour[] = [
  define('law 5: a watching writer receives a stop from another process, whether it appends or not', async harness => {
    const [here, there] = [await harness.process(), await harness.process()]
    for (const isWriting of [true, false]) {
      const id = harness.id(`writing-${isWriting}`)
      const writer = await here.createWriter(id, R1)
      await writer.begin()
      const nextTicket = Promise.withResolvers<Ticket>()
      writer.watch(nextTicket.resolve)
      let isOver = false
      const writing = (async () => {
        while (isWriting && !isOver) await writer.write(delta('on ')).appended
      })()
      expect(await there.append(id, 'ada', stop('r1'))).toMatchObject({ outcome: 'appended' })
      expect(mustStop(await nextTicket.promise)).toBe(true)
      isOver = true
      await writing
      expect(await here.endStream(id)).toBe('interrupted')
      await writer.close()
      await expectTicketFromEntries(here, id)
    }
  }),

  define('law 5: receives two consecutive requests', async harness => {
    const id = harness.id()
    const [here, there] = [await harness.process(), await harness.process()]
    const writer = await here.createWriter(id, R1)
    await writer.begin()
    const runs: string[] = []
    const both = Promise.withResolvers<void>()
    writer.watch(({ requests }) => {
      runs.splice(0, runs.length, ...requests.map(({ runId }) => runId))
      if (runs.length === 2) both.resolve()
    })
    for (const runId of ['a', 'b']) await there.append(id, 'ada', request(runId, { whenBusy: 'queue' }))
    await both.promise
    expect(runs).toEqual(['a', 'b'])
  }),

  define('a watching writer hardly reads while it streams text', async harness => {
    const id = harness.id()
    const { store } = await harness.process()
    const tap = new InstrumentedStore(store)
    const manager = new StreamManager({ store: tap.store })
    const writer = await manager.createWriter(id, R1)
    await writer.begin()
    const tickets: Ticket[] = []
    writer.watch(ticket => tickets.push(ticket))
    tap.reset()
    // None is a delta, so each is appended separately.
    for (let i = 0; i < WORDS; i++) await writer.write({ type: 'data-word', data: i }).appended
    expect(tap.count('append')).toBe(WORDS)
    expect(tap.count('read')).toBeLessThan(WORDS / 10)
    expect(tickets).toEqual([])
    await manager.close()
    expect(tap.watches).toBe(0)
  }),

  define('law 5: receives a stronger request once, from any process', async harness => {
    const id = harness.id()
    const [here, ada, bob] = [await harness.process(), await harness.process(), await harness.process()]
    const writer = await here.createWriter(id, R1)
    await writer.begin()
    const abort: Chunk = { type: 'stop-requested', runId: 'r1', mode: 'abort' }
    expect(await ada.append(id, 'ada', stop('r1'))).toMatchObject({ outcome: 'appended' })
    expect(await bob.append(id, 'bob', stop('r1'))).toEqual({ outcome: 'refused', reason: 'already-settled' })
    const more = await Promise.all([ada.append(id, 'ada', abort), bob.append(id, 'bob', abort)])
    expect(more.map(({ outcome }) => outcome).sort()).toEqual(['appended', 'refused'])
    const winner = more.findIndex(({ outcome }) => outcome === 'appended')
    expect(await here.append(id, winner === 0 ? 'ada' : 'bob', abort)).toMatchObject({ outcome: 'duplicate' })
    await expectTicketFromEntries(here, id)
    expect(await here.endStream(id)).toBe('aborted')
    expect((await here.view(id)).view.runs).toMatchObject([{ status: 'aborted', stopRequested: true }])
    await expectTicketFromEntries(here, id)
  }),

  define('law 10: server context of a run reaches its writer and no reader', async harness => {
    const [id, copy] = [harness.id(), harness.id('copy')]
    const [here, there, reader] = [
      await harness.process({ blobBytes: 500 }),
      await harness.process(),
      await harness.process(),
    ]
    const small = { tenant: 'only-the-server-knows', nul: '\u0000', lone: '\ud800' }
    const large = { ...small, text: '語'.repeat(5000) }
    await here.createStream(id)
    for (const [runId, context] of Object.entries({ r1: small, r2: large })) {
      const resume = runId === 'r2' ? { resume: { runId: 'r1', mode: 'continue' } } : {}
      await here.append(id, 'ada', request(runId, { whenBusy: 'queue', ...resume }), { context })
    }
    const follower = new Watcher(await reader.createResumableReader(id, { follow: true }))
    const dialect = reader.readBatches(id, { includeDiscarded: true, merge: true, follow: true })
    for (const [runId, context] of Object.entries({ r1: small, r2: large })) {
      const writer = await there.createWriter(id, { runId, agentType: 'assistant' })
      await writer.begin()
      await there.endStream(id)
      await writer.close()
      const log = await entriesOf(there.store, id)
      const runContexts = log.filter(({ chunk, origin }) => chunk.type === 'run-context' && origin.runId === runId)
      expect(runContexts).toMatchObject([{ internal: true }])
      for (const entry of runContexts) expect((await reader.resolve(id, entry)).chunk).toMatchObject({ context })
      const run = (await reader.view(id)).view.internal?.runs.find(other => other.runId === runId)
      expect(run).toMatchObject(runId === 'r1' ? { context } : { blobs: { '/context': {} } })
    }
    const log = await entriesOf(there.store, id)
    const head = log.length
    const lines = log.slice(4).map(lineOf)
    const ends = ['run-context', 'finish', 'run-finished']
    expect(lines).toEqual(['run-started', ...ends, 'run-started', 'run-resumed', ...ends])
    await follower.until(items => items.at(-1)?.sequence === head)
    const seen: unknown[] = [...follower.items]
    for (let at = 0; at < head; ) {
      const batch = await dialect.next()
      at = batch?.sequence ?? head
      seen.push(batch)
    }
    dialect.close()
    await there.forkStream(id, head, copy)
    const forked = new Watcher(await reader.createResumableReader(copy))
    await forked.done
    expect(forked.items).toHaveLength(head - 4)
    seen.push(forked.items)
    const { internal, ...view } = (await reader.view(copy)).view
    expect(internal?.runs).toHaveLength(2)
    expect(JSON.stringify([...seen, view])).not.toContain(small.tenant)
    await expectTicketFromEntries(there, id)
  }),
]
