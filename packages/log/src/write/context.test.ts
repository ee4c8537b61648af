// The server's context of a run, which is stored with the request and then with the run, and never leaves the server
// (law 10).

import type { Entry, Json, Run } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { delta, failure, ID, lineOf, output, request, stop, World } from '../manager/manager-world.fixture.ts'
import { read } from '../manager/reading.fixture.ts'

const SECRET = 'only-the-server-knows'
const CONTEXT = { tenant: SECRET }
const hello = { messageId: 'm1', role: 'user', parts: [{ type: 'text', text: 'hello' }] } as const

async function requestRun(world: World, context: Json = CONTEXT, more: object = {}, runId = 'r1') {
  await world.manager.createStream(ID)
  return world.manager.append(ID, 'ada', request(runId, { message: hello, ...more }), { context })
}

const beginRun = async (world: World, runId = 'r1') => {
  const writer = await world.manager.createWriter(ID, { runId, agentType: 'assistant' })
  await writer.begin()
  return writer
}

/** The run with its internal fields. */
const internalRun = async (world: World, runId = 'r1', id = ID): Promise<Run | undefined> =>
  (await world.manager.view(id)).view.internal?.runs.find(run => run.runId === runId)

/** Everything that readers without `internal` get, by each kind of read, as JSON. */
async function publicJson(world: World, id = ID): Promise<string> {
  const { manager } = world
  const { view, ticket } = await manager.view(id)
  const { internal, ...open } = view
  const publicValues: unknown[] = [open, ticket, await manager.getInfo(id), await manager.listStreams(undefined)]
  const head = (await manager.getInfo(id))?.head ?? 0
  for (const options of [
    {},
    { includeDiscarded: true },
    { merge: true },
    { runId: 'r1' },
    { onRetraction: 'throw' as const },
  ]) {
    const reader = manager.readBatches(id, { ...options, follow: true })
    for (let at = 0; at < head; ) {
      const batch = await reader.next()
      at = batch?.sequence ?? head
      publicValues.push(batch)
    }
    reader.close()
  }
  return JSON.stringify(publicValues)
}

describe('a context', () => {
  test('is stored with its request, and in the first batch of its run, after the message', async () => {
    const world = new World()
    expect(await requestRun(world)).toMatchObject({ outcome: 'appended', first: 1, last: 2 })
    await beginRun(world)
    const log = await world.log()
    expect(log.map(lineOf)).toEqual(['ada: run-requested', 'ada: run-context', 'run-started', 'message', 'run-context'])
    expect(log.map(({ internal }) => internal ?? false)).toEqual([false, true, false, false, true])
    expect(log[1]?.chunk).toEqual({ type: 'run-context', context: CONTEXT })
    expect(log[4]).toMatchObject({ chunk: log[1]?.chunk, origin: { runId: 'r1', agentId: 'r1' } })
    expect(await internalRun(world)).toMatchObject({ context: CONTEXT })
    expect((await world.manager.view(ID)).ticket).toEqual((await world.manager.getInfo(ID))?.ticket)
  })

  test('law 10: reaches no reader, view, list or fork without `internal`', async () => {
    const world = new World()
    await requestRun(world)
    expect(await publicJson(world)).not.toContain(SECRET)
    const writer = await beginRun(world)
    writer.write(delta('hi'))
    await writer.flush()
    expect(await publicJson(world)).not.toContain(SECRET)
    await world.manager.forkStream(ID, 5, 'copy')
    expect(await publicJson(world, 'copy')).not.toContain(SECRET)
    expect(await internalRun(world, 'r1', 'copy')).toMatchObject({ context: CONTEXT, status: 'interrupted' })
    await world.manager.endStream(ID)
    await writer.close()
    // Requests survive a rewind, and so does their context.
    expect(
      await requestRun(world, { tenant: 'another' }, { cut: { toSequence: 2, reason: 'retry' } }, 'r2'),
    ).toMatchObject({
      outcome: 'appended',
    })
    await beginRun(world, 'r2')
    expect(await internalRun(world, 'r2')).toMatchObject({ context: { tenant: 'another' } })
    expect(await publicJson(world)).not.toContain(SECRET)
    expect(await publicJson(world)).not.toContain('another')
  })

  test('is returned with `internal`, and survives a rewind', async () => {
    const world = new World()
    await requestRun(world)
    await beginRun(world)
    await world.manager.endStream(ID)
    await world.manager.close()
    const manager = world.process()
    await manager.append(ID, 'ada', request('r2', { cut: { toSequence: 2, reason: 'retry' } }), { context: 2 })
    const writer = await manager.createWriter(ID, { runId: 'r2', agentType: 'assistant' })
    await writer.begin()
    await manager.endStream(ID)
    const remaining = await read(world, { internal: true })
    expect(remaining).toEqual([
      'ada: run-requested',
      'ada: run-context',
      'ada: run-requested',
      'ada: run-context',
      'run-started',
      'run-context',
      'finish',
      'run-finished',
    ])
    expect(await read(world, { internal: true, onRetraction: 'throw' })).toEqual(remaining)
  })

  test('is not retracted by a cut', async () => {
    const world = new World()
    const writer = await world.writer()
    const { sequence } = writer.cursor
    await writer.decide(() => [{ type: 'run-finished', status: 'completed' }])
    await writer.close()
    await requestRun(world, CONTEXT, { cut: { toSequence: sequence, reason: 'retry' } }, 'r2')
    const follower = await world.manager.createResumableReader(ID, {
      internal: true,
      follow: true,
      onRetraction: 'throw',
    })
    const seen: string[] = []
    while (seen.at(-1) !== 'ada: run-context') seen.push(lineOf((await follower.next()).value as Entry))
    await beginRun(world, 'r2')
    expect(lineOf((await follower.next()).value as Entry)).toBe('run-started')
    await follower.return()
  })

  test('stays with the run after a takeover', async () => {
    const world = new World()
    await requestRun(world)
    await beginRun(world)
    const nextWriter = await world.process().createWriter(ID, { runId: 'r1', agentType: 'assistant', takeover: true })
    await nextWriter.begin()
    expect((await world.lines()).filter(line => line.includes('run-context'))).toHaveLength(2)
    expect(await internalRun(world)).toMatchObject({ context: CONTEXT })
  })

  test('is taken from the first request for a run', async () => {
    const world = new World()
    await requestRun(world)
    expect(await requestRun(world, { tenant: 'mallory' })).toMatchObject({ outcome: 'duplicate', first: 1, last: 2 })
    await beginRun(world)
    expect(await internalRun(world)).toMatchObject({ context: CONTEXT })
  })

  test('may be any JSON value, including null, and is copied on append', async () => {
    for (const context of [null, false, 0, '', [], JSON.parse('{"__proto__":1}') as Json]) {
      const world = new World()
      await requestRun(world, context)
      await beginRun(world)
      expect(JSON.stringify((await internalRun(world))?.context)).toBe(JSON.stringify(context))
    }
    const world = new World()
    const context = { tenant: 'before' }
    const held = world.tap.hold('read')
    const done = requestRun(world, context)
    await held.arrived
    context.tenant = 'after'
    held.open()
    await done
    expect((await world.log())[1]?.chunk).toMatchObject({ context: { tenant: 'before' } })
  })

  test('is rejected if it is not JSON or comes without a request, and never appears in an error message', async () => {
    const world = new World()
    await world.writer()
    const before = await world.lines()
    const cycle: { self?: unknown; secret: string } = { secret: SECRET }
    cycle.self = cycle
    for (const context of [cycle, 1n, () => SECRET, Symbol(SECRET), { toJSON: () => undefined }]) {
      const error = await requestRun(world, context as unknown as Json, { whenBusy: 'queue' }).catch(
        (error: Error) => error,
      )
      expect(error).toMatchObject({ code: 'invalid' })
      expect(String(error)).not.toContain(SECRET)
    }
    for (const chunk of [stop('r1'), output('c1')]) {
      const refused = world.manager.append(ID, 'ada', chunk, { context: SECRET })
      await expect(refused).rejects.toMatchObject({ code: 'invalid', message: expect.not.stringContaining(SECRET) })
    }
    expect(await world.lines()).toEqual(before)
  })
})

describe('law 6: an append', () => {
  test('stores a large context as one blob, for the request and for the run', async () => {
    const world = new World({ blobBytes: 1000 })
    const context = { text: '語'.repeat(2000), nul: '\u0000' }
    await requestRun(world, context)
    await beginRun(world)
    expect(world.tap.count('putBlob')).toBe(1)
    const [, guestEntry, , , contextEntry] = (await world.log()) as [Entry, Entry, Entry, Entry, Entry]
    expect(contextEntry).toMatchObject({ chunk: { context: null }, internal: true, blobs: guestEntry.blobs })
    for (const entry of [guestEntry, contextEntry]) {
      expect((await world.manager.resolve(ID, entry)).chunk).toEqual({ type: 'run-context', context })
    }
    const run = await internalRun(world)
    const hash = run?.blobs?.['/context']?.hash as string
    expect(JSON.parse(Buffer.from((await world.manager.blob(ID, hash)) as Uint8Array).toString())).toEqual(context)
    expect(await publicJson(world)).not.toContain(hash)
    await world.manager.forkStream(ID, 5, 'copy')
    await world.manager.deleteStream(ID)
    expect((await world.manager.resolve('copy', contextEntry)).chunk).toMatchObject({ context })
  })

  test('rejects a too large context before anything is stored', async () => {
    const world = new World({ blobBytes: 1000, maxBlobBytes: 10_000 })
    await expect(requestRun(world, 'x'.repeat(20_000))).rejects.toMatchObject({ code: 'too-large' })
    expect([await world.lines(), world.tap.count('putBlob'), world.tap.count('append')]).toEqual([[], 0, 0])
    expect(await requestRun(world, 'x'.repeat(9000))).toMatchObject({ outcome: 'appended' })
  })

  test('measures a context and its request separately', async () => {
    const world = new World({ maxEntryBytes: 10_000, blobBytes: 8000 })
    const message = { ...hello, parts: [{ type: 'text', text: 'x'.repeat(9000) }] }
    expect(await requestRun(world, 'y'.repeat(7000), { message })).toMatchObject({ outcome: 'appended' })
    await beginRun(world)
    expect(await internalRun(world)).toMatchObject({ context: 'y'.repeat(7000) })
    const long = { ...hello, parts: [{ type: 'text', text: 'x'.repeat(10_000) }] }
    expect(await failure(requestRun(world, 1, { message: long, whenBusy: 'queue' }, 'r2'))).toBe('too-large')
  })

  test('rejects a context and its request if they do not fit the batch that starts the run', async () => {
    const world = new World({ maxEntryBytes: 2 ** 24, blobBytes: 2 ** 24 })
    const half = world.tap.store.maxBatchBytes / 2
    expect(await failure(requestRun(world, 'x'.repeat(half)))).toBe('too-large')
    expect(await requestRun(world, 'x'.repeat(half - 1000))).toMatchObject({ outcome: 'appended' })
    await beginRun(world)
    expect(await world.lines()).toContain('run-started')
  })
})

describe('law 12: a trim', () => {
  test('keeps the context of a waiting request', async () => {
    const world = new World()
    const writer = await world.writer('r0')
    await world.manager.append(ID, 'ada', request('r1', { whenBusy: 'queue' }), { context: CONTEXT })
    await world.manager.endStream(ID)
    await writer.close()
    const floor = await world.manager.trimStream(ID, { maxEntries: 0 })
    expect((await world.manager.entries(ID, floor, floor + 2)).map(lineOf)).toEqual([
      'ada: run-requested',
      'ada: run-context',
    ])
    await beginRun(world)
    expect(await internalRun(world)).toMatchObject({ context: CONTEXT })
  })

  test('may drop the request of a started run: the run has its own context', async () => {
    const world = new World({ blobBytes: 10 })
    await requestRun(world)
    await beginRun(world)
    await world.manager.close()
    expect(await world.process().trimStream(ID, { maxEntries: 0 })).toBe(2)
    const nextWriter = await world.process().createWriter(ID, { runId: 'r1', agentType: 'assistant' })
    await nextWriter.begin()
    const run = await internalRun(world)
    const blob = await world.manager.blob(ID, run?.blobs?.['/context']?.hash as string)
    expect(JSON.parse(Buffer.from(blob as Uint8Array).toString())).toEqual(CONTEXT)
  })
})

describe('a request that resumes a run', () => {
  const resume = { runId: 'r0', mode: 'with-message', fromCheckpointId: 'cp', fromStepCount: 2 } as const

  test('starts a run that names it, with run-resumed in the same batch', async () => {
    const world = new World()
    await requestRun(world, CONTEXT, { resume })
    await beginRun(world)
    const log = await world.log()
    expect(log.slice(2).map(({ chunk }) => chunk)).toEqual([
      { type: 'run-started', program: 'agent:assistant@1', resumes: 'r0' },
      { type: 'message', ...hello },
      { type: 'run-resumed', mode: 'with-message', fromCheckpointId: 'cp', fromStepCount: 2 },
      { type: 'run-context', context: CONTEXT },
    ])
    const { view, ticket } = await world.manager.view(ID)
    expect(view.runs).toMatchObject([{ runId: 'r1', resumes: 'r0', status: 'running', at: 3 }])
    expect(view.requests).toMatchObject([{ runId: 'r1', resume, status: 'started' }])
    expect(ticket.run).toMatchObject({ runId: 'r1', paused: false })
  })

  test('may rewind the session in the batch that starts the run', async () => {
    const world = new World()
    const writer = await world.writer('r0')
    await writer.commit([], { closesStep: true })
    const { sequence } = writer.cursor
    await writer.commit([{ type: 'output', output: 1 }])
    await world.manager.append(ID, 'ada', stop('r0'))
    expect(await world.manager.endStream(ID)).toBe('interrupted')
    await writer.close()
    const cut = { toSequence: sequence, reason: 'from-checkpoint' }
    await requestRun(world, CONTEXT, { resume: { runId: 'r0', mode: 'from-checkpoint' }, cut })
    await beginRun(world)
    const { runs } = (await world.manager.view(ID)).view
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    expect((await world.lines()).slice(-5)).toEqual(['rewind', 'run-started', 'message', 'run-resumed', 'run-context'])
    // A retry rewinds to just before the `run-started` of the run, even if a rewind precedes that.
    expect(runs.find(({ runId }) => runId === 'r1')).toMatchObject({ at: head - 3, resumes: 'r0' })
    await world.manager.endStream(ID)
    await world.manager.close()
    const again = request('r2', { cut: { toSequence: head - 4, reason: 'retry' } })
    expect(await world.manager.append(ID, 'ada', again)).toMatchObject({ outcome: 'appended' })
  })

  test('is refused without a valid run id and mode', async () => {
    const world = new World()
    for (const runId of ['', 'x'.repeat(513)]) {
      expect(await failure(requestRun(world, 1, { resume: { ...resume, runId } }))).toBe('invalid')
    }
    expect(await failure(requestRun(world, 1, { resume: { ...resume, mode: 'somehow' } }))).toBe('invalid')
  })
})
