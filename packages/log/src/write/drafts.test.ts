import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { ask, delta, failure, ID, output, request, stop, thrown, World } from '../manager/manager-world.fixture.ts'

const input = (toolCallId: string, text = '{'): Chunk => ({ type: 'tool-input-delta', toolCallId, delta: text })
const retry = { reason: 'retry' }

async function lanes(world = new World()) {
  const writer = await world.writer()
  const tool = writer.lane({ lane: 'tool' })
  return { world, writer, tool }
}

describe('the targets of a draft belong to its lane', () => {
  test('rejects a draft chunk of another lane until the draft is committed or discarded', async () => {
    const { writer, tool } = await lanes()
    for (const end of [() => writer.commit([]), () => writer.main.discard(retry)]) {
      writer.write(delta('a'))
      expect(thrown(() => tool.write(delta('b')))).toBe('refused')
      expect(thrown(() => tool.write(delta('b', '2')))).toBe('nothing was thrown')
      await end()
      expect(thrown(() => tool.write(delta('b')))).toBe('nothing was thrown')
      await tool.discard(retry)
    }
  })

  test('rejects a committed chunk of another lane about the same call, which the fold would drop', async () => {
    const { world, writer, tool } = await lanes()
    writer.write(input('c1'))
    expect(thrown(() => tool.write({ ...output('c1'), preliminary: true } as Chunk))).toBe('refused')
    expect(thrown(() => tool.write(output('c1')))).toBe('refused')
    expect(await failure(tool.commit([output('c1')]))).toBe('refused')
    expect(await failure(writer.decide(() => [{ chunk: output('c1'), lane: tool }]))).toBe('refused')
    await writer.commit([{ type: 'tool-input-available', toolCallId: 'c1', toolName: 't', input: {} }])
    await tool.commit([output('c1')])
    const { view } = await world.manager.view(ID)
    expect(view.messages[0]?.parts).toMatchObject([{ toolCallId: 'c1', state: 'output-available' }])
  })

  test('a discard drops preliminary outputs and keeps the final one', async () => {
    const { world, writer, tool } = await lanes()
    const held = world.tap.hold('append')
    writer.write({ type: 'step-start' })
    await held.arrived
    const preliminary = tool.write({ ...output('c1'), preliminary: true } as Chunk)
    const final = tool.write(output('c1'))
    const discarded = tool.discard(retry)
    held.open()
    expect(await discarded).toBe(false)
    expect([(await preliminary.appended).outcome, (await final.appended).outcome]).toEqual(['dropped', 'appended'])
  })

  test('checks the targets within a batch, in its order', async () => {
    const { writer, tool } = await lanes()
    writer.write(input('c1'))
    const seal: Chunk = { type: 'checkpoint-created', checkpointId: 'x' }
    const call: Chunk = { type: 'tool-input-available', toolCallId: 'c1', toolName: 't', input: {} }
    const toolOutput = { chunk: output('c1'), lane: tool }
    expect(await failure(writer.commit([call, toolOutput, seal]))).toBe('refused')
    expect(await failure(writer.commit([call, seal, toolOutput, { chunk: seal, lane: tool }]))).toBe(
      'nothing was thrown',
    )
  })

  test('commits the draft chunks that a commit contains', async () => {
    const { writer, tool } = await lanes()
    await writer.commit([delta('a')])
    expect(thrown(() => tool.write(delta('b')))).toBe('nothing was thrown')
    expect(await writer.main.discard(retry)).toBe(false)
  })

  test('a discard takes back a chunk that was written while a decision with a checkpoint was in flight', async () => {
    const { world, writer } = await lanes()
    await writer.write(delta('kept')).appended
    const held = world.tap.hold('append')
    const decided = writer.decide(() => [{ type: 'checkpoint-created', checkpointId: 'x' }])
    await held.arrived
    const late = writer.write(delta(' lost'))
    held.open()
    await decided
    await writer.main.discard(retry)
    await writer.flush()
    expect((await late.appended).outcome).toBe('dropped')
    const { view } = await world.manager.view(ID)
    expect(view.messages[0]?.parts).toMatchObject([{ text: 'kept' }])
  })

  test('the end of a sub-agent frees the targets of its lanes', async () => {
    const { writer } = await lanes()
    const child = writer.lane({ lane: 'child', agentId: 'sub', agentType: 's' })
    child.write({ type: 'structured-data', streamId: 'o', dataType: 'd', kind: 'set', path: 'a', value: 1 })
    const more: Chunk = { type: 'structured-data', streamId: 'o', dataType: 'd', kind: 'set', path: 'b', value: 1 }
    expect(thrown(() => writer.write(more))).toBe('refused')
    await writer.commit([
      { type: 'subagent-end', agentId: 'sub', agentType: 's', toolCallId: 'c', status: 'completed' },
    ])
    expect(thrown(() => writer.write(more))).toBe('nothing was thrown')
  })

  test('parts of other agents may have the same ids', async () => {
    const { writer } = await lanes()
    writer.write(delta('a'))
    const child = writer.lane({ lane: 'child', agentId: 'sub', agentType: 's' })
    expect(thrown(() => child.write(delta('b')))).toBe('nothing was thrown')
  })

  test('a commit that was not appended leaves the draft open', async () => {
    const { world, writer, tool } = await lanes()
    await writer.write(delta('a')).appended
    await world.manager.append(ID, 'ada', request('r2', { whenBusy: 'queue' }))
    expect(await writer.commit([ask('x')])).toMatchObject({ outcome: 'moved' })
    expect(thrown(() => tool.write(delta('b')))).toBe('refused')
    expect(await writer.main.discard(retry)).toBe(true)
    const { view } = await world.manager.view(ID)
    expect(view.messages).toEqual([])
  })
})

describe('a discard', () => {
  test('drops unsent draft chunks, and writes nothing', async () => {
    const { world, writer, tool } = await lanes()
    const held = world.tap.hold('append')
    writer.write(delta('a'))
    await held.arrived
    const queued = tool.write(delta('b', '2'))
    const discarded = tool.discard(retry)
    expect(await queued.appended).toEqual({ outcome: 'dropped' })
    expect(await discarded).toBe(false)
    held.open()
    await writer.flush()
    expect((await world.lines()).slice(2)).toEqual(['text-delta 1 a'])
    expect(await tool.discard(retry)).toBe(false)
  })

  test('law 3: retracts sent draft chunks and drops unsent ones, of its own lane only', async () => {
    const { world, writer, tool } = await lanes()
    await Promise.all([writer.write(delta('a')).appended, tool.write(delta('b', '2')).appended])
    const held = world.tap.hold('append')
    writer.write({ type: 'text-end', id: '1' })
    await held.arrived
    const rest = tool.write(delta('c', '2'))
    const discarded = tool.discard(retry)
    held.open()
    expect(await discarded).toBe(true)
    expect(await rest.appended).toEqual({ outcome: 'dropped' })
    expect((await world.lines()).slice(2)).toEqual([
      'text-delta 1 a',
      'tool: text-delta 2 b',
      'text-end 1',
      'tool: step-discarded',
    ])
    const { view } = await world.manager.view(ID)
    expect(view.messages[0]?.parts).toMatchObject([{ type: 'text', text: 'a' }])
  })

  test('keeps draft chunks that a commit in flight contains', async () => {
    const { world, writer } = await lanes()
    const held = world.tap.hold('append')
    writer.write({ type: 'step-start' })
    await held.arrived
    const committed = writer.write(delta('kept'))
    const commit = writer.commit([])
    const discardedWrite = writer.write(delta('gone', '2'))
    const discarded = writer.main.discard(retry)
    held.open()
    expect(await discarded).toBe(false)
    expect(await commit).toMatchObject({ outcome: 'appended' })
    expect([(await committed.appended).outcome, (await discardedWrite.appended).outcome]).toEqual([
      'appended',
      'dropped',
    ])
    expect((await world.lines()).slice(2)).toEqual(['step-start', 'text-delta 1 kept', 'checkpoint-created'])
  })

  test('keeps draft chunks that are written after it was requested', async () => {
    const { world, writer } = await lanes()
    await writer.write(delta('first try')).appended
    const held = world.tap.hold('append')
    const discarded = writer.main.discard(retry)
    await held.arrived
    writer.write(delta('second try'))
    held.open()
    expect(await discarded).toBe(true)
    await writer.flush()
    expect((await world.lines()).slice(2)).toEqual([
      'text-delta 1 first try',
      'step-discarded',
      'text-delta 1 second try',
    ])
    // These are a new draft, and are in the log.
    expect(await writer.main.discard(retry)).toBe(true)
  })

  test('does nothing after the end of the run', async () => {
    const { world, writer } = await lanes()
    await writer.write(delta('a')).appended
    const held = world.tap.hold('append')
    const ended = world.manager.endStream(ID)
    await held.arrived
    const discarded = writer.main.discard(retry)
    held.open()
    await ended
    expect(await discarded).toBe(false)
    expect((await world.lines()).at(-1)).toBe('run-finished')
  })

  test('does nothing if the run must stop', async () => {
    const { world, writer } = await lanes()
    await writer.write(delta('shown')).appended
    await world.manager.append(ID, 'ada', stop('r1'))
    expect(await writer.main.discard(retry)).toBe(false)
    await world.manager.endStream(ID)
    const { view } = await world.manager.view(ID)
    expect(view.messages[0]?.parts).toMatchObject([{ text: 'shown', state: 'done' }])
  })

  test('drops the unsent draft of a lane behind a long queue of another lane', async () => {
    const world = new World({ maxEntryBytes: 4096 })
    const { writer, tool } = await lanes(world)
    const held = world.tap.hold('append')
    writer.write({ type: 'step-start' })
    await held.arrived
    // More than one append of the main lane, and then a delta of the tool, which is in none of them yet.
    writer.write(delta('x'.repeat(3000)))
    tool.write(delta('b', '2'))
    const second = world.tap.hold('append')
    held.open()
    await world.clock.advance(16)
    await second.arrived
    expect(await tool.discard(retry)).toBe(false)
    second.open()
    await settled()
    await writer.flush()
    expect((await world.lines()).filter(line => line.startsWith('tool'))).toEqual([])
  })
})
