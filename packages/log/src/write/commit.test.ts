import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { approve, ask, delta, failure, ID, request, stop, World } from '../manager/manager-world.fixture.ts'
import type { LogError } from '../store/log-error.ts'

const status = (message: string): Chunk => ({ type: 'status', message })

describe('a commit', () => {
  test('is appended as a whole with a checkpoint, after the draft chunks written before', async () => {
    const world = new World()
    const writer = await world.writer()
    world.tap.reset()
    const write = writer.write(delta('a'))
    const done = await writer.commit([status('x'), { type: 'output', output: 1 }], { closesStep: true })
    expect(world.tap.count('append')).toBe(1)
    expect(done).toEqual(await write.appended)
    expect((await world.lines()).slice(2)).toEqual(['text-delta 1 a', 'status x', 'output', 'checkpoint-created'])
    const entry = (await world.log()).at(-1)
    expect(entry?.chunk).toMatchObject({ type: 'checkpoint-created', closesStep: true })
  })

  test('generates checkpoint ids, and keeps the caller’s', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([])
    await writer.commit([{ type: 'checkpoint-created', checkpointId: 'mine', stepCount: 3 }])
    const checkpoints = (await world.log()).flatMap(({ chunk }) =>
      chunk.type === 'checkpoint-created' ? chunk.checkpointId : [],
    )
    expect(checkpoints).toHaveLength(3)
    expect(new Set(checkpoints).size).toBe(3)
    expect(checkpoints.at(-1)).toBe('mine')
  })

  test('law 1: appends nothing if one chunk is rejected, and the writer continues', async () => {
    const world = new World()
    const writer = await world.writer()
    expect(await failure(writer.commit([status('x'), { type: 'text-delta' } as Chunk]))).toBe('invalid')
    expect(await failure(writer.commit([status('x'), { type: 'run-started', program: 'p' }]))).toBe('refused')
    await writer.commit([status('y')])
    expect((await world.lines()).slice(2)).toEqual(['status y', 'checkpoint-created'])
  })

  test('writes each chunk on its own lane', async () => {
    const world = new World()
    const writer = await world.writer()
    const tool = writer.lane({ lane: 'tool', step: 4 })
    await writer.commit([{ chunk: status('a'), lane: tool, internal: true }, status('b')], { step: 2 })
    const [a, b] = (await world.log()).slice(2)
    expect([a?.origin, a?.internal]).toMatchObject([{ lane: 'tool', step: 2 }, true])
    expect([b?.origin, b?.internal]).toMatchObject([{ lane: 'main', step: 2 }, undefined])
  })

  test('law 10: an internal lane hides its chunks, except those that change the state, the usage or the checkpoint', async () => {
    const world = new World()
    const writer = await world.writer()
    const lane = writer.lane({ lane: 'hidden' }, { isInternal: true })
    const chunks: Chunk[] = [
      status('a'),
      { type: 'state-snapshot', state: { n: 1 } },
      { type: 'state-patch', patches: [{ op: 'replace', path: '/n', value: 2 }] },
      { type: 'step-finish', finishReason: 'stop' },
    ]
    await lane.commit(chunks)
    const laneEntries = (await world.log()).filter(({ origin }) => 'lane' in origin && origin.lane === 'hidden')
    expect(laneEntries.filter(({ internal }) => internal).map(({ chunk }) => chunk.type)).toEqual(['status'])
    expect(laneEntries.map(({ chunk }) => chunk.type)).toContain('checkpoint-created')
    expect((await world.manager.view(writer.streamId)).view.state).toEqual({ n: 2 })
  })

  test('law 5: a commit that opens a pending is moved if the ticket has changed, and the caller decides again', async () => {
    const world = new World()
    const writer = await world.writer()
    await world.manager.append(ID, 'ada', stop('r1'))
    const done = await writer.commit([ask('a')])
    expect(done).toMatchObject({ outcome: 'moved', ticket: { stop: true } })
    expect((await world.lines()).slice(2)).toEqual(['ada: stop-requested'])
    // After reading the new ticket, the caller may still commit.
    expect(await writer.commit([ask('a')])).toMatchObject({ outcome: 'appended' })
  })

  test('law 5: a commit is moved if a refresh queued before it read another ticket', async () => {
    const world = new World()
    const writer = await world.writer()
    await world.manager.append(ID, 'ada', stop('r1'))
    const looked = writer.refresh()
    const done = writer.commit([ask('a')])
    expect((await looked).stop).toBe(true)
    expect(await done).toMatchObject({ outcome: 'moved', ticket: { stop: true } })
    expect((await world.lines()).slice(2)).toEqual(['ada: stop-requested'])
  })

  test('law 5: a commit that opens a pending succeeds after the writer’s own commit opened another', async () => {
    const world = new World()
    const writer = await world.writer()
    const both = [writer.commit([ask('a')]), writer.lane({ lane: 'tool' }).commit([ask('b')])]
    expect((await Promise.all(both)).map(({ outcome }) => outcome)).toEqual(['appended', 'appended'])
  })

  test('a commit that does not change the ticket ignores a changed ticket', async () => {
    const world = new World()
    const writer = await world.writer()
    await world.manager.append(ID, 'ada', request('r2', { whenBusy: 'queue' }))
    expect(await writer.commit([status('x')])).toMatchObject({ outcome: 'appended' })
  })

  test('the first commit of a run starts it, on the latest ticket', async () => {
    const world = new World()
    const writer = await world.manager.createWriter(ID, { runId: 'r1', agentType: 'assistant' })
    await world.manager.append(ID, 'ada', request('r2'))
    expect(await writer.commit([status('x')])).toMatchObject({ outcome: 'appended' })
    expect(await world.lines()).toEqual(['ada: run-requested', 'run-started', 'status x', 'checkpoint-created'])
  })

  test('a first commit that fills a batch still starts the run', async () => {
    const world = new World()
    const writer = await world.manager.createWriter(ID, { runId: 'r1', agentType: 'assistant' })
    const large: Chunk = { type: 'state-snapshot', state: 'x'.repeat(1_048_300) }
    expect(await writer.commit(Array(7).fill(large))).toMatchObject({ outcome: 'appended' })
    expect((await world.lines())[0]).toBe('run-started')
  })
})

describe('a decision', () => {
  test('is made again if the ticket has changed', async () => {
    const world = new World()
    const writer = await world.writer()
    const seen: boolean[] = []
    const held = world.tap.hold('append')
    const decided = writer.decide(ticket => {
      seen.push(ticket.stop)
      return ticket.stop ? [{ type: 'abort' }, { type: 'run-finished', status: 'aborted' }] : [ask('a')]
    })
    await held.arrived
    await world.manager.append(ID, 'ada', stop('r1'))
    held.open()
    expect(await decided).toMatchObject({ outcome: 'appended' })
    expect(seen).toEqual([false, true])
    expect((await world.lines()).slice(2)).toEqual(['ada: stop-requested', 'abort', 'run-finished'])
  })

  test('appends nothing without a batch', async () => {
    const world = new World()
    const writer = await world.writer()
    world.tap.reset()
    expect(await writer.decide(() => undefined)).toBeUndefined()
    expect(await writer.decide(() => [])).toBeUndefined()
    expect(world.tap.count('append')).toBe(0)
  })

  test('is rejected if it throws, and the writer continues', async () => {
    const world = new World()
    const writer = await world.writer()
    const thrower = () => {
      throw new Error('no')
    }
    await expect(writer.decide(thrower)).rejects.toThrow('no')
    await writer.write(delta('a')).appended
  })

  test('is appended after everything written before it, on every lane', async () => {
    const world = new World()
    const writer = await world.writer()
    writer.write(delta('a'))
    writer.lane({ lane: 'tool' }).write(delta('b', '2'))
    await world.manager.endStream(ID)
    expect((await world.lines()).slice(2)).toEqual(['text-delta 1 a', 'tool: text-delta 2 b', 'finish', 'run-finished'])
  })

  test('law 5: settles a pending once: by an answer, its deadline or a stop, whichever is first', async () => {
    const orders = [
      ['answer', 'deadline', 'stop'],
      ['answer', 'stop', 'deadline'],
      ['deadline', 'answer', 'stop'],
      ['deadline', 'stop', 'answer'],
      ['stop', 'answer', 'deadline'],
      ['stop', 'deadline', 'answer'],
    ] as const
    for (const order of orders) {
      const world = new World()
      const writer = await world.writer()
      await writer.commit([ask('a', { deadline: world.clock.now() + 100 })])
      const expire = () =>
        writer.decide(({ pendings, stop: isStopped }) => {
          if (isStopped || !pendings.some(({ id }) => id === 'a')) return undefined
          return [{ type: 'tool-output-error', toolCallId: 'call-a', errorText: 'late', code: 'deadline' }]
        })
      const acts = {
        answer: () => world.manager.append(ID, 'ada', approve('a')),
        stop: () => world.manager.append(ID, 'bob', stop('r1')),
        deadline: expire,
      }
      // All are decided on the same ticket, and reach the store in this order.
      const gates = order.map(() => world.tap.hold('append'))
      const done: Promise<unknown>[] = []
      for (const [i, name] of order.entries()) {
        done.push(acts[name]())
        await gates[i]?.arrived
      }
      for (const gate of gates) {
        gate.open()
        await settled()
      }
      await Promise.all(done)
      const lines = (await world.lines()).slice(4)
      const settling = lines.filter(line => /approval-response|output-error/.test(line))
      expect(settling, `${order} gave ${lines}`).toHaveLength(1)
      const { view } = await world.manager.view(ID)
      expect(view.pendings).toEqual([])
    }
  })

  test('law 6: is rejected with more pendings than a ticket may hold', async () => {
    const world = new World()
    const writer = await world.writer()
    const many = Array.from({ length: 257 }, (_, i) => ask(`a${i}`))
    const error = await writer.commit(many).then(
      () => undefined,
      (error: LogError) => error,
    )
    expect(error).toMatchObject({ code: 'refused', message: expect.stringContaining('256') })
    expect(await failure(writer.commit(many.slice(1)))).toBe('nothing was thrown')
  })
})
