import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { ask, delta, failure, ID, thrown, World } from '../manager/manager-world.fixture.ts'

/** The first entries of every run. */
const STARTED = ['run-started', 'checkpoint-created']

/** Starts a run and resets the counts of store calls. */
async function startedWriter(world: World) {
  const writer = await world.writer()
  world.tap.reset()
  return writer
}

describe('a writer coalesces', () => {
  test('sends the first delta at once, and those within 16 ms together', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    writer.write(delta('a'))
    await settled()
    expect(world.tap.count('append')).toBe(1)
    for (const text of ['b', 'c', 'd']) {
      await world.clock.advance(5)
      writer.write(delta(text))
    }
    await settled()
    expect(world.tap.count('append')).toBe(1)
    await world.clock.advance(1)
    expect(world.tap.count('append')).toBe(2)
    expect((await world.lines()).slice(2)).toEqual(['text-delta 1 a', 'text-delta 1 bcd'])
  })

  test('sends what arrives during an append in the next one', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    const held = world.tap.hold('append')
    writer.write(delta('a'))
    await held.arrived
    for (const text of ['b', 'c']) {
      await world.clock.advance(50)
      writer.write(delta(text))
    }
    expect(world.tap.count('append')).toBe(1)
    held.open()
    await settled()
    expect((await world.lines()).slice(2)).toEqual(['text-delta 1 a', 'text-delta 1 bc'])
  })

  test('merges deltas by part, on every lane, in the order in which each part began', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    const tool = writer.lane({ lane: 'tool' })
    for (const text of ['1', '2', '3']) {
      writer.write(delta(text, 'a'))
      tool.write(delta(text, 'b'))
    }
    await writer.flush()
    expect((await world.lines()).slice(2)).toEqual(['text-delta a 123', 'tool: text-delta b 123'])
    expect(world.tap.count('append')).toBe(1)
  })

  test('anything but a delta flushes the queue at once, in order', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    writer.write(delta('a'))
    await settled()
    writer.write(delta('b'))
    writer.write({ type: 'text-end', id: '1' })
    writer.write(delta('c', '2'))
    await settled()
    expect(world.tap.count('append')).toBe(2)
    expect((await world.lines()).slice(2)).toEqual(['text-delta 1 a', 'text-delta 1 b', 'text-end 1', 'text-delta 2 c'])
  })

  test('a fast model costs about sixty appends a second, and no delta is lost', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    const words = Array.from({ length: 1000 }, (_, i) => `${i} `)
    for (const word of words) {
      writer.write(delta(word))
      await world.clock.advance(1)
    }
    await writer.flush()
    expect(world.tap.count('append')).toBeGreaterThan(50)
    expect(world.tap.count('append')).toBeLessThanOrEqual(65)
    const log = await world.log()
    expect(log.map(({ chunk }) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('')).toBe(words.join(''))
  })

  test('writes that were sent together have the same result', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    const writes = ['a', 'b', 'c'].map(text => writer.write(delta(text)))
    const appended = await Promise.all(writes.map(write => write.appended))
    expect(appended).toEqual(Array(3).fill({ outcome: 'appended', first: 3, last: 3, clock: world.clock.now() }))
  })

  test('leaves no timers behind', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    writer.write(delta('a'))
    await settled()
    writer.write(delta('b'))
    await writer.close()
    expect(world.clock.alarms).toBe(0)
    expect((await world.lines()).slice(2)).toEqual(['text-delta 1 a', 'text-delta 1 b'])
  })
})

describe('a writer keeps order', () => {
  test('a write after a commit comes after it, also if the commit depends on the ticket', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    const held = world.tap.hold('append')
    writer.write(delta('before'))
    await held.arrived
    const commit = writer.commit([ask('a')])
    writer.write(delta('after', '2'))
    held.open()
    await commit
    await writer.flush()
    expect((await world.lines()).slice(2)).toEqual([
      'text-delta 1 before',
      'tool-approval-request call-a',
      'checkpoint-created',
      'text-delta 2 after',
    ])
  })

  test('unawaited decisions are made one after the other, each on the ticket that the one before left', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    const seen: number[] = []
    const decide = (id: string) =>
      writer.decide(({ pendings }) => {
        seen.push(pendings.length)
        return [ask(id)]
      })
    await Promise.all([decide('a'), decide('b'), decide('c')])
    expect(seen).toEqual([0, 1, 2])
    expect(await world.manager.getInfo(ID)).toMatchObject({
      ticket: { pendings: [{ id: 'a' }, { id: 'b' }, { id: 'c' }] },
    })
  })

  test('law 5: a commit that settles a pending of an earlier one in flight changes the ticket with it', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    const opens = writer.commit([ask('a')])
    const settles = writer.commit([{ type: 'tool-output-denied', toolCallId: 'call-a' }])
    expect([await opens, await settles]).toMatchObject([{ outcome: 'appended' }, { outcome: 'appended' }])
    expect(await world.manager.getInfo(ID)).toMatchObject({ ticket: { pendings: [], settled: ['approval:a'] } })
  })

  test('law 7: rejects a draft chunk written while the end of the run is in flight', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    const held = world.tap.hold('append')
    const ended = world.manager.endStream(ID)
    await held.arrived
    const late = writer.lane({ lane: 'tool' }).write(delta('too late'))
    held.open()
    await ended
    await world.clock.advance(16)
    expect(await failure(late.appended)).toBe('refused')
    expect((await world.lines()).at(-1)).toBe('run-finished')
    // The draft chunk was rejected; the writer still works.
    expect(writer.signal.aborted).toBe(false)
  })
})

describe('a writer is bounded (law 8)', () => {
  test('awaiting a write waits for room only', async () => {
    const world = new World({ queueBytes: 10_000 })
    const writer = await startedWriter(world)
    const held = world.tap.hold('append')
    // Nothing is appended, but there is room.
    await writer.write(delta('a'))
    await held.arrived
    const big = writer.write(delta('x'.repeat(20_000), '2'))
    let isRoom = false
    const waiting = Promise.resolve(big).then(() => {
      isRoom = true
    })
    await settled()
    expect(isRoom).toBe(false)
    held.open()
    await waiting
    await writer.flush()
    expect(await world.lines()).toHaveLength(4)
  })

  test('too many unawaited writes are rejected, and accepted ones are written', async () => {
    const world = new World({ queueBytes: 2000 })
    const writer = await startedWriter(world)
    const held = world.tap.hold('append')
    let accepted = 0
    const fill = () => {
      for (; accepted < 10_000; accepted++) writer.write(delta('x'))
    }
    expect(thrown(fill)).toBe('queue-full')
    expect(accepted).toBeLessThan(200)
    held.open()
    await writer.flush()
    const text = (await world.log()).map(({ chunk }) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('')
    expect(text).toHaveLength(accepted)
  })

  test('too many unawaited commits are rejected too', async () => {
    const world = new World({ queueBytes: 2000 })
    const writer = await startedWriter(world)
    const held = world.tap.hold('append')
    const commits = Array.from({ length: 1000 }, () => failure(writer.commit([{ type: 'status', message: 'x' }])))
    await settled()
    held.open()
    const codes = await Promise.all(commits)
    expect(codes.filter(code => code === 'queue-full').length).toBeGreaterThan(500)
    expect(codes[0]).toBe('nothing was thrown')
  })

  test('a discard makes room like an append', async () => {
    const world = new World({ queueBytes: 1000 })
    const writer = await startedWriter(world)
    const held = world.tap.hold('append')
    writer.write(delta('a'))
    await held.arrived
    const tool = writer.lane({ lane: 'tool' })
    const waiting = tool.write(delta('x'.repeat(5000), '2'))
    const discarded = tool.discard({ reason: 'retry' })
    await waiting
    expect(await waiting.appended).toEqual({ outcome: 'dropped' })
    expect(await discarded).toBe(false)
    held.open()
    await writer.flush()
  })
})

describe('a writer ends', () => {
  test('flush waits for everything written so far', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    const held = world.tap.hold('append')
    writer.write(delta('a'))
    let isFlushed = false
    const flushed = writer.flush().then(() => {
      isFlushed = true
    })
    await held.arrived
    await settled()
    expect(isFlushed).toBe(false)
    held.open()
    await flushed
    expect(await world.lines()).toEqual([...STARTED, 'text-delta 1 a'])
  })

  test('close flushes, releases the log, and may be called again; the run stays open', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    writer.write(delta('a'))
    await Promise.all([writer.close(), writer.close()])
    await writer.close()
    expect(await world.lines()).toEqual([...STARTED, 'text-delta 1 a'])
    expect(await world.manager.getInfo(ID)).toMatchObject({ lease: null, status: 'active' })
    expect(world.tap.count('release')).toBe(1)
    expect(writer.signal.reason).toMatchObject({ code: 'closed' })
  })

  test('nothing is accepted after close', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    const held = world.tap.hold('append')
    writer.write(delta('a'))
    const closed = writer.close()
    expect(thrown(() => writer.write(delta('b')))).toBe('closed')
    expect(await failure(writer.commit([]))).toBe('closed')
    expect(await failure(writer.decide(() => [ask('a')]))).toBe('closed')
    held.open()
    await closed
    expect(thrown(() => writer.write(delta('c')))).toBe('closed')
    expect(await world.lines()).toEqual([...STARTED, 'text-delta 1 a'])
  })

  test('a writer without writes leaves an empty log', async () => {
    const world = new World()
    const writer = await world.manager.createWriter(ID, { runId: 'r1', agentType: 'assistant' })
    await writer.close()
    expect(await world.lines()).toEqual([])
    expect(await world.manager.getInfo(ID)).toMatchObject({ head: 0, lease: null })
  })

  test('the manager closes all its writers', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    const other = await world.manager.createWriter('other', { runId: 'r1', agentType: 'assistant' })
    other.write(delta('a'))
    await world.manager.close()
    expect([writer.signal.aborted, other.signal.aborted]).toEqual([true, true])
    expect(await world.lines('other')).toEqual(['run-started', 'text-delta 1 a'])
  })
})

describe('a writer checks what it writes', () => {
  test('sets the origin from the options of a write, or from the lane', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    writer.write(delta('a'), { step: 2, model: 'm', node: 'n' })
    writer.lane({ lane: 'child', agentId: 'sub', agentType: 'researcher' }).write(delta('b'))
    writer.write(delta('c', '2'), { internal: true })
    await writer.flush()
    const [, , a, b, c] = await world.log()
    const main = { runId: 'r1', lane: 'main', agentId: 'r1', agentType: 'assistant', step: 0 }
    expect(a?.origin).toEqual({ ...main, step: 2, model: 'm', node: 'n' })
    expect(b?.origin).toEqual({ ...main, lane: 'child', agentId: 'sub', agentType: 'researcher' })
    expect([a?.internal, c?.internal]).toEqual([undefined, true])
  })

  test('rejects an invalid chunk or a value that is not JSON, and continues', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    expect(thrown(() => writer.write({ type: 'text-delta', id: '1' } as Chunk))).toBe('invalid')
    expect(thrown(() => writer.write({ type: 'data-x', data: cycle } as unknown as Chunk))).toBe('invalid')
    expect(thrown(() => writer.write({ type: 'data-x', data: { n: 1n } } as unknown as Chunk))).toBe('invalid')
    expect(await failure(writer.commit([{ type: 'output', output: cycle } as unknown as Chunk]))).toBe('invalid')
    await writer.write(delta('fine')).appended
    expect((await world.lines()).at(-1)).toBe('text-delta 1 fine')
  })

  test('accepts unknown types, and types with names of Object.prototype', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    for (const type of ['from-the-future', 'constructor', '__proto__', 'toString']) {
      await writer.write({ type, payload: 1 } as unknown as Chunk).appended
    }
    expect((await world.lines()).slice(2)).toEqual(['from-the-future', 'constructor', '__proto__', 'toString'])
  })

  test('rejects a chunk that changes the ticket: it needs commit or decide', async () => {
    const world = new World()
    const fresh = await world.manager.createWriter(ID, { runId: 'r1', agentType: 'assistant' })
    const deciding: Chunk[] = [
      { type: 'run-paused', awaits: [] },
      { type: 'run-finished', status: 'completed' },
      { type: 'step-discarded', reason: 'x' },
      { type: 'rewind', toSequence: 0, reason: 'x' },
      { type: 'stop-requested', runId: 'r1' },
      { type: 'executor-superseded' },
      ask('a'),
      { type: 'interrupt', interruptId: 'i', input: { kind: 'text' } },
    ]
    // The writer refuses them before its run has started, and after.
    for (const chunk of deciding)
      expect(
        thrown(() => fresh.write(chunk)),
        chunk.type,
      ).toBe('invalid')
    await fresh.commit([])
    for (const chunk of deciding)
      expect(
        thrown(() => fresh.write(chunk)),
        chunk.type,
      ).toBe('invalid')
    expect(await world.lines()).toEqual(STARTED)
  })

  test('rejects chunks of another run', async () => {
    const world = new World()
    const writer = await startedWriter(world)
    expect(thrown(() => writer.lane({ lane: 'x', runId: 'r9', agentId: 'r9' }).write(delta('a')))).toBe('refused')
    await world.manager.endStream(ID)
    expect(thrown(() => writer.write(delta('a')))).toBe('refused')
  })
})
