import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { ask, delta, failure, ID, lineOf, request, stop, World } from '../manager/manager-world.fixture.ts'
import { collect, open, read } from '../manager/reading.fixture.ts'
import { StreamTruncatedError } from '../store/log-error.ts'
import type { Writer } from '../write/writer.ts'

/** A step: deltas and their commit. */
async function step(writer: Writer, n: number, text = `step ${n}`) {
  writer.write(delta(text, `${writer.main.origin.runId}-${n}`), { step: n })
  await writer.commit([], { step: n, closesStep: true })
}

/** An ended run with this many steps. */
async function run(world: World, runId: string, steps: number) {
  const writer = await world.writer(runId)
  for (let n = 1; n <= steps; n++) await step(writer, n, `${runId} step ${n}`)
  await world.manager.endStream(ID)
  await writer.close()
}

const texts = async (world: World): Promise<string[]> => {
  const { view } = await world.manager.view(ID)
  return view.messages.flatMap(({ parts }) => parts.map(part => (part as { text?: string }).text ?? part.type))
}
const seen = (lines: string[]) =>
  lines.filter(line => line.startsWith('text-delta')).map(line => line.split(' ').slice(2).join(' '))

describe('cleanupToStep with a floor', () => {
  test('discards the drafts of the open run after the step, and nothing of an earlier turn', async () => {
    const world = new World()
    await run(world, 'r1', 3)
    const writer = await world.writer('r2')
    const minSequence = writer.cursor.sequence
    // Its step is lower than those of the turn before.
    writer.write(delta('r2 half', 'x'), { step: 1 })
    writer.lane({ lane: 'tool', step: 1 }).write(delta('r2 tool', 'y'))
    await writer.flush()
    expect(await world.manager.cleanupToStep(ID, 0, { minSequence })).toBe(2)
    expect(await texts(world)).toEqual(['r1 step 1', 'r1 step 2', 'r1 step 3'])
    expect((await world.lines()).slice(-2)).toEqual(['step-discarded', 'tool: step-discarded'])
  })

  test('keeps committed entries, entries of earlier steps, and entries before the floor', async () => {
    const world = new World()
    const writer = await world.writer()
    await step(writer, 1)
    writer.write(delta('of step 2', 'a'), { step: 2 })
    await writer.flush()
    const { sequence } = writer.cursor
    expect(await world.manager.cleanupToStep(ID, 2, { minSequence: 0 })).toBe(0)
    expect(await world.manager.cleanupToStep(ID, 1, { minSequence: sequence })).toBe(0)
    expect(await texts(world)).toEqual(['step 1', 'of step 2'])
    expect(await world.manager.cleanupToStep(ID, 1, { minSequence: sequence - 1 })).toBe(1)
    expect(await texts(world)).toEqual(['step 1'])
    // A second call discards nothing.
    expect(await world.manager.cleanupToStep(ID, 1, { minSequence: 0 })).toBe(0)
  })

  test('compares steps for the root agent only; for other agents the sequence decides', async () => {
    const world = new World()
    const writer = await world.writer()
    await step(writer, 5)
    const minSequence = writer.cursor.sequence
    const child = writer.lane({ lane: 'child', agentId: 'sub', agentType: 's', step: 1 })
    child.write(delta('child', 'c'))
    writer.write(delta('root', 'r'), { step: 5 })
    await writer.flush()
    expect(await world.manager.cleanupToStep(ID, 5, { minSequence })).toBe(1)
    expect((await world.lines()).slice(-1)).toEqual(['child: step-discarded'])
    expect(await texts(world)).toEqual(['step 5', 'root'])
  })

  test('discards nothing that was written while it read the log', async () => {
    const world = new World()
    const writer = await world.writer()
    writer.write(delta('old', 'a'), { step: 1 })
    await writer.flush()
    const held = world.tap.hold('read', 'after')
    const cleaned = world.manager.cleanupToStep(ID, 1, { minSequence: 0 })
    await held.arrived
    // The draft of step 1 is committed, and one of step 2 begins.
    await writer.commit([], { step: 1 })
    writer.write(delta('new', 'b'), { step: 1 })
    held.open()
    expect(await cleaned).toBe(0)
    expect(await texts(world)).toEqual(['old', 'new'])
  })

  test('works in a process without a writer, and keeps the drafts of a run that must stop', async () => {
    const world = new World()
    const writer = await world.writer()
    writer.write(delta('half', 'a'), { step: 1 })
    await writer.close()
    const other = world.process()
    await other.append(ID, 'ada', stop('r1'))
    expect(await other.cleanupToStep(ID, 0, { minSequence: 0 })).toBe(0)
    const again = new World()
    const second = await again.writer()
    second.write(delta('half', 'a'), { step: 1 })
    await second.close()
    expect(await again.process().cleanupToStep(ID, 0, { minSequence: 0 })).toBe(1)
    expect(await texts(again)).toEqual([])
  })

  test('the writer continues after it', async () => {
    const world = new World()
    const writer = await world.writer()
    writer.write(delta('half', 'a'), { step: 1 })
    await world.manager.cleanupToStep(ID, 0, { minSequence: 0 })
    writer.lane({ lane: 'tool' }).write(delta('again', 'a'), { step: 1 })
    await writer.flush()
    expect(await texts(world)).toEqual(['again'])
  })
})

describe('cleanupToStep without a floor', () => {
  test('requests a rewind to the end of that step, which retracts all later runs', async () => {
    const world = new World()
    await run(world, 'r1', 3)
    await run(world, 'r2', 2)
    const cut = await world.manager.cleanupToStep(ID, 2, { runId: 'r1', nextRunId: 'r3' })
    expect(cut).toEqual({ runId: 'r3', toSequence: 6 })
    // Nothing is retracted before the run that begins with the rewind.
    expect(await texts(world)).toHaveLength(5)
    await world.writer('r3')
    expect((await world.lines()).slice(-3)).toEqual(['rewind', 'run-started', 'checkpoint-created'])
    expect(await texts(world)).toEqual(['r1 step 1', 'r1 step 2'])
  })

  test('uses the latest run by default, and rewinds to before the run for step 0', async () => {
    const world = new World()
    await run(world, 'r1', 1)
    await run(world, 'r2', 2)
    expect(await world.manager.cleanupToStep(ID, 0, { nextRunId: 'r3' })).toMatchObject({ runId: 'r3' })
    await world.writer('r3')
    expect(await texts(world)).toEqual(['r1 step 1'])
  })

  test('counts as a stop of the open run', async () => {
    const world = new World()
    const writer = await world.writer()
    await step(writer, 1)
    writer.write(delta('half', 'a'), { step: 2 })
    await writer.flush()
    await world.manager.cleanupToStep(ID, 1, { nextRunId: 'r2' })
    expect(await world.manager.endStream(ID)).toBe('interrupted')
    await writer.close()
    await world.writer('r2')
    expect(await texts(world)).toEqual(['step 1'])
  })

  test('requests nothing if nothing follows that step, and is refused for an unknown step', async () => {
    const world = new World()
    expect(await failure(world.manager.cleanupToStep(ID, 1))).toBe('absent')
    const writer = await world.writer()
    await step(writer, 1)
    expect(await world.manager.cleanupToStep(ID, 1)).toBeUndefined()
    expect(await failure(world.manager.cleanupToStep(ID, 7))).toBe('refused')
    expect(await failure(world.manager.cleanupToStep(ID, 1, { runId: 'other' }))).toBe('refused')
  })

  test('is refused if a call or pending was open at the end of that step', async () => {
    const world = new World()
    const writer = await world.writer()
    writer.lane({ lane: 'tool' }).write(delta('at work', 'x'))
    await step(writer, 1)
    await writer.commit([{ type: 'tool-input-available', toolCallId: 'call-a', toolName: 't', input: 1 }, ask('a')], {
      step: 2,
      closesStep: true,
    })
    await step(writer, 3)
    // A tool was running there, and at the second an approval was open.
    expect(await failure(world.manager.cleanupToStep(ID, 1))).toBe('refused')
    expect(await failure(world.manager.cleanupToStep(ID, 2))).toBe('refused')
  })

  test('law 3: rewinds to a commit of the lane on which the run began, whatever its name, and of no other', async () => {
    for (const lane of ['main', 'root']) {
      const world = new World()
      const writer = await world.manager.createWriter(ID, { runId: 'r1', agentType: 'assistant', lane })
      await writer.commit([], { step: 1, closesStep: true })
      const headBefore = writer.cursor.sequence
      await writer.lane({ lane: 'tool', step: 1 }).commit([], { step: 1, closesStep: true })
      if (lane !== 'main') await writer.lane({ lane: 'main', step: 1 }).commit([], { step: 1, closesStep: true })
      await world.manager.endStream(ID)
      await writer.close()
      for (let to = headBefore + 1; to <= writer.cursor.sequence; to++) {
        const cut = { toSequence: to, reason: 'other' }
        expect(await world.manager.append(ID, 'ada', request(`x${to}`, { cut }))).toMatchObject({ reason: 'gone' })
      }
      expect(await world.manager.cleanupToStep(ID, 1)).toMatchObject({ toSequence: headBefore })
    }
  })

  test('law 3: uses the lane named main if the start of the run is trimmed', async () => {
    const world = new World()
    await run(world, 'r1', 2)
    const writer = await world.writer('r2')
    await writer.commit([], { step: 1, closesStep: true })
    const headBefore = writer.cursor.sequence
    await writer.lane({ lane: 'tool', step: 1 }).commit([], { step: 1 })
    await world.manager.endStream(ID)
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    expect(await world.manager.trimStream(ID, { maxEntries: head - headBefore + 1 })).toBe(headBefore - 1)
    const cut = (to: number) =>
      world.manager.append(ID, 'ada', request(`x${to}`, { cut: { toSequence: to, reason: 'x' } }))
    expect(await cut(headBefore + 1)).toMatchObject({ reason: 'gone' })
    expect(await cut(headBefore)).toMatchObject({ outcome: 'appended' })
  })

  test('is refused while another rewind waits', async () => {
    const world = new World()
    await run(world, 'r1', 3)
    await world.manager.cleanupToStep(ID, 1)
    expect(await failure(world.manager.cleanupToStep(ID, 2))).toBe('refused')
  })

  test('is refused if an earlier rewind retracted that sequence', async () => {
    const world = new World()
    await run(world, 'r1', 3)
    await world.manager.cleanupToStep(ID, 1, { nextRunId: 'r2' })
    await run(world, 'r2', 1)
    expect(await failure(world.manager.cleanupToStep(ID, 2, { runId: 'r1' }))).toBe('refused')
    expect(await world.manager.cleanupToStep(ID, 1, { runId: 'r1', nextRunId: 'r3' })).toMatchObject({ runId: 'r3' })
  })
})

describe('readers and rewinds (guarantee G4)', () => {
  /** Readers of each kind at the head of a run with one committed step and one draft. */
  async function watched(world: World) {
    const writer = await world.writer()
    await step(writer, 1)
    writer.write(delta('draft', 'd'), { step: 2 })
    await writer.flush()
    const follower = collect(await open(world, { follow: true }))
    const thrown = collect(await open(world, { follow: true, onRetraction: 'throw' }))
    const middle = writer.cursor.sequence
    await settled()
    return { writer, follower, thrown, middle }
  }

  test('discard: a reader that has read past it gets it, or an error by option; a later reader gets the remaining entries', async () => {
    const world = new World()
    const { writer, follower, thrown, middle } = await watched(world)
    await world.manager.cleanupToStep(ID, 1, { minSequence: 0 })
    const at = writer.cursor.sequence
    await settled()
    expect(follower.items.map(lineOf).slice(-2)).toEqual(['text-delta d draft', 'step-discarded'])
    const error = await thrown.done.then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(error).toBeInstanceOf(StreamTruncatedError)
    expect(error).toMatchObject({ code: 'truncated', truncatedAtStep: 1, atSequence: at })
    expect(thrown.items.map(lineOf).at(-1)).toBe('text-delta d draft')
    await world.manager.endStream(ID)
    for (const onRetraction of ['entry', 'throw'] as const) {
      expect(seen(await read(world, { onRetraction }))).toEqual(['step 1'])
      expect((await read(world, { onRetraction })).join()).not.toContain('discard')
    }
    // A reader that resumes inside the discarded draft has read some of them.
    expect((await read(world, { after: middle }))[0]).toBe('step-discarded')
    expect(await failure((await open(world, { after: middle, onRetraction: 'throw' })).next())).toBe('truncated')
    // A reader that resumes before them has not.
    expect(seen(await read(world, { after: middle - 1, onRetraction: 'throw' }))).toEqual([])
  })

  test('rewind: a reader that has read past it gets it, or an error by option; a later reader gets the remaining entries', async () => {
    const world = new World()
    await run(world, 'r1', 2)
    await run(world, 'r2', 1)
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    const follower = collect(await open(world, { follow: true }))
    const thrown = collect(await open(world, { follow: true, onRetraction: 'throw' }))
    await settled()
    await world.manager.cleanupToStep(ID, 1, { runId: 'r1', nextRunId: 'r3' })
    const writer = await world.writer('r3')
    await settled()
    expect(follower.items.map(lineOf).slice(-3)).toEqual(['rewind', 'run-started', 'checkpoint-created'])
    const error = await thrown.done.catch((error: unknown) => error)
    expect(error).toMatchObject({ name: 'StreamTruncatedError', truncatedAtStep: 1, atSequence: head + 2 })
    await step(writer, 1, 'r3 step 1')
    await world.manager.endStream(ID)
    for (const onRetraction of ['entry', 'throw'] as const) {
      expect(seen(await read(world, { onRetraction }))).toEqual(['r1 step 1', 'r3 step 1'])
    }
    expect((await read(world, { after: head }))[1]).toBe('rewind')
    expect((await read(world, { after: 4, onRetraction: 'throw' })).length).toBeGreaterThan(0)
  })

  test('a reader that has not read the retracted entries gets no error', async () => {
    const world = new World()
    const writer = await world.writer()
    await step(writer, 1)
    const slow = world.manager.readBatches(ID, { onRetraction: 'throw', follow: true })
    expect((await slow.next())?.sequence).toBe(4)
    writer.write(delta('draft', 'd'), { step: 2 })
    await writer.main.discard({ reason: 'retry' })
    writer.write(delta('second try', 'd'), { step: 2 })
    await writer.flush()
    const rest: string[] = []
    while (!rest.includes('text-delta d second try')) rest.push(...((await slow.next())?.entries.map(lineOf) ?? []))
    expect(rest).toEqual(['text-delta d second try'])
    slow.close()
  })

  test('a reader to which no retracted entry was visible gets no error', async () => {
    const world = new World()
    const writer = await world.writer()
    const thrown = collect(await open(world, { onRetraction: 'throw' }))
    const scoped = collect(await open(world, { onRetraction: 'throw', runId: 'r2', follow: true }))
    const all = collect(await open(world, { onRetraction: 'throw', internal: true }))
    await settled()
    await writer.write(delta('secret'), { internal: true }).appended
    await settled()
    await writer.main.discard({ reason: 'retry' })
    await world.manager.endStream(ID)
    await writer.close()
    await thrown.done
    expect(thrown.items.map(lineOf)).toEqual(['run-started', 'checkpoint-created', 'finish', 'run-finished'])
    expect(await failure(all.done)).toBe('truncated')
    await world.manager.cleanupToStep(ID, 0, { runId: 'r1', nextRunId: 'r2' })
    await world.writer('r2')
    await world.manager.endStream(ID)
    await scoped.done
    expect(scoped.items.map(lineOf).slice(-3)).toEqual(['checkpoint-created', 'finish', 'run-finished'])
    // A reader that resumes after the internal entry has not seen it either.
    expect((await read(world, { onRetraction: 'throw', after: 5, runId: 'r2' })).at(-1)).toBe('run-finished')
  })

  test('a reader with `includeDiscarded` gets every entry as written', async () => {
    const world = new World()
    const { writer } = await watched(world)
    await writer.main.discard({ reason: 'retry' })
    await world.manager.endStream(ID)
    expect(await read(world, { includeDiscarded: true })).toEqual(await world.lines())
  })

  test('law 3: a discard retracts no draft chunk of another lane and no guest’s entry', async () => {
    const world = new World()
    const writer = await world.writer()
    const tool = writer.lane({ lane: 'tool' })
    await Promise.all([writer.write(delta('mine', 'a')).appended, tool.write(delta('its', 'b')).appended])
    await world.manager.append(ID, 'ada', request('q', { whenBusy: 'queue' }))
    await writer.main.discard({ reason: 'retry' })
    await tool.commit([])
    await world.manager.endStream(ID)
    expect(await read(world)).toEqual([
      'run-started',
      'checkpoint-created',
      'tool: text-delta b its',
      'ada: run-requested',
      'tool: checkpoint-created',
      'finish',
      'run-finished',
    ])
  })
})
