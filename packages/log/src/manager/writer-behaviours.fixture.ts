// Writers, takeovers and guests, on every store.

import { encodeCursor } from '@millrace/protocol'
import { expect } from 'vitest'
import { advance, EMPTY_TICKET } from '../ticket/ticket.ts'
import {
  approve,
  ask,
  clientCall,
  delta,
  entriesOf,
  failure,
  lineOf,
  output,
  request,
  stop,
} from './manager-world.fixture.ts'
import { type Behaviour, define, Watcher } from './managers-on-store.fixture.ts'
import type { StreamManager } from './stream-manager.ts'

const R1 = { runId: 'r1', agentType: 'assistant' }
const PROGRAMS = ['agent:assistant@1']

/** The stored ticket follows from the entries. */
export async function expectTicketFromEntries(manager: StreamManager, streamId: string): Promise<void> {
  const info = await manager.getInfo(streamId)
  expect(info?.ticket).toEqual(advance(EMPTY_TICKET, await entriesOf(manager.store, streamId)))
}

export const writerBehaviours: Behaviour[] = [
  define('law 2: readers in other processes get every entry once, in order, while it is written', async harness => {
    const id = harness.id()
    const [here, there] = [await harness.process(), await harness.process()]
    const writer = await here.createWriter(id, R1)
    await writer.commit([])
    const readers = await Promise.all(
      [here, there, there].map(async manager => new Watcher(await manager.createResumableReader(id))),
    )
    const tool = writer.lane({ lane: 'tool' })
    for (let i = 0; i < 300; i++) {
      await writer.write(delta(`${i} `))
      if (i % 7 === 0) tool.write(delta(`${i} `, '2'))
      if (i % 50 === 0) await writer.commit([{ type: 'status', message: `${i}` }])
      if (i % 100 === 0) await readers[1]?.until(items => items.length > i / 100)
    }
    // Its text is still streamed, so that the sequence is assigned once.
    const from = writer.cursor
    const late = new Watcher(await there.createResumableReader(id, { after: encodeCursor(from) }))
    expect(await here.endStream(id, 'done')).toBe('completed')
    await Promise.all([...readers, late].map(({ done }) => done))
    const log = await entriesOf(here.store, id)
    expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, i) => i + 1))
    for (const { items } of readers) expect(items).toMatchObject(log)
    expect(late.items).toMatchObject(log.slice(from.sequence))
    const words = log.flatMap(({ chunk }) => (chunk.type === 'text-delta' && chunk.id === '1' ? chunk.delta : []))
    expect(words.join('')).toBe(Array.from({ length: 300 }, (_, i) => `${i} `).join(''))
    await expectTicketFromEntries(here, id)
  }),

  define('law 4: a takeover fences the previous writer and discards its drafts', async harness => {
    const id = harness.id()
    const [here, there] = [await harness.process({ owner: 'first' }), await harness.process()]
    const zombie = await here.createWriter(id, R1)
    zombie.write(delta('kept'))
    await zombie.commit([])
    await zombie.write(delta('half', '2')).appended
    await expect(there.createWriter(id, R1)).rejects.toMatchObject({
      code: 'busy',
      message: expect.stringContaining('first'),
    })
    const nextWriter = await there.createWriter(id, { ...R1, takeover: true })
    const late = zombie.write(delta(' a zombie', '2'))
    expect(await failure(late.appended)).toBe('fenced')
    expect(zombie.signal.aborted).toBe(true)
    await nextWriter.commit([])
    await zombie.close()
    await nextWriter.commit([])
    const { view } = await there.view(id)
    expect(view.messages[0]?.parts).toMatchObject([{ text: 'kept' }])
    expect(view.messages[0]?.parts).toHaveLength(1)
    await expectTicketFromEntries(there, id)
  }),

  define('law 4: a log is free when its writer closes or its lease expires', async harness => {
    const [held, expired] = [harness.id('held'), harness.id('expired')]
    const [here, brief, there] = [
      await harness.process({ leaseMs: 3_600_000 }),
      await harness.process({ leaseMs: 200 }),
      await harness.process(),
    ]
    for (const [manager, id] of [
      [here, held],
      [brief, expired],
    ] as const) {
      const first = await manager.createWriter(id, R1)
      await first.commit([])
      await first.close()
      const second = await manager.createWriter(id, R1)
      await second.commit([])
      // A dead process renews no lease. Its handle is its only state.
      await manager.store.close()
    }
    const claimed = (id: string) => failure(there.createWriter(id, R1).then(nextWriter => nextWriter.commit([])))
    expect(await claimed(held)).toBe('busy')
    let code = ''
    await harness.until(async () => {
      code = await claimed(expired)
      return code !== 'busy'
    })
    expect(code).toBe('nothing was thrown')
    expect((await harness.lines(there, expired)).at(-2)).toBe('executor-superseded')
    expect(await claimed(held)).toBe('busy')
  }),

  define('law 5: one of many concurrent answers to one pending wins, from any process', async harness => {
    const id = harness.id()
    const [here, ...others] = await Promise.all(Array.from({ length: 4 }, () => harness.process()))
    const manager = here as StreamManager
    const writer = await manager.createWriter(id, R1)
    await writer.commit([clientCall('c1'), clientCall('c2')])
    const guests = others.flatMap((other, i) => [0, 1, 2].map(n => other.append(id, `g${i}`, output('c1', n))))
    const done = await Promise.all(guests)
    expect(done.filter(({ outcome }) => outcome === 'appended')).toHaveLength(1)
    for (const one of done) {
      if (one.outcome !== 'appended') expect(one).toEqual({ outcome: 'refused', reason: 'already-settled' })
    }
    // Repeats of the winning answer return the same sequence in every process.
    const winner = done.findIndex(({ outcome }) => outcome === 'appended')
    const again = await manager.append(id, `g${Math.floor(winner / 3)}`, output('c1', winner % 3))
    expect(again).toMatchObject({ outcome: 'duplicate', first: (done[winner] as { first: number }).first })
    await expectTicketFromEntries(manager, id)
  }),

  define('law 5: one of many concurrent starts wins, and its run is due only for its program', async harness => {
    const id = harness.id()
    const managers = await Promise.all(Array.from({ length: 4 }, () => harness.process()))
    const [manager] = managers as [StreamManager]
    await manager.createStream(id)
    const done = await Promise.all(managers.map((one, i) => one.append(id, 'ada', request(`r${i}`))))
    expect(done.map(({ outcome }) => outcome).sort()).toEqual(['appended', 'refused', 'refused', 'refused'])
    expect(await manager.due(PROGRAMS, 1000)).toContain(id)
    expect(await manager.due(['agent:other@1'], 1000)).not.toContain(id)
    const runId = (await manager.getInfo(id))?.ticket.requests[0]?.runId as string
    const writer = await manager.createWriter(id, { runId, agentType: 'assistant' })
    await writer.commit([])
    expect(await manager.due(PROGRAMS, 1000)).not.toContain(id)
    await writer.close()
    expect(await manager.due(PROGRAMS, 1000)).toContain(id)
    await expectTicketFromEntries(manager, id)
  }),

  define('law 5: an answer, a deadline and a stop at the same time settle a pending once', async harness => {
    for (let round = 0; round < 5; round++) {
      const id = harness.id(`race${round}`)
      const [here, ada, bob] = await Promise.all([harness.process(), harness.process(), harness.process()])
      const writer = await here.createWriter(id, R1)
      await writer.commit([{ type: 'tool-input-available', toolCallId: 'call-a', toolName: 't', input: 1 }, ask('a')])
      await Promise.all([
        ada.append(id, 'ada', approve('a')),
        bob.append(id, 'bob', stop('r1')),
        writer.decide(({ stop: isStopped, pendings }) => {
          if (isStopped || pendings.length === 0) return undefined
          return [{ type: 'tool-output-error', toolCallId: 'call-a', errorText: 'late', code: 'deadline' }]
        }),
      ])
      const lines = await harness.lines(here, id)
      expect(lines.filter(line => /approval-response|output-error/.test(line))).toHaveLength(1)
      expect(lines.filter(line => line.includes('stop-requested'))).toHaveLength(1)
      expect(await here.endStream(id)).toBe('interrupted')
      await expectTicketFromEntries(here, id)
    }
  }),

  define('law 5: a takeover that finds a stop keeps the shown text', async harness => {
    const id = harness.id()
    const [here, there] = [await harness.process(), await harness.process()]
    const dead = await here.createWriter(id, R1)
    await dead.commit([])
    await dead.write(delta('shown')).appended
    await there.append(id, 'ada', stop('r1'))
    await there.createWriter(id, { ...R1, takeover: true })
    expect(await there.endStream(id)).toBe('interrupted')
    const { view } = await there.view(id)
    expect(view.messages[0]).toMatchObject({ status: 'cancelled', parts: [{ text: 'shown', state: 'done' }] })
    await expectTicketFromEntries(there, id)
  }),

  define('a waiting run is due when its answer arrives, from any process', async harness => {
    const id = harness.id()
    const [here, there] = [await harness.process(), await harness.process()]
    const writer = await here.createWriter(id, R1)
    await writer.commit([clientCall('c1')])
    await here.pauseStream(id)
    await writer.close()
    expect(await there.due(PROGRAMS, 1000)).not.toContain(id)
    expect(await there.getInfo(id)).toMatchObject({ status: 'paused' })
    await there.append(id, 'ada', output('c1'))
    expect(await here.due(PROGRAMS, 1000)).toContain(id)
    expect(await there.resumeStream(id)).toBe(true)
    await there.endStream(id)
    expect((await harness.lines(here, id)).slice(-4)).toEqual([
      'ada: tool-output-available c1',
      'run-resumed',
      'finish',
      'run-finished',
    ])
    await expectTicketFromEntries(there, id)
  }),

  define('law 5: a notification is due for drivers, and one of many claims it', async harness => {
    const id = harness.id()
    const [here, ...others] = await Promise.all(Array.from({ length: 4 }, () => harness.process()))
    const manager = here as StreamManager
    const writer = await manager.createWriter(id, R1)
    await writer.commit([clientCall('c1')])
    const { clock: notifyBy } = (await manager.getInfo(id)) as { clock: number }
    await writer.decide(() => [{ type: 'run-paused', awaits: [], notifyBy }])
    await writer.close()
    const noticePrograms = ['notify:agent:assistant']
    expect(await manager.due(PROGRAMS, 1000)).not.toContain(id)
    expect(await manager.due(noticePrograms, 1000)).toContain(id)
    const until = notifyBy + 60_000
    const take = { type: 'run-notified', runId: 'r1', notifyBy, until } as const
    const done = await Promise.all(others.map((other, i) => other.append(id, `teller${i}`, take)))
    expect(done.map(({ outcome }) => outcome).sort()).toEqual(['appended', 'refused', 'refused'])
    expect(await manager.due(noticePrograms, 1000)).not.toContain(id)
    await manager.append(id, 'teller', { type: 'run-notified', runId: 'r1', notifyBy: until })
    expect((await manager.getInfo(id))?.ticket).not.toHaveProperty('notices')
    await expectTicketFromEntries(manager, id)
  }),

  define('law 6: large values are stored as blobs and resolved in every process', async harness => {
    const id = harness.id()
    const [here, there] = [await harness.process({ blobBytes: 1000 }), await harness.process()]
    const writer = await here.createWriter(id, R1)
    const context = { text: '語'.repeat(5000), nul: '\u0000', lone: '\ud800' }
    await writer.commit([
      { type: 'run-context', context },
      { type: 'file', url: `data:,${'x'.repeat(3000)}`, mediaType: 'text/plain' },
    ])
    const log = await entriesOf(there.store, id)
    expect(log[1]?.chunk).toMatchObject({ context: null })
    const back = await Promise.all(log.slice(1, 3).map(entry => there.resolve(id, entry)))
    expect(back.map(({ chunk }) => chunk)).toMatchObject([{ context }, { url: `data:,${'x'.repeat(3000)}` }])
    expect(await failure(writer.commit([{ type: 'state-snapshot', state: 'x'.repeat(2_000_000) }]))).toBe('too-large')
    expect(await writer.commit([])).toMatchObject({ first: log.length + 1 })
  }),

  define('any text is returned unchanged', async harness => {
    const id = harness.id('id with ☃, "quotes" and \\')
    const manager = await harness.process()
    const writer = await manager.createWriter(id, R1)
    const texts = ['\u0000', '\u2028', '😀', '\ud83d', '\\', '"', '語', '\r\n', '{}', 'á', 'a\u0301']
    for (const [i, text] of texts.entries()) writer.write(delta(text, `${i}`))
    await manager.endStream(id, JSON.parse('{"__proto__":1,"constructor":{"x":[]}}'))
    const log = await entriesOf(manager.store, id)
    expect(log.flatMap(({ chunk }) => (chunk.type === 'text-delta' ? chunk.delta : []))).toEqual(texts)
    const outputChunk = log.find(({ chunk }) => chunk.type === 'output')?.chunk
    expect(JSON.stringify(outputChunk)).toBe('{"type":"output","output":{"__proto__":1,"constructor":{"x":[]}}}')
    expect(log.map(lineOf).at(-1)).toBe('run-finished')
  }),
]
