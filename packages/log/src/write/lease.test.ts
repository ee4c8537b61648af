import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { ask, delta, failure, ID, thrown, World } from '../manager/manager-world.fixture.ts'
import type { Log } from '../stores/memory/log.ts'

const R1 = { runId: 'r1', agentType: 'assistant' }
const LEASE = 30_000

describe('a log has one writer', () => {
  test('a second claim gets the owner and the remaining time', async () => {
    const world = new World({ owner: 'worker-1' })
    await world.writer()
    const refused = world.process().createWriter(ID, R1)
    await expect(refused).rejects.toMatchObject({ code: 'busy', message: expect.stringMatching(/worker-1.*29900 ms/) })
    // A claim by the same process is refused too.
    expect(await failure(world.manager.createWriter(ID, R1))).toBe('busy')
  })

  test('a takeover fences the first writer at its next append', async () => {
    const world = new World()
    const first = await world.writer()
    const second = await world.process().createWriter(ID, { ...R1, takeover: true })
    expect(first.signal.aborted).toBe(false)
    expect(await failure(first.write(delta('a')).appended)).toBe('fenced')
    expect(first.signal.reason).toMatchObject({ code: 'fenced' })
    expect(first.isLeaseValid).toBe(false)
    await second.commit([])
    expect((await world.lines()).slice(2)).toEqual(['executor-superseded', 'checkpoint-created'])
  })

  test('law 4: a fenced writer stops: its queue fails, nothing more is accepted, and close succeeds', async () => {
    const world = new World()
    const first = await world.writer()
    await world.process().createWriter(ID, { ...R1, takeover: true })
    const held = world.tap.hold('append')
    const inFlight = first.write(delta('a'))
    await held.arrived
    const queued = first.write(delta('b'))
    const commit = failure(first.commit([ask('x')]))
    const decided = failure(first.decide(() => [ask('y')]))
    const flushed = failure(first.flush())
    held.open()
    expect(await failure(inFlight.appended)).toBe('fenced')
    expect(await failure(queued.appended)).toBe('fenced')
    expect(await Promise.all([commit, decided, flushed])).toEqual(['fenced', 'fenced', 'fenced'])
    expect(thrown(() => first.write(delta('c')))).toBe('fenced')
    expect(await failure(first.flush())).toBe('fenced')
    await first.close()
    expect(world.clock.alarms).toBe(1)
  })

  test('closing a fenced writer does not release the new lease', async () => {
    const world = new World()
    const first = await world.writer()
    const second = await world.process().createWriter(ID, { ...R1, takeover: true })
    await first.close()
    expect((await world.manager.getInfo(ID))?.lease).not.toBeNull()
    await second.commit([])
  })

  test('a log that lost acknowledged entries stops its writer, and gets a new incarnation', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.write(delta('a')).appended
    const before = await world.manager.getInfo(ID)
    const log = world.memory.logs.get(ID) as Log
    log.batches.pop()
    log.head--
    log.mark = writer.epoch
    expect(await failure(writer.commit([]))).toBe('regressed')
    expect(writer.signal.reason).toMatchObject({ code: 'regressed' })
    await writer.close()
    expect((await world.manager.getInfo(ID))?.incarnation).not.toBe(before?.incarnation)
    await (await world.manager.createWriter(ID, R1)).commit([])
    expect((await world.lines()).slice(-2)).toEqual(['executor-superseded', 'checkpoint-created'])
  })

  test('a restored backup fences every writer', async () => {
    const world = new World()
    const writer = await world.writer()
    await world.tap.store.restored()
    expect(await failure(writer.write(delta('a')).appended)).toBe('fenced')
  })

  test('a log that was removed stops its writer', async () => {
    const world = new World()
    const writer = await world.writer()
    await world.manager.deleteStream(ID)
    expect(await failure(writer.commit([ask('a')]))).toBe('fenced')
    expect(await world.manager.getInfo(ID)).toBeNull()
  })
})

describe('a lease', () => {
  test('is renewed three times in its duration, for as long as the writer lives', async () => {
    const world = new World()
    const writer = await world.writer()
    world.tap.reset()
    for (let i = 0; i < 9; i++) {
      await world.clock.advance(LEASE / 3)
      expect(writer.isLeaseValid).toBe(true)
      expect(await failure(world.process().createWriter(ID, R1))).toBe('busy')
    }
    expect(world.tap.count('renew')).toBe(9)
    await writer.close()
    await world.clock.advance(LEASE)
    expect(world.tap.count('renew')).toBe(9)
    expect(world.clock.alarms).toBe(0)
  })

  test('a lost lease is detected at the renewal, without a write', async () => {
    const world = new World()
    const writer = await world.writer()
    await world.process().createWriter(ID, { ...R1, takeover: true })
    expect(writer.signal.aborted).toBe(false)
    await world.clock.advance(LEASE / 3)
    expect(writer.signal.reason).toMatchObject({ code: 'fenced' })
  })

  test('is certain only for its duration, counted from before the request, on the process’s clock', async () => {
    const world = new World()
    const held = world.tap.hold('claim', 'after')
    const creating = world.manager.createWriter(ID, R1)
    await held.arrived
    await world.clock.advance(10_000)
    held.open()
    const writer = await creating
    world.tap.isDown = true
    await world.clock.advance(LEASE - 10_001)
    expect(writer.isLeaseValid).toBe(true)
    await world.clock.advance(1)
    expect(writer.isLeaseValid).toBe(false)
    // The store is back, and the log was not claimed: the lease is valid again.
    world.tap.isDown = false
    await world.clock.advance(LEASE / 10)
    expect(writer.isLeaseValid).toBe(true)
    expect(writer.signal.aborted).toBe(false)
    await writer.commit([])
  })

  test('a late answer to a renewal counts from its request', async () => {
    const world = new World()
    const writer = await world.writer()
    const held = world.tap.hold('renew', 'after')
    await world.clock.advance(LEASE / 3 - 100)
    await held.arrived
    await world.clock.advance(LEASE / 2)
    held.open()
    await settled()
    expect(writer.isLeaseValid).toBe(true)
    world.tap.isDown = true
    await world.clock.advance(LEASE / 2 - 1)
    expect(writer.isLeaseValid).toBe(true)
    await world.clock.advance(1)
    expect(writer.isLeaseValid).toBe(false)
  })

  test('an expired lease may be claimed by another manager, which fences the writer', async () => {
    const world = new World()
    const writer = await world.writer()
    world.tap.isDown = true
    await world.clock.advance(LEASE)
    world.tap.isDown = false
    const nextWriter = await world.process().createWriter(ID, R1)
    await nextWriter.commit([])
    expect(writer.isLeaseValid).toBe(false)
    expect(await failure(writer.write(delta('zombie')).appended)).toBe('fenced')
    expect((await world.lines()).join()).not.toContain('zombie')
  })

  test('a claim whose answer was lost is recognised by its retry', async () => {
    const world = new World()
    world.tap.lose('claim')
    const creating = world.manager.createWriter(ID, R1)
    await world.clock.advance(1000)
    const writer = await creating
    await writer.commit([])
    expect(await failure(world.process().createWriter(ID, R1))).toBe('busy')
  })

  test('a failed claim is released', async () => {
    const world = new World({ retryTimeoutMs: 100 })
    await world.manager.createStream(ID)
    world.tap.fail('read', 10)
    const creating = failure(world.manager.createWriter(ID, R1))
    await world.clock.advance(1000)
    expect(await creating).toBe('unavailable')
    expect(world.memory.logs.get(ID)?.lease).toBeNull()
  })
})

describe('a manager that is closed', () => {
  test('makes no further claims', async () => {
    const world = new World()
    const writer = await world.writer()
    await world.manager.close()
    expect(writer.signal.aborted).toBe(true)
    expect(await failure(world.manager.createWriter(ID, R1))).toBe('closed')
    expect(await failure(world.manager.endStream(ID))).toBe('closed')
    expect(await world.process().endStream(ID)).toBe('completed')
  })

  test('releases a claim in flight', async () => {
    const world = new World()
    await world.manager.createStream(ID)
    const held = world.tap.hold('claim', 'after')
    const claiming = failure(world.manager.createWriter(ID, R1))
    await held.arrived
    const closing = world.manager.close()
    held.open()
    expect(await claiming).toBe('closed')
    await closing
    expect(await world.manager.getInfo(ID)).toMatchObject({ lease: null })
  })
})

test('law 4: a temporary claim writes for the run that it finds after the claim', async () => {
  const world = new World()
  const first = await world.writer('r1')
  await world.manager.endStream(ID)
  await first.close()
  const held = world.tap.hold('claim')
  const paused = world.process().pauseStream(ID)
  await held.arrived
  const second = await world.writer('r2')
  await second.close()
  held.open()
  expect(await paused).toBe(true)
  expect((await world.log()).at(-1)).toMatchObject({ origin: { runId: 'r2' }, chunk: { type: 'run-paused' } })
})

describe('waiting for a certain lease', () => {
  test('returns at once while it is certain', async () => {
    const world = new World()
    const writer = await world.writer()
    world.tap.isDown = true
    await writer.whenLeaseValid()
    expect(writer.isLeaseValid).toBe(true)
  })

  test('waits while the store does not answer, and continues after a renewal', async () => {
    const world = new World()
    const writer = await world.writer()
    world.tap.isDown = true
    await world.clock.advance(LEASE)
    expect(writer.isLeaseValid).toBe(false)
    let validCount = 0
    const all = [writer.whenLeaseValid(), writer.whenLeaseValid()].map(waits => waits.then(() => validCount++))
    await world.clock.advance(LEASE)
    expect(validCount).toBe(0)
    world.tap.isDown = false
    await world.clock.advance(LEASE / 10)
    await Promise.all(all)
    expect([validCount, writer.isLeaseValid]).toEqual([2, true])
  })

  test('keeps waiting if the renewal came too late', async () => {
    const world = new World()
    const writer = await world.writer()
    world.tap.isDown = true
    await world.clock.advance(LEASE)
    let isOver = false
    const valid = writer.whenLeaseValid().then(() => {
      isOver = true
    })
    world.tap.isDown = false
    const held = world.tap.hold('renew', 'after')
    const later = world.clock.advance(LEASE / 10)
    await held.arrived
    await later
    // The answer is as old as a whole lease.
    await world.clock.advance(LEASE)
    held.open()
    await settled()
    expect([isOver, writer.isLeaseValid]).toEqual([false, false])
    await world.clock.advance(LEASE)
    await valid
    expect(writer.isLeaseValid).toBe(true)
  })

  test('throws if the writer is fenced or closed', async () => {
    for (const end of ['fenced', 'closed'] as const) {
      const world = new World()
      const writer = await world.writer()
      world.tap.isDown = true
      await world.clock.advance(LEASE)
      const waits = failure(writer.whenLeaseValid())
      world.tap.isDown = false
      if (end === 'closed') await writer.close()
      else {
        const nextWriter = await world.process().createWriter(ID, { ...R1, takeover: true })
        await world.clock.advance(LEASE / 10)
        await nextWriter.close()
      }
      expect(await waits).toBe(end)
      expect(await failure(writer.whenLeaseValid())).toBe(end)
    }
  })
})
