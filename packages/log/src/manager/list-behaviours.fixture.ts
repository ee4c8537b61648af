// The lines of a list: title, metadata, preview line and status of a log, on every store.

import type { Chunk, JsonObject } from '@millrace/protocol'
import { expect } from 'vitest'
import { failure, request } from './manager-world.fixture.ts'
import { type Behaviour, define } from './managers-on-store.fixture.ts'
import { expectTicketFromEntries } from './writer-behaviours.fixture.ts'

const R1 = { runId: 'r1', agentType: 'assistant' }
const info = (fields: { title?: string; metadata?: JsonObject }): Chunk => ({ type: 'session-info', ...fields })
const says = (text: string) => ({ message: { messageId: 'm', role: 'user', parts: [{ type: 'text', text }] } })

export const listBehaviours: Behaviour[] = [
  define('law 5: lists the title, the preview line and the status of each log', async harness => {
    const [here, there] = [await harness.process(), await harness.process()]
    const principal = harness.id('principal')
    const id = harness.id()
    await here.createStream(id, principal)
    const shown = async () => {
      const { streams } = await there.listStreams(principal)
      const { title, line, status } = streams[0] as (typeof streams)[0]
      expect((await there.getInfo(id))?.ticket).toMatchObject({
        ...(line && { line }),
        ...(title && { about: { title } }),
      })
      return [title, line, status]
    }
    expect(await shown()).toEqual([undefined, undefined, 'active'])
    await there.append(id, 'ada', info({ title: 'A walk 🙂 \u0000', metadata: { 'é"\\': ['語'] } }))
    await there.append(id, 'ada', request('r1', says(' Where\n is Ulm? ')))
    expect(await shown()).toEqual(['A walk 🙂 \u0000', 'Where is Ulm?', 'active'])
    const writer = await here.createWriter(id, R1)
    await writer.commit([])
    // Also while a run is open, without a message to its writer.
    await there.append(id, 'ada', info({ title: 'Ulm' }))
    await writer.decide(() => [{ type: 'run-paused', awaits: [], line: 'May I look?' }])
    expect(await shown()).toEqual(['Ulm', 'May I look?', 'paused'])
    await writer.decide(() => [
      { type: 'run-resumed', mode: 'continue' },
      { type: 'run-finished', status: 'completed', line: 'By the Danube.' },
    ])
    expect(await shown()).toEqual(['Ulm', 'By the Danube.', 'ended'])
    expect((await there.getInfo(id))?.ticket.about).toEqual({ title: 'Ulm', metadata: { 'é"\\': ['語'] } })
    await expectTicketFromEntries(here, id)
  }),

  define('law 5: accepts an earlier title again', async harness => {
    const id = harness.id()
    const manager = await harness.process()
    await manager.createStream(id)
    for (const title of ['A', 'B', 'A', 'A']) {
      expect(await manager.append(id, 'ada', info({ title }))).toMatchObject({ outcome: 'appended' })
      expect((await manager.getInfo(id))?.ticket.about).toEqual({ title })
    }
    await expectTicketFromEntries(manager, id)
  }),

  define('law 6: rejects too large list fields before they take a sequence', async harness => {
    const id = harness.id()
    const manager = await harness.process()
    await manager.createStream(id)
    await manager.append(id, 'ada', info({ title: 'x'.repeat(200), metadata: { a: 'x'.repeat(4088) } }))
    const before = await manager.getInfo(id)
    for (const wrong of [info({ title: 'x'.repeat(201) }), info({ metadata: { a: 'x'.repeat(4089) } })]) {
      expect(await failure(manager.append(id, 'ada', wrong))).toBe('too-large')
    }
    const writer = await manager.createWriter(id, R1)
    await writer.commit([])
    const end = { type: 'run-finished', status: 'completed', line: 'x'.repeat(161) } as const
    expect(await failure(writer.decide(() => [end]))).toBe('refused')
    expect((await manager.getInfo(id))?.ticket.about).toEqual(before?.ticket.about)
    await expectTicketFromEntries(manager, id)
  }),

  define('a rewind keeps the title, and a fork has the title of its source', async harness => {
    const [id, copy] = [harness.id(), harness.id('copy')]
    const manager = await harness.process()
    const first = await manager.createWriter(id, R1)
    await first.commit([])
    await manager.append(id, 'ada', info({ title: 'A walk', metadata: { pinned: true } }))
    await first.decide(() => [{ type: 'run-finished', status: 'completed', line: 'Done.' }])
    await first.close()
    await manager.append(id, 'ada', request('r2', { cut: { toSequence: 0, reason: 'edit' }, ...says('Again.') }))
    const second = await manager.createWriter(id, { ...R1, runId: 'r2' })
    await second.commit([])
    const expected = { about: { title: 'A walk', metadata: { pinned: true } }, line: 'Again.' }
    expect((await manager.getInfo(id))?.ticket).toMatchObject({ ...expected, cuts: 1 })
    const { head } = (await manager.getInfo(id)) as { head: number }
    await manager.forkStream(id, head, copy)
    expect((await manager.getInfo(copy))?.ticket).toMatchObject({ ...expected, run: null })
    await expectTicketFromEntries(manager, id)
    await expectTicketFromEntries(manager, copy)
  }),
]
