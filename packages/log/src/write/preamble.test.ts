import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { ask, delta, failure, ID, request, stop, thrown, World } from '../manager/manager-world.fixture.ts'

const R1 = { runId: 'r1', agentType: 'assistant' }
const R2 = { runId: 'r2', agentType: 'assistant' }
const hello = { messageId: 'm1', role: 'user', parts: [{ type: 'text', text: 'hello' }] } as const

/** Leaves a run of a dead writer with three drafts, one of them of a child, and one committed lane. */
async function orphanRun(world: World) {
  const dead = await world.writer()
  const tool = dead.lane({ lane: 'tool' })
  const child = dead.lane({ lane: 'child', agentId: 'sub', agentType: 'researcher' })
  const other = dead.lane({ lane: 'other' })
  dead.write(delta('kept', '0'))
  await dead.commit([])
  dead.write(delta('half a sen'))
  tool.write(delta('half a res', '2'))
  child.write(delta('half a thou'))
  other.write(delta('done', '3'))
  await other.commit([])
  await dead.flush()
  await world.clock.advance(100)
  return dead
}

const texts = async (world: World): Promise<string[]> => {
  const { view } = await world.manager.view(ID)
  return view.messages.flatMap(({ parts }) =>
    parts.map(part => (part.type === 'text' ? (part as { text: string }).text : '')),
  )
}

describe('the first batch of a writer', () => {
  test('starts the run, before the first deltas', async () => {
    const world = new World()
    const writer = await world.manager.createWriter(ID, { ...R1, program: 'agent:assistant@7' })
    expect(await world.lines()).toEqual([])
    const written = await writer.write(delta('a')).appended
    expect(written).toMatchObject({ first: 1, last: 2 })
    expect((await world.log())[0]).toMatchObject({
      chunk: { type: 'run-started', program: 'agent:assistant@7' },
      origin: { runId: 'r1', agentId: 'r1', lane: 'main' },
    })
  })

  test('has no preamble if the caller starts the run', async () => {
    const world = new World()
    const writer = await world.manager.createWriter(ID, R1)
    await writer.decide(() => [
      { type: 'run-started', program: 'agent:mine@1', resumes: 'r0' },
      { type: 'run-context', context: 1 },
    ])
    expect(await world.lines()).toEqual(['run-started', 'run-context'])
    expect(await world.manager.getInfo(ID)).toMatchObject({ ticket: { run: { program: 'agent:mine@1' } } })
  })

  test('consumes the request of its run, with the message in the same batch', async () => {
    const world = new World()
    await world.manager.createStream(ID)
    await world.manager.append(ID, 'ada', request('r1', { message: hello }))
    const writer = await world.manager.createWriter(ID, R1)
    expect(await writer.commit([])).toMatchObject({ first: 2, last: 4 })
    expect(await world.lines()).toEqual(['ada: run-requested', 'run-started', 'message', 'checkpoint-created'])
    const { view, ticket } = await world.manager.view(ID)
    expect(view.messages).toMatchObject([{ id: 'm1', role: 'user', parts: [{ text: 'hello' }] }])
    expect(ticket.requests).toEqual([])
  })

  test('law 5: does not start a run whose request was withdrawn meanwhile', async () => {
    const world = new World()
    await world.manager.createStream(ID)
    await world.manager.append(ID, 'ada', request('r1'))
    const writer = await world.manager.createWriter(ID, R1)
    await world.manager.append(ID, 'ada', stop('r1'))
    expect(await failure(writer.commit([]))).toBe('refused')
    await writer.close()
    expect(await world.lines()).toEqual(['ada: run-requested', 'ada: stop-requested'])
    expect(await world.manager.getInfo(ID)).toMatchObject({ lease: null, ticket: { run: null } })
  })

  test('law 5: of two writers that start a run, one succeeds', async () => {
    const world = new World()
    const first = await world.manager.createWriter(ID, R1)
    const second = await world.process().createWriter(ID, { ...R2, takeover: true })
    await second.commit([])
    expect(await failure(first.commit([]))).toBe('fenced')
    expect(await world.lines()).toEqual(['run-started', 'checkpoint-created'])
    await second.close()
    const third = await world.manager.createWriter(ID, { runId: 'r3', agentType: 'assistant' })
    expect(thrown(() => third.write(delta('a')))).toBe('refused')
    expect(await failure(third.commit([]))).toBe('refused')
    expect(await failure(third.decide(() => [{ type: 'run-started', program: 'p' }]))).toBe('refused')
  })

  test('law 7: does not start an ended run', async () => {
    const world = new World()
    const writer = await world.writer()
    await world.manager.endStream(ID)
    await writer.close()
    const again = await world.manager.createWriter(ID, R1)
    expect(await failure(again.commit([]))).toBe('refused')
    await again.close()
    expect(await failure((await world.manager.createWriter(ID, R2)).commit([]))).toBe('nothing was thrown')
  })

  test('law 7: does not start a requested run again, however many have run since', async () => {
    const world = new World()
    await world.manager.createStream(ID)
    for (const runId of ['r1', 'r2', 'r3']) {
      await world.manager.append(ID, 'ada', request(runId))
      const writer = await world.writer(runId)
      await world.manager.endStream(ID)
      await writer.close()
    }
    expect(await failure(world.manager.createWriter(ID, R1))).toBe('refused')
    expect(await world.manager.getInfo(ID)).toMatchObject({ lease: null })
    await world.manager.append(ID, 'ada', request('r4', { whenBusy: 'queue' }))
    await world.manager.append(ID, 'ada', stop('r4'))
    expect(await failure(world.manager.createWriter(ID, { ...R1, runId: 'r4' }))).toBe('refused')
  })

  test('keeps the message of a request that arrives while the writer is created', async () => {
    const world = new World()
    const early = await world.manager.createWriter(ID, R1)
    await world.manager.append(ID, 'ada', request('r1', { message: hello }))
    expect(await failure(early.commit([]))).toBe('refused')
    await early.close()
    await world.writer()
    expect((await world.manager.view(ID)).view.messages).toMatchObject([{ id: 'm1' }])
  })

  test('refuses a run while a rewind of another run waits, and rewinds in the batch that starts that run', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([{ type: 'message', messageId: 'm', role: 'user', parts: [] }])
    await world.manager.endStream(ID)
    await writer.close()
    await world.manager.append(ID, 'ada', request('r9', { whenBusy: 'queue' }))
    await world.manager.append(
      ID,
      'ada',
      request('r2', { cut: { toSequence: 0, reason: 'regenerate' }, message: hello }),
    )
    const other = await world.manager.createWriter(ID, { runId: 'r9', agentType: 'assistant' })
    expect(await failure(other.commit([]))).toBe('refused')
    await other.close()
    const cutting = await world.manager.createWriter(ID, R2)
    await cutting.commit([])
    expect((await world.lines()).slice(-4)).toEqual(['rewind', 'run-started', 'message', 'checkpoint-created'])
    const { view } = await world.manager.view(ID)
    expect(view.messages.map(({ id }) => id)).toEqual(['m1'])
  })

  test('resumes a paused run, and discards nothing', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([ask('a')])
    await world.manager.pauseStream(ID)
    await writer.close()
    const again = await world.manager.createWriter(ID, R1)
    await again.commit([])
    expect((await world.lines()).slice(-3)).toEqual(['run-paused', 'run-resumed', 'checkpoint-created'])
  })

  test('law 4: takes over from a dead writer, and discards its drafts, each on its own lane', async () => {
    const world = new World()
    await orphanRun(world)
    await world.clock.advance(30_000)
    const nextWriter = await world.process().createWriter(ID, { ...R1, takeover: true })
    nextWriter.write(delta('whole', '9'))
    await nextWriter.flush()
    const batch = (await world.log()).slice(-5)
    expect(batch.map(({ chunk }) => chunk.type)).toEqual([
      'executor-superseded',
      'step-discarded',
      'step-discarded',
      'step-discarded',
      'text-delta',
    ])
    expect(batch.slice(1, 4).map(({ origin }) => origin.lane)).toEqual(['main', 'tool', 'child'])
    expect(await texts(world)).toEqual(['kept', 'done', 'whole'])
    // The new writer's lanes are free to write to their targets.
    expect(thrown(() => nextWriter.lane({ lane: 'else' }).write(delta('x', '2')))).toBe('nothing was thrown')
  })

  test('a takeover discards a draft with the usage known so far', async () => {
    const world = new World()
    const dead = await world.manager.createWriter(ID, R1)
    dead.write(delta('half', '1'))
    dead.write({ type: 'step-finish', usage: { inputTokens: 5 }, finishReason: 'error' })
    await dead.flush()
    const nextWriter = await world.process().createWriter(ID, { ...R1, takeover: true })
    await nextWriter.begin()
    expect((await world.log()).at(-1)?.chunk).toMatchObject({ type: 'step-discarded', usage: { inputTokens: 5 } })
  })

  test('law 5: a takeover that finds a stop keeps the drafts that readers have seen', async () => {
    const world = new World()
    await orphanRun(world)
    await world.manager.append(ID, 'ada', stop('r1'))
    const other = world.process()
    const nextWriter = await other.createWriter(ID, { ...R1, takeover: true })
    expect(await other.endStream(ID)).toBe('interrupted')
    expect((await world.lines()).slice(-3)).toEqual(['executor-superseded', 'abort', 'run-finished'])
    expect(await texts(world)).toEqual(['kept', 'half a sen', 'half a res', 'done', 'half a thou'])
    await nextWriter.close()
  })

  test('law 5: keeps the drafts also if the stop arrives before the first batch of the takeover', async () => {
    const world = new World()
    await orphanRun(world)
    const other = world.process()
    const nextWriter = await other.createWriter(ID, { ...R1, takeover: true })
    const held = world.tap.hold('append')
    const write = nextWriter.write(delta('more', '9'))
    const first = nextWriter.commit([])
    await held.arrived
    await world.manager.append(ID, 'ada', stop('r1'))
    held.open()
    expect(await failure(write.appended)).toBe('refused')
    expect(await first).toMatchObject({ outcome: 'moved', ticket: { stop: true } })
    expect(await other.endStream(ID)).toBe('interrupted')
    expect((await world.lines()).slice(-4)).toEqual([
      'ada: stop-requested',
      'executor-superseded',
      'abort',
      'run-finished',
    ])
    expect(await texts(world)).toContain('half a sen')
  })

  test('an interrupting request counts as a stop too', async () => {
    const world = new World()
    await orphanRun(world)
    await world.manager.append(ID, 'ada', request('r2', { whenBusy: 'interrupt-previous' }))
    const nextWriter = await world.process().createWriter(ID, { ...R1, takeover: true })
    expect(await nextWriter.commit([])).toMatchObject({ outcome: 'moved' })
    expect(await failure(nextWriter.write(delta('more', '9')).appended)).toBe('refused')
    expect((await world.lines()).slice(-1)).toEqual(['ada: run-requested'])
  })

  test('discards the drafts that another writer left in a paused run', async () => {
    const world = new World()
    await orphanRun(world)
    await world.clock.advance(30_000)
    await world.manager.close()
    const other = world.process()
    await other.pauseStream(ID)
    const nextWriter = await other.createWriter(ID, R1)
    await nextWriter.commit([])
    expect((await world.lines()).slice(-5)).toEqual([
      'run-resumed',
      'step-discarded',
      'tool: step-discarded',
      'child: step-discarded',
      'checkpoint-created',
    ])
    expect(await texts(world)).toEqual(['kept', 'done'])
  })

  test('a takeover of a run without drafts discards nothing', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([{ type: 'status', message: 'x' } satisfies Chunk])
    await writer.close()
    const nextWriter = await world.process().createWriter(ID, R1)
    await nextWriter.commit([])
    expect((await world.lines()).slice(-2)).toEqual(['executor-superseded', 'checkpoint-created'])
  })
})

describe('begin', () => {
  test('writes the start of the run before anything else, once', async () => {
    const world = new World()
    const writer = await world.manager.createWriter(ID, R1)
    expect(await Promise.all([writer.begin(), writer.begin()])).toEqual([true, true])
    expect(await world.lines()).toEqual(['run-started'])
    writer.write(delta('a'))
    expect(await writer.begin()).toBe(true)
    expect(await world.lines()).toEqual(['run-started', 'text-delta 1 a'])
    await writer.close()
    expect(await failure(writer.begin())).toBe('closed')
  })

  test('comes after everything written before', async () => {
    const world = new World()
    const writer = await world.manager.createWriter(ID, R1)
    writer.write(delta('a'))
    expect(await writer.begin()).toBe(true)
    expect(await world.lines()).toEqual(['run-started', 'text-delta 1 a'])
  })

  test('law 4: takes a run over, and discards its open drafts', async () => {
    const world = new World()
    await orphanRun(world)
    const nextWriter = await world.process().createWriter(ID, { ...R1, takeover: true })
    expect(await nextWriter.begin()).toBe(true)
    expect(await texts(world)).toEqual(['kept', 'done'])
    expect((await world.manager.view(ID)).view.runs).toMatchObject([{ runId: 'r1', takeovers: 1 }])
  })

  test('law 5: writes nothing if the run that it takes over must stop, and keeps the drafts', async () => {
    const world = new World()
    await orphanRun(world)
    const before = await world.lines()
    await world.manager.append(ID, 'ada', stop('r1'))
    const manager = world.process()
    const nextWriter = await manager.createWriter(ID, { ...R1, takeover: true })
    expect(await nextWriter.begin()).toBe(false)
    expect((await world.lines()).slice(before.length)).toEqual(['ada: stop-requested'])
    expect(await failure(nextWriter.write(delta('more')).appended)).toBe('refused')
    expect(await manager.endStream(ID)).toBe('interrupted')
    expect((await world.lines()).slice(before.length + 1)).toEqual(['executor-superseded', 'abort', 'run-finished'])
    expect(await texts(world)).toEqual(['kept', 'half a sen', 'half a res', 'done', 'half a thou'])
  })

  test('law 5: writes nothing also if the stop arrives while its append is in flight', async () => {
    const world = new World()
    await orphanRun(world)
    const before = await world.lines()
    const nextWriter = await world.process().createWriter(ID, { ...R1, takeover: true })
    const held = world.tap.hold('append')
    const begun = nextWriter.begin()
    await held.arrived
    await world.manager.append(ID, 'ada', stop('r1'))
    held.open()
    expect(await begun).toBe(false)
    expect((await world.lines()).slice(before.length)).toEqual(['ada: stop-requested'])
  })

  test('ignores a stop that was withdrawn with its request', async () => {
    const world = new World()
    await orphanRun(world)
    await world.manager.append(ID, 'ada', request('q', { whenBusy: 'interrupt-previous' }))
    const nextWriter = await world.process().createWriter(ID, { ...R1, takeover: true })
    expect(await nextWriter.begin()).toBe(false)
    await world.manager.append(ID, 'ada', stop('q'))
    expect(await nextWriter.begin()).toBe(true)
    expect(await texts(world)).toEqual(['kept', 'done'])
  })

  test('is refused if the run cannot begin, whether or not the open run must stop', async () => {
    const world = new World()
    await world.writer()
    await world.manager.close()
    const other = await world.process().createWriter(ID, R2)
    const refused = { code: 'refused', message: expect.stringContaining('run r1 is open') }
    await expect(other.begin()).rejects.toMatchObject(refused)
    await world.process().append(ID, 'ada', stop('r1'))
    await other.refresh()
    await expect(other.begin()).rejects.toMatchObject(refused)
    expect(other.signal.aborted).toBe(false)
  })

  test('law 5: a large batch, whose preamble is sent first, adds nothing to a run that must stop', async () => {
    const world = new World()
    await orphanRun(world)
    await world.manager.append(ID, 'ada', stop('r1'))
    const before = await world.lines()
    const nextWriter = await world.process().createWriter(ID, { ...R1, takeover: true })
    const large: Chunk[] = Array.from({ length: 5 }, () => ({ type: 'state-snapshot', state: 'x'.repeat(1_000_000) }))
    expect(await nextWriter.commit(large)).toMatchObject({ outcome: 'moved' })
    expect(await world.lines()).toEqual(before)
  })
})
