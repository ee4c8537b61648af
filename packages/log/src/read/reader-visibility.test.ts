import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { approve, ask, delta, ID, lineOf, request, World } from '../manager/manager-world.fixture.ts'
import { collect, ended, foldOf, open, read } from '../manager/reading.fixture.ts'

describe('a reader', () => {
  test('law 10: gets no internal entries by default', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([{ chunk: { type: 'run-context', context: 'secret' }, internal: true }])
    const live = collect(await open(world))
    await settled()
    writer.write({ type: 'data-x', data: 'secret' }, { internal: true })
    await world.manager.endStream(ID)
    await live.done
    expect(JSON.stringify(live.items)).not.toContain('secret')
    expect(JSON.stringify(await read(world))).not.toContain('secret')
    expect(await read(world, { internal: true })).toEqual(await world.lines())
  })

  test('gets transient data live and from a cursor, but not from the start', async () => {
    const world = new World()
    const writer = await world.writer()
    const transient: Chunk = { type: 'data-progress', data: 1, transient: true }
    await writer.write(transient).appended
    const live = collect(await open(world))
    await settled()
    await writer.write(transient).appended
    await world.manager.endStream(ID)
    await live.done
    const count = (lines: string[]) => lines.filter(line => line === 'data-progress').length
    expect(count(live.items.map(lineOf))).toBe(1)
    expect(count(await read(world))).toBe(0)
    expect(count(await read(world, { after: 1 }))).toBe(2)
  })

  test('gets one run and the answers to it with runId, and ends with the run', async () => {
    const world = new World()
    const writer = await world.writer('r1')
    await writer.commit([ask('a')])
    await world.manager.append(ID, 'ada', approve('a'))
    const live = collect(await open(world, { runId: 'r1' }))
    const next = collect(await open(world, { runId: 'r2' }))
    await settled()
    await world.manager.append(ID, 'ada', request('r2', { whenBusy: 'queue' }))
    await world.manager.endStream(ID)
    await live.done
    await writer.close()
    await ended(world, 'r2')
    await next.done
    expect(live.items.map(lineOf)).toEqual([
      'run-started',
      'checkpoint-created',
      'tool-approval-request call-a',
      'checkpoint-created',
      'ada: tool-approval-response call-a',
      'finish',
      'run-finished',
    ])
    expect(next.items.map(({ origin }) => origin.runId)).toEqual(Array(9).fill('r2'))
    expect(await read(world, { runId: 'r1' })).toEqual(live.items.map(lineOf))
  })

  test('gets the end of one run, also after later runs, from any cursor', async () => {
    const world = new World()
    await ended(world, 'r1')
    await ended(world, 'r2')
    await ended(world, 'r3')
    for (const after of [0, 3, 9, 12, 27]) {
      const lines = await read(world, { runId: 'r1', after })
      expect(lines).toHaveLength(Math.max(0, 9 - after))
    }
  })

  test('gets the end of one run after a trim, from its snapshot', async () => {
    const world = new World()
    await ended(world, 'r1')
    await ended(world, 'r2')
    await ended(world, 'r3')
    const floor = await world.manager.trimStream(ID, { maxEntries: 3 })
    expect(floor).toBe(24)
    for (const runId of ['r1', 'r2']) expect(await read(world, { runId, after: floor })).toEqual([])
    expect(await read(world, { runId: 'r3', after: floor })).toHaveLength(3)
  })

  test('gets a long answer in a few entries with merge, which fold to the same view', async () => {
    const world = new World()
    const writer = await world.writer()
    const tool = writer.lane({ lane: 'tool' })
    for (let i = 0; i < 200; i++) {
      writer.write(delta(`${i} `))
      tool.write(delta(`${i} `, '2'))
      await world.clock.advance(16)
    }
    await writer.commit([])
    const raw = await world.log()
    const reader = world.manager.readBatches(ID, { merge: true, includeDiscarded: true })
    const batch = await reader.next()
    expect(raw.length).toBeGreaterThan(300)
    expect(batch?.entries.length).toBeLessThan(10)
    expect(batch?.sequence).toBe(raw.length)
    const { view } = await world.manager.view(ID)
    expect(foldOf(batch?.entries ?? [], batch?.sequence)).toEqual(view)
    // Live entries are not merged.
    writer.write(delta('a', '3'))
    writer.write(delta('b', '3'))
    await writer.flush()
    expect((await reader.next())?.entries).toHaveLength(1)
    reader.close()
  })
})
