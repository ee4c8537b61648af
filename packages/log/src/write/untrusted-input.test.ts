import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { delta, failure, ID, thrown, World } from '../manager/manager-world.fixture.ts'

describe('a writer does not trust its input', () => {
  test('stores a chunk as it was checked, even if the object changes later', async () => {
    const world = new World()
    const writer = await world.writer()
    const held = world.tap.hold('append')
    const chunk = { type: 'data-x', data: { n: 1 } } as Extract<Chunk, { type: `data-${string}` }> & {
      data: { n: number }
    }
    const write = writer.write(chunk)
    Object.assign(chunk, { type: 'run-finished', status: 'completed' })
    chunk.data.n = 2
    held.open()
    await write.appended
    expect((await world.log()).at(-1)?.chunk).toEqual({ type: 'data-x', data: { n: 1 } })

    const nothing = { type: 'data-x', data: 1, toJSON: () => undefined } as unknown as Chunk
    expect(thrown(() => writer.write(nothing))).toBe('invalid')
    const forged = { type: 'data-x', data: 1, toJSON: () => ({ type: 'run-finished', status: 'completed' }) }
    expect(thrown(() => writer.write(forged as unknown as Chunk))).toBe('invalid')
    expect((await world.log()).every(entry => typeof entry.chunk.type === 'string')).toBe(true)
  })

  test('law 6: the fields beside a delta count, and a rejected delta does not stop the writer', async () => {
    const world = new World()
    const writer = await world.writer()
    const heavy = Object.assign(delta('x'), { extra: 'y'.repeat(3_000_000) })
    expect(thrown(() => writer.write(heavy))).toBe('too-large')
    expect(thrown(() => writer.write({ ...delta('x'), extra: 1n } as unknown as Chunk))).toBe('invalid')
    await writer.write(delta('on'))
    await writer.flush()
    expect((await world.lines()).at(-1)).toContain('on')
  })

  test('law 10: chunks that commit, end or discard a lane are never internal', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([{ type: 'status', message: 'x' }], { internal: true })
    const [wordEntry, seal] = (await world.log()).slice(-2)
    expect([wordEntry?.internal, seal?.chunk.type, seal?.internal]).toEqual([true, 'checkpoint-created', undefined])
    const start: Chunk = { type: 'subagent-start', agentId: 'a', agentType: 'b', toolCallId: 'c' }
    expect(thrown(() => writer.write(start, { internal: true }))).toBe('invalid')
  })

  test('rejects invalid origins', async () => {
    const world = new World()
    const writer = await world.writer()
    for (const origin of [
      { step: Number.NaN },
      { step: -1 },
      { step: 'a' },
      { agentId: undefined },
      { guest: 'ann' },
    ]) {
      expect(thrown(() => writer.lane({ lane: 'x', ...origin } as never))).toBe('invalid')
    }
    expect(thrown(() => writer.write(delta('x'), { step: 0.5 }))).toBe('invalid')
  })

  test('rejects a deadline that is not in integer milliseconds', async () => {
    const world = new World()
    const writer = await world.writer()
    const ask = (deadline: number): Chunk => ({
      type: 'interrupt',
      interruptId: 'i',
      input: { kind: 'text' },
      deadline,
    })
    for (const deadline of [1e20, 0.5]) expect(await failure(writer.commit([ask(deadline)]))).toBe('refused')
    expect(await writer.commit([ask(99)])).toMatchObject({ outcome: 'appended' })
  })
})

describe('law 3: a discard', () => {
  test.each([0, 1, 2, 3, 4, 8])('retracts or drops a write that was made %i microtasks before', async turns => {
    const world = new World({ coalesceMs: 0 })
    const writer = await world.writer()
    const write = writer.write(delta('word'))
    for (let i = 0; i < turns; i++) await undefined
    const wasThere = await writer.main.discard({ reason: 'retry' })
    const { outcome } = await write.appended
    expect([outcome, wasThere]).toEqual(outcome === 'dropped' ? ['dropped', false] : ['appended', true])
  })
})

test('flush rejects with a rejected write, once', async () => {
  const world = new World()
  const writer = await world.writer()
  const held = world.tap.hold('append')
  const end = world.manager.endStream(ID)
  await held.arrived
  const write = writer.write(delta('late'))
  held.open()
  expect(await end).toBe('completed')
  expect(await failure(writer.flush())).toBe('refused')
  expect(await failure(write.appended)).toBe('refused')
  await writer.flush()
})

test('law 7: an ended run does not start again, however many ended since', async () => {
  const world = new World()
  for (const runId of ['r1', 'r2', 'r3']) {
    const writer = await world.manager.createWriter(ID, { runId, agentType: 'assistant' })
    await writer.commit([])
    await world.manager.endStream(ID)
    await writer.close()
  }
  const again = await world.manager.createWriter(ID, { runId: 'r1', agentType: 'assistant' })
  expect(await failure(again.commit([]))).toBe('refused')
  await again.close()
})
