import type { Chunk, Json } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { approve, ask, delta, failure, ID, output, request, stop, World } from '../manager/manager-world.fixture.ts'

const WRITTEN = ['run-started', 'checkpoint-created']

describe('endStream', () => {
  test('ends the open run as completed, with its output, after everything written before', async () => {
    const world = new World()
    const writer = await world.writer()
    writer.write(delta('a'))
    writer.lane({ lane: 'tool' }).write(delta('b', '2'))
    expect(await world.manager.endStream(ID, { answer: 42 })).toBe('completed')
    expect((await world.lines()).slice(2)).toEqual([
      'text-delta 1 a',
      'tool: text-delta 2 b',
      'output',
      'finish',
      'run-finished',
    ])
    const { view } = await world.manager.view(ID)
    expect(view).toMatchObject({ output: { answer: 42 }, runs: [{ status: 'completed' }], drafts: [] })
    expect(await world.manager.getInfo(ID)).toMatchObject({ status: 'ended' })
  })

  test('law 7: ends the open run once, and refuses a second call', async () => {
    const world = new World()
    const writer = await world.writer()
    const ends = await Promise.all([
      failure(world.manager.endStream(ID)),
      failure(world.manager.endStream(ID)),
      failure(world.manager.failStream(ID, 'x')),
    ])
    expect(ends).toEqual(['nothing was thrown', 'refused', 'refused'])
    expect((await world.lines()).filter(line => line === 'run-finished')).toHaveLength(1)
    await writer.close()
    expect(await failure(world.process().endStream(ID))).toBe('refused')
  })

  test('ends the run as interrupted if it was asked to stop, and settles every open call', async () => {
    const world = new World()
    const writer = await world.writer()
    writer.write(delta('shown'))
    await writer.commit([{ type: 'tool-input-available', toolCallId: 'c1', toolName: 't', input: 1 }, ask('a')])
    await world.manager.append(ID, 'ada', stop('r1'))
    expect(await world.manager.endStream(ID)).toBe('interrupted')
    const { view, ticket } = await world.manager.view(ID)
    expect(view.messages[0]).toMatchObject({
      status: 'cancelled',
      parts: [
        { text: 'shown', state: 'done' },
        { state: 'output-error', code: 'interrupted' },
      ],
    })
    expect(ticket).toMatchObject({ run: null, stop: false, pendings: [], last: { status: 'interrupted' } })
  })

  test('ends the run as aborted if an abort was requested, first or later', async () => {
    for (const stops of [['abort'], ['interrupt', 'abort']] as const) {
      const world = new World()
      const writer = await world.writer()
      writer.write(delta('shown'))
      for (const mode of stops) await world.manager.append(ID, 'ada', { type: 'stop-requested', runId: 'r1', mode })
      expect(await world.manager.endStream(ID)).toBe('aborted')
      const { view, ticket } = await world.manager.view(ID)
      expect(view.messages[0]).toMatchObject({ status: 'cancelled', parts: [{ text: 'shown', state: 'done' }] })
      expect(ticket).toMatchObject({ run: null, stop: false, last: { status: 'aborted' } })
      expect(ticket).toEqual((await world.manager.getInfo(ID))?.ticket)
    }
  })

  test('law 5: sees a stop that arrives while it is in flight', async () => {
    const world = new World()
    await world.writer()
    const held = world.tap.hold('append')
    const ended = world.manager.endStream(ID)
    await held.arrived
    await world.manager.append(ID, 'ada', stop('r1'))
    held.open()
    expect(await ended).toBe('interrupted')
    expect((await world.log()).at(-1)?.chunk).toMatchObject({ type: 'run-finished', status: 'interrupted' })
  })

  test('works in a process without a writer, once the log is free', async () => {
    const world = new World()
    const writer = await world.writer()
    writer.write(delta('a'))
    await writer.flush()
    const other = world.process()
    expect(await failure(other.endStream(ID))).toBe('busy')
    await writer.close()
    expect(await other.endStream(ID)).toBe('completed')
    // No executor-superseded: the writer had released the log.
    expect((await world.lines()).slice(2)).toEqual(['text-delta 1 a', 'finish', 'run-finished'])
    expect((await world.log()).at(-1)?.origin).toMatchObject({ runId: 'r1', agentId: 'r1', agentType: 'assistant' })
    expect(await other.getInfo(ID)).toMatchObject({ lease: null })
  })

  test('writes executor-superseded if the writer had died', async () => {
    const world = new World()
    await world.writer()
    world.tap.isDown = true
    await world.clock.advance(40_000)
    world.tap.isDown = false
    await world.process().endStream(ID)
    expect((await world.lines()).slice(2)).toEqual(['executor-superseded', 'finish', 'run-finished'])
  })

  test('ends a paused run, and its pendings with it', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([ask('a')])
    await world.manager.pauseStream(ID)
    await writer.close()
    await world.process().endStream(ID)
    expect((await world.lines()).slice(-3)).toEqual(['run-paused', 'finish', 'run-finished'])
    expect(await world.manager.append(ID, 'ada', approve('a'))).toEqual({
      outcome: 'refused',
      reason: 'already-settled',
    })
  })

  test('is refused if no run is open, or the log does not exist', async () => {
    const world = new World()
    expect(await failure(world.manager.endStream(ID))).toBe('absent')
    await world.manager.createStream(ID)
    expect(await failure(world.manager.endStream(ID))).toBe('refused')
    expect(await world.manager.getInfo(ID)).toMatchObject({ lease: null })
  })

  test('law 6: never fails because of its size: a too large output is left out and reported', async () => {
    const world = new World({ maxEntryBytes: 4096 })
    await world.writer()
    expect(await world.manager.endStream(ID, 'x'.repeat(10_000))).toBe('completed')
    expect((await world.lines()).slice(2)).toEqual([
      'error the output of 10125 bytes was left out',
      'finish',
      'run-finished',
    ])
  })

  test('keeps an output that just fits', async () => {
    const world = new World({ maxEntryBytes: 4096 })
    const { origin } = (await world.writer()).main
    const room = 4096 - Buffer.byteLength(JSON.stringify({ origin, chunk: { type: 'output', output: '' } }))
    await world.manager.endStream(ID, 'x'.repeat(room))
    expect((await world.lines()).slice(2)).toEqual(['output', 'finish', 'run-finished'])
  })

  test('law 7: a run without entries begins and ends in one batch', async () => {
    for (const end of ['endStream', 'failStream'] as const) {
      const world = new World()
      await world.manager.createStream(ID)
      await world.manager.append(ID, 'ada', request('r1'))
      await world.manager.createWriter(ID, { runId: 'r1', agentType: 'assistant' })
      world.tap.reset()
      await world.manager[end](ID, 'x')
      expect(world.tap.count('append')).toBe(1)
      const expectedEnd = end === 'endStream' ? 'output' : 'error x'
      expect((await world.lines()).slice(1)).toEqual(['run-started', expectedEnd, 'finish', 'run-finished'])
      expect(await world.manager.due(['agent:assistant@1'])).toEqual([])
      expect(await failure(world.manager[end](ID, 'x'))).toBe('refused')
    }
  })

  test('rejects an output that is not JSON, and the run can still be ended', async () => {
    const world = new World()
    await world.writer()
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    expect(await failure(world.manager.endStream(ID, cycle as unknown as Json))).toBe('invalid')
    expect(await failure(world.manager.endStream(ID, 1n as unknown as Json))).toBe('invalid')
    expect(await world.manager.endStream(ID)).toBe('completed')
  })
})

describe('failStream', () => {
  test('ends the open run as failed, with the error', async () => {
    const world = new World()
    await world.writer()
    await world.manager.failStream(ID, { message: 'no model', code: 'model', retryable: true })
    expect(await world.lines()).toEqual([...WRITTEN, 'error no model', 'finish', 'run-finished'])
    const { view } = await world.manager.view(ID)
    expect(view.runs[0]).toMatchObject({ status: 'failed', reason: 'no model', error: { code: 'model' } })
    expect(await world.manager.getInfo(ID)).toMatchObject({ status: 'failed' })
  })

  test('works in a process without a writer', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.close()
    await world.process().failStream(ID, 'the worker is gone')
    expect((await world.lines()).slice(2)).toEqual(['error the worker is gone', 'finish', 'run-finished'])
  })

  test('takes the known fields of an error, and requires a message', async () => {
    const world = new World()
    await world.writer()
    const wrong = [undefined, null, {}, { message: 5 }, 7] as unknown[]
    for (const error of wrong) expect(await failure(world.manager.failStream(ID, error as string))).toBe('invalid')
    const error = Object.assign(new Error('boom'), { code: 7, retryable: true, body: 'y'.repeat(2_000_000), big: 1n })
    await world.manager.failStream(ID, error as unknown as { message: string })
    expect((await world.log())[2]?.chunk).toEqual({ type: 'error', message: 'boom', retryable: true })
  })

  test('law 6: never fails because of the size of the error', async () => {
    const world = new World({ maxEntryBytes: 4096 })
    await world.writer()
    const long = '😀'.repeat(5000)
    await world.manager.failStream(ID, { message: long, code: long, category: long })
    const log = await world.log()
    expect(log.at(-1)?.chunk).toMatchObject({ type: 'run-finished', status: 'failed' })
    const { message } = (log[2] as { chunk: { message: string } }).chunk
    expect(long.startsWith(message.slice(0, -1))).toBe(true)
    expect(message.isWellFormed()).toBe(true)
  })
})

describe('pauseStream and resumeStream', () => {
  test('write that the run waits, for which pendings, and that it continues', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([ask('a', { deadline: 99 }), { type: 'interrupt', interruptId: 'i', input: { kind: 'text' } }])
    expect(await world.manager.pauseStream(ID, 'asked')).toBe(true)
    expect((await world.log()).at(-1)?.chunk).toEqual({
      type: 'run-paused',
      reason: 'asked',
      awaits: [
        { kind: 'approval', id: 'a', toolCallId: 'call-a', deadline: 99 },
        { kind: 'interrupt', id: 'i' },
      ],
      checkpointId: expect.any(String),
    })
    expect(await world.manager.getInfo(ID)).toMatchObject({ status: 'paused', ticket: { ready: false } })
    expect(await world.manager.pauseStream(ID)).toBe(false)
    expect(await world.manager.resumeStream(ID)).toBe(true)
    expect(await world.manager.getInfo(ID)).toMatchObject({ status: 'active', ticket: { ready: true } })
    expect(await world.manager.resumeStream(ID)).toBe(false)
    expect((await world.lines()).filter(line => line.startsWith('run-'))).toEqual([
      'run-started',
      'run-paused',
      'run-resumed',
    ])
  })

  test.each(['the writer', 'another process', 'another process, after a takeover'])(
    'name the last checkpoint on the main lane of the run, paused by %s',
    async by => {
      const world = new World()
      const options = { runId: 'r1', agentType: 'assistant', lane: 'trunk' }
      const writer = await world.manager.createWriter(ID, options)
      await writer.commit([], { closesStep: true })
      await writer.commit([{ type: 'checkpoint-created', checkpointId: 'last', stepCount: 2 }])
      await writer.lane({ lane: 'trunk/tool' }).commit([])
      await writer.lane({ lane: 'trunk', agentId: 'child' }).commit([])
      if (by !== 'the writer') await writer.close()
      const manager = by === 'the writer' ? world.manager : world.process()
      if (by.endsWith('takeover')) {
        const next = await manager.createWriter(ID, options)
        await next.begin()
      }
      await manager.pauseStream(ID)
      await manager.resumeStream(ID)
      expect((await world.log()).slice(-2).map(({ chunk }) => chunk)).toEqual([
        { type: 'run-paused', awaits: [], checkpointId: 'last', stepCount: 2 },
        { type: 'run-resumed', mode: 'continue', fromCheckpointId: 'last', fromStepCount: 2 },
      ])
      // The next pause names it again, although nothing was committed in between.
      await manager.pauseStream(ID)
      expect((await world.log()).at(-1)?.chunk).toMatchObject({ checkpointId: 'last' })
    },
  )

  test('law 6: name no checkpoint whose id is too long for a ticket', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([{ type: 'checkpoint-created', checkpointId: 'x'.repeat(513) }])
    expect(await world.manager.pauseStream(ID)).toBe(true)
    expect((await world.log()).at(-1)?.chunk).not.toHaveProperty('checkpointId')
  })

  test('name no checkpoint of a run without a commit', async () => {
    const world = new World()
    await (await world.manager.createWriter(ID, { runId: 'r1', agentType: 'assistant' })).begin()
    await world.manager.pauseStream(ID)
    await world.manager.resumeStream(ID)
    expect((await world.log()).slice(-2).map(({ chunk }) => chunk)).toEqual([
      { type: 'run-paused', awaits: [] },
      { type: 'run-resumed', mode: 'continue' },
    ])
  })

  test('flush all lanes first', async () => {
    const world = new World()
    const writer = await world.writer()
    writer.write(delta('a'))
    writer.lane({ lane: 'tool' }).write(delta('b', '2'))
    await world.manager.pauseStream(ID)
    expect((await world.lines()).slice(2)).toEqual(['text-delta 1 a', 'tool: text-delta 2 b', 'run-paused'])
  })

  test('work in a process without a writer, and hold the log only for the call', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.close()
    const other = world.process()
    expect(await other.pauseStream(ID)).toBe(true)
    expect(await other.resumeStream(ID)).toBe(true)
    expect(await other.getInfo(ID)).toMatchObject({ lease: null, status: 'active' })
  })

  test('law 5: a pause does not miss an answer that arrives meanwhile', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([
      { type: 'tool-input-available', toolCallId: 'c1', toolName: 't', input: 1, executor: 'client' } as Chunk,
    ])
    const held = world.tap.hold('append')
    const paused = world.manager.pauseStream(ID)
    await held.arrived
    await world.manager.append(ID, 'ada', output('c1'))
    held.open()
    expect(await paused).toBe(false)
    expect((await world.lines()).at(-1)).toBe('ada: tool-output-available c1')
    expect(writer.ticket).toMatchObject({ run: { paused: false }, ready: true, pendings: [] })
    // A caller that has seen the answer may still pause.
    expect(await world.manager.pauseStream(ID)).toBe(true)
    expect((await world.log()).at(-1)?.chunk).toMatchObject({ type: 'run-paused', awaits: [] })
  })

  test('law 5: a pause does not miss an answer that the writer has not read yet', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([ask('a'), ask('b')])
    await world.manager.append(ID, 'ada', approve('a'))
    expect(await world.manager.pauseStream(ID)).toBe(false)
    expect(await world.manager.pauseStream(ID)).toBe(true)
    expect((await world.log()).at(-1)?.chunk).toMatchObject({ type: 'run-paused', awaits: [{ id: 'b' }] })
  })

  test('are refused if no run is open', async () => {
    const world = new World()
    await world.manager.createStream(ID)
    expect(await failure(world.manager.pauseStream(ID))).toBe('refused')
    expect(await world.manager.resumeStream(ID)).toBe(false)
    expect(await world.lines()).toEqual([])
  })

  test('a paused run is due at its deadline, on an answer or on a stop, and not before', async () => {
    const world = new World()
    const programs = ['agent:assistant@1']
    const writer = await world.writer()
    await writer.commit([ask('a', { deadline: world.clock.now() + 5000 }), ask('b')])
    await world.manager.pauseStream(ID)
    await writer.close()
    expect(await world.manager.due(programs)).toEqual([])
    await world.clock.advance(4999)
    expect(await world.manager.due(programs)).toEqual([])
    await world.clock.advance(1)
    expect(await world.manager.due(programs)).toEqual([ID])
    expect(await world.manager.due(['agent:other@1'])).toEqual([])
    await world.manager.append(ID, 'ada', stop('r1'))
    expect(await world.manager.due(['agent:other@1'])).toEqual([ID])
    await world.process().createWriter(ID, { runId: 'r1', agentType: 'assistant' })
    expect(await world.manager.due(programs)).toEqual([])
    await world.manager.append(ID, 'ada', request('r2', { whenBusy: 'queue' }))
  })
})
