import type { WriterOrigin } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { advance, EMPTY_TICKET } from '../ticket/ticket.ts'
import { approve, ask, delta, failure, ID, output, request, World } from './manager-world.fixture.ts'

const COPY = 'copy'

describe('a fork', () => {
  test('has the beginning of its source and continues independently', async () => {
    const world = new World({ blobBytes: 100 })
    const writer = await world.writer()
    writer.write(delta('shared'))
    await writer.commit([{ type: 'run-context', context: 'x'.repeat(500) }])
    await world.manager.endStream(ID)
    await writer.close()
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    await world.manager.forkStream(ID, head, COPY, 'ada')
    expect(await world.lines(COPY)).toEqual(await world.lines())
    const [source, copy] = [await world.manager.getInfo(ID), await world.manager.getInfo(COPY)]
    expect(copy?.incarnation).not.toBe(source?.incarnation)
    expect([source?.principal, copy?.principal]).toEqual([null, 'ada'])
    expect(copy?.ticket).toEqual(source?.ticket)
    // Later changes of the source do not affect the fork.
    await world.manager.deleteStream(ID)
    const next = await world.manager.createWriter(COPY, { runId: 'r2', agentType: 'assistant' })
    await next.commit([])
    expect((await world.manager.view(COPY)).view.messages[0]?.parts).toMatchObject([{ text: 'shared' }])
    const context = (await world.log(COPY)).find(({ blobs }) => blobs)
    expect((await world.manager.resolve(COPY, context as NonNullable<typeof context>)).chunk).toMatchObject({
      context: 'x'.repeat(500),
    })
  })

  test('law 7: ends the sub-agents that were open at its position, the latest first', async () => {
    const world = new World()
    const writer = await world.writer()
    const start = (agentId: string, toolCallId: string) =>
      ({ type: 'subagent-start', agentId, agentType: `type of ${agentId}`, toolCallId }) as const
    await writer.commit([start('a', 'c1'), start('b', 'c2')])
    await writer.lane({ lane: 'main/c1', agentId: 'a', agentType: 'type of a' }).commit([start('deep', 'c3')])
    await writer.commit([
      { type: 'subagent-end', agentId: 'b', agentType: 'type of b', toolCallId: 'c2', status: 'completed' },
    ])
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    await world.manager.forkStream(ID, head, COPY)
    const closing = (await world.log(COPY)).slice(head)
    const closingChunks = closing.map(({ chunk, origin }) => {
      const { agentId, agentType } = origin as WriterOrigin
      return [chunk.type, 'agentId' in chunk && chunk.agentId, agentId, agentType]
    })
    expect(closingChunks).toEqual([
      ['subagent-end', 'deep', 'a', 'type of a'],
      ['subagent-end', 'a', 'r1', 'assistant'],
      ['abort', false, 'r1', 'assistant'],
      ['run-finished', false, 'r1', 'assistant'],
    ])
    const { view } = await world.manager.view(COPY)
    expect(view.agents.map(({ agentId, status }) => [agentId, status])).toEqual([
      ['a', 'interrupted'],
      ['b', 'completed'],
      ['deep', 'interrupted'],
    ])
  })

  test('law 7: ends the run that was open at its position, keeps the text that readers have seen and drops its pendings', async () => {
    const world = new World()
    const writer = await world.writer()
    writer.write(delta('half a sen'))
    await writer.commit([
      { type: 'tool-input-available', toolCallId: 'call-a', toolName: 't', input: 1 },
      ask('a', { deadline: world.clock.now() + 30_000 }),
    ])
    writer.write(delta('tence', '2'))
    await writer.flush()
    await world.manager.append(ID, 'ada', request('q1', { whenBusy: 'queue' }))
    await world.manager.append(ID, 'ada', request('x1', { cut: { toSequence: 0, reason: 'edit' } }))
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    await world.manager.forkStream(ID, head, COPY)
    const stops = ['fork: stop-requested', 'fork: stop-requested']
    expect((await world.lines(COPY)).slice(head)).toEqual([...stops, 'abort', 'run-finished'])
    const info = await world.manager.getInfo(COPY)
    expect(info).toMatchObject({
      status: 'ended',
      lease: null,
      ticket: { run: null, requests: [], pendings: [], last: { status: 'interrupted' } },
    })
    expect(info?.ticket).toEqual(advance(EMPTY_TICKET, await world.log(COPY)))
    const { view } = await world.manager.view(COPY)
    expect(view.pendings).toEqual([])
    expect(view.requests.map(({ status }) => status)).toEqual(['removed', 'removed'])
    expect(view.messages[0]?.parts).toMatchObject([{ text: 'half a sen' }, { code: 'interrupted' }, { text: 'tence' }])
    // The pendings of the source are not open in the fork, and the fork is not due.
    expect(await world.manager.append(COPY, 'ada', approve('a'))).toEqual({
      outcome: 'refused',
      reason: 'already-settled',
    })
    expect(await world.manager.append(ID, 'ada', approve('a'))).toMatchObject({ outcome: 'appended' })
    await world.clock.advance(60_000)
    expect(await world.manager.due(['agent:assistant@1'])).not.toContain(COPY)
  })

  test('a fork of a waiting request has no run, reports the withdrawn run, and can be driven', async () => {
    const world = new World()
    await world.manager.createStream(ID)
    await world.manager.append(ID, 'ada', request('r1'))
    await world.manager.forkStream(ID, 1, COPY)
    const { view } = await world.manager.view(COPY)
    expect(view).toMatchObject({ runs: [], requests: [{ runId: 'r1', status: 'removed' }] })
    const reader = await world.manager.createResumableReader(COPY, { after: 1, runId: 'r1' })
    expect((await reader.next()).value).toMatchObject({ chunk: { type: 'stop-requested', reason: 'forked' } })
    await reader.return()
    await world.manager.append(COPY, 'ada', request('r2'))
    expect(await world.manager.due(['agent:assistant@1'])).toContain(COPY)
    const writer = await world.manager.createWriter(COPY, { runId: 'r2', agentType: 'assistant' })
    await writer.commit([])
    await world.manager.endStream(COPY)
    const { runs } = (await world.manager.view(COPY)).view
    expect(runs.map(({ runId, status }) => `${runId} ${status}`)).toEqual(['r2 completed'])
  })

  test('works at any sequence of its source, also inside a batch', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([ask('a'), ask('b'), { type: 'state-snapshot', state: 1 }])
    await world.manager.append(ID, 'ada', approve('a'))
    await world.manager.endStream(ID)
    const log = await world.log()
    for (let at = 0; at <= log.length; at++) {
      const target = `${COPY}${at}`
      await world.manager.forkStream(ID, at, target)
      const copy = await world.log(target)
      expect(copy.slice(0, at)).toEqual(log.slice(0, at))
      const info = await world.manager.getInfo(target)
      expect(info?.ticket).toEqual(advance(EMPTY_TICKET, copy))
      expect(info?.ticket.run).toBeNull()
      expect((await world.manager.view(target)).view.head).toBe(copy.length)
    }
  })

  test('knows the requests of its source and accepts new ones', async () => {
    const world = new World()
    await world.manager.createStream(ID)
    await world.manager.append(ID, 'ada', request('r1'))
    const writer = await world.writer()
    await world.manager.endStream(ID)
    await writer.close()
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    await world.manager.forkStream(ID, head, COPY)
    expect(await world.manager.append(COPY, 'ada', request('r1'))).toMatchObject({ outcome: 'duplicate', first: 1 })
    expect(await world.manager.append(COPY, 'ada', request('r2'))).toMatchObject({ outcome: 'appended' })
    expect(await world.manager.append(ID, 'ada', request('r2'))).toMatchObject({ outcome: 'appended' })
  })

  test('a fork of a trimmed log copies the snapshots that it needs', async () => {
    const world = new World()
    for (const runId of ['r1', 'r2', 'r3']) {
      const writer = await world.writer(runId)
      writer.write(delta(runId))
      await world.manager.endStream(ID)
      await writer.close()
      await world.manager.snapshot(ID)
    }
    await world.manager.trimStream(ID, { maxEntries: 5 })
    const { head, floor } = (await world.manager.getInfo(ID)) as { head: number; floor: number }
    expect(floor).toBeGreaterThan(0)
    await world.manager.forkStream(ID, head, COPY)
    await world.manager.deleteStream(ID)
    const { view } = await world.manager.view(COPY)
    expect(view.messages.map(({ id }) => id)).toEqual(['r1::r1', 'r2::r2', 'r3::r3'])
    await world.manager.forkStream(COPY, floor, 'again')
    expect((await world.manager.view('again')).view.head).toBe(floor)
    expect(await failure(world.manager.forkStream(COPY, floor - 1, 'below'))).toBe('truncated')
  })

  test('fails if another process made the target, and succeeds if only the answer was lost', async () => {
    const world = new World()
    const writer = await world.writer()
    await world.manager.endStream(ID)
    await writer.close()
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    for (const at of [head, 2]) {
      world.tap.lose('fork')
      const done = world.manager.forkStream(ID, at, `${COPY}${at}`, 'ada')
      await world.clock.advance(1000)
      await done
      for (const other of ['ada', 'bob', undefined]) {
        expect(await failure(world.manager.forkStream(ID, at, `${COPY}${at}`, other))).toBe('exists')
      }
      // A store that is unavailable for a while and then has a target made by another process.
      world.tap.fail('fork')
      const late = failure(world.manager.forkStream(ID, at, `${COPY}${at}`, 'bob'))
      await world.clock.advance(1000)
      expect(await late).toBe('exists')
      expect(await world.manager.getInfo(`${COPY}${at}`)).toMatchObject({ principal: 'ada' })
    }
  })

  test('is refused for a missing log, an invalid sequence or an existing target', async () => {
    const world = new World()
    expect(await failure(world.manager.forkStream(ID, 0, COPY))).toBe('absent')
    await world.writer()
    expect(await failure(world.manager.forkStream(ID, 3, COPY))).toBe('invalid')
    expect(await world.manager.getInfo(COPY)).toBeNull()
    await world.manager.createStream(COPY)
    expect(await failure(world.manager.forkStream(ID, 1, COPY))).toBe('exists')
    expect(await failure(world.manager.forkStream(ID, 1, ID))).toBe('exists')
    expect(await world.lines(COPY)).toEqual([])
  })

  test('does not take over an answer that its source gets later', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([
      { type: 'tool-input-available', toolCallId: 'c1', toolName: 't', input: 1, executor: 'client' },
    ])
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    await world.manager.append(ID, 'ada', output('c1'))
    await world.manager.forkStream(ID, head, COPY)
    expect(await world.manager.append(COPY, 'ada', output('c1'))).toEqual({
      outcome: 'refused',
      reason: 'already-settled',
    })
  })
})
