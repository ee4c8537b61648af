import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { approve, ask, delta, failure, ID, request, stop, thrown, World } from '../manager/manager-world.fixture.ts'
import { StreamManager } from '../manager/stream-manager.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { mustStop, type Ticket } from '../ticket/ticket.ts'

const R1 = { runId: 'r1', agentType: 'assistant' }

/** A world whose store names no head in its wake-ups. */
function worldWithoutHeads(): World {
  const world = new World()
  world.tap.namesHeads = false
  return world
}

/** A writer that watches and has been idle for long, and the tickets that it got. */
async function watching(world: World) {
  const writer = await world.writer()
  const tickets: Ticket[] = []
  writer.watch(ticket => tickets.push(ticket))
  await world.clock.advance(1000)
  world.tap.reset()
  return { writer, tickets }
}

/** A process with its own connection to the same store. */
const elsewhere = (world: World) =>
  new StreamManager({ store: memoryStore(undefined, world.memory), timers: world.clock })

const appended = async (world: World, chunk = stop('r1')) => {
  expect(await elsewhere(world).append(ID, 'ada', chunk)).toMatchObject({ outcome: 'appended' })
}

describe('a watching writer', () => {
  test('gets a guest’s decision at once while it is idle', async () => {
    const world = new World()
    const { writer, tickets } = await watching(world)
    await appended(world)
    await settled()
    expect(tickets.map(mustStop)).toEqual([true])
    expect(writer.ticket).toBe(tickets[0])
    expect(world.tap.count('read')).toBe(1)
  })

  test('gets a guest’s decision at once while it writes, by the head that the wake-up names', async () => {
    const world = new World()
    const { writer, tickets } = await watching(world)
    await writer.write(delta('a')).appended
    await appended(world)
    await settled()
    expect(tickets.map(mustStop)).toEqual([true])
  })

  test('gets a guest’s decision that was made while its append was in flight', async () => {
    const world = new World()
    const { writer, tickets } = await watching(world)
    const held = world.tap.hold('append', 'after')
    const { appended: done } = writer.write(delta('a'))
    await held.arrived
    await appended(world)
    expect(tickets).toEqual([])
    held.open()
    await done
    await settled()
    expect(tickets.map(mustStop)).toEqual([true])
  })

  test('gets a guest’s decision with its own next append while it writes, without heads', async () => {
    const world = worldWithoutHeads()
    const { writer, tickets } = await watching(world)
    await writer.write(delta('a')).appended
    await appended(world)
    await settled()
    // It attributes the wake to its own append, until the next append shows otherwise.
    expect(tickets).toEqual([])
    writer.write(delta('b'))
    await world.clock.advance(16)
    expect(tickets.map(mustStop)).toEqual([true])
  })

  test('gets a guest’s decision soon if it stops writing just before', async () => {
    const world = new World()
    const { writer, tickets } = await watching(world)
    await writer.write(delta('a')).appended
    await appended(world)
    await world.clock.advance(200)
    expect(tickets.map(mustStop)).toEqual([true])
  })

  test('gets the decisions of guests one after the other', async () => {
    const world = new World()
    const { writer, tickets } = await watching(world)
    await writer.commit([ask('a'), ask('b')])
    await world.clock.advance(1000)
    for (const chunk of [approve('a'), approve('b'), stop('r1')]) {
      await appended(world, chunk)
      await settled()
    }
    expect(tickets.map(({ pendings, stop: isStopped }) => [pendings.length, isStopped])).toEqual([
      [1, false],
      [0, false],
      [0, true],
    ])
  })

  test('gets none of its own decisions', async () => {
    const world = new World()
    const { writer, tickets } = await watching(world)
    await writer.commit([ask('a')])
    await writer.decide(() => [{ type: 'tool-output-denied', toolCallId: 'call-a' }])
    await world.clock.advance(1000)
    expect(tickets).toEqual([])
  })

  test('gets decisions made between its claim and the watch', async () => {
    const world = new World()
    const writer = await world.writer()
    await appended(world)
    const tickets: Ticket[] = []
    writer.watch(ticket => tickets.push(ticket))
    await world.clock.advance(200)
    expect(tickets.map(mustStop)).toEqual([true])
  })

  test('gets decisions that arrive during a read of the ticket', async () => {
    const world = new World()
    const { tickets } = await watching(world)
    const held = world.tap.hold('read', 'after')
    await appended(world, request('q', { whenBusy: 'queue' }))
    await held.arrived
    await appended(world)
    held.open()
    await settled()
    expect(tickets.map(mustStop)).toEqual([false, true])
    expect(world.tap.count('read')).toBe(2)
  })

  test('gets decisions made between a read and the timer for the next, without heads', async () => {
    const world = worldWithoutHeads()
    const { writer, tickets } = await watching(world)
    await writer.write(delta('a')).appended
    const held = world.tap.hold('read', 'after')
    await world.clock.advance(200)
    await held.arrived
    await appended(world)
    await world.clock.advance(1000)
    expect(tickets).toEqual([])
    held.open()
    await settled()
    expect(tickets.map(mustStop)).toEqual([true])
  })

  test('gets decisions made while the store was unavailable for longer than retryTimeoutMs', async () => {
    const world = new World({ retryTimeoutMs: 500 })
    const { writer, tickets } = await watching(world)
    world.tap.isDown = true
    await appended(world)
    await world.clock.advance(5000)
    expect(world.tap.count('read')).toBeGreaterThan(1)
    expect(tickets).toEqual([])
    world.tap.isDown = false
    await world.clock.advance(2000)
    expect(tickets.map(mustStop)).toEqual([true])
    expect(writer.signal.aborted).toBe(false)
  })

  test('gets the decisions for a run that another writer has taken over', async () => {
    const world = new World()
    const { tickets } = await watching(world)
    const nextWriter = await elsewhere(world).createWriter(ID, { ...R1, takeover: true })
    await nextWriter.begin()
    await elsewhere(world).append(ID, 'ada', stop('r1'))
    await settled()
    expect(mustStop(tickets.at(-1) as Ticket)).toBe(true)
  })
})

describe('watching', () => {
  test('costs a stream of deltas no reads at any pace', async () => {
    const world = new World()
    const { writer, tickets } = await watching(world)
    for (const pace of [4, 20, 100, 1000]) {
      for (let i = 0; i < 100; i++) {
        writer.write(delta(`${i} `))
        await world.clock.advance(pace)
      }
      await world.clock.advance(10_000)
    }
    expect(world.tap.count('read')).toBe(0)
    expect(tickets).toEqual([])
  })

  test('costs a stream of deltas no reads at any pace, and one when it pauses, without heads', async () => {
    const world = worldWithoutHeads()
    const { writer, tickets } = await watching(world)
    for (const pace of [4, 20, 100]) {
      world.tap.reset()
      for (let i = 0; i < 1000; i++) {
        writer.write(delta(`${i} `))
        await world.clock.advance(pace)
      }
      expect(world.tap.count('append')).toBeGreaterThan(pace < 16 ? 200 : 999)
      expect(world.tap.count('read')).toBe(0)
      await world.clock.advance(10_000)
      expect(world.tap.count('read')).toBe(1)
    }
    expect(tickets).toEqual([])
  })

  test('costs no reads with a slow store either, without heads', async () => {
    const world = worldWithoutHeads()
    const { writer } = await watching(world)
    for (let i = 0; i < 10; i++) {
      const held = world.tap.hold('append', 'after')
      const { appended } = writer.write(delta(`${i} `))
      await held.arrived
      await world.clock.advance(150)
      held.open()
      await appended
      await world.clock.advance(100)
    }
    expect(world.tap.count('read')).toBe(0)
  })

  test('costs a stream with one guest one more read', async () => {
    const world = new World()
    const { writer, tickets } = await watching(world)
    for (let i = 0; i < 200; i++) {
      if (i === 100) await appended(world, request('q', { whenBusy: 'queue' }))
      writer.write(delta(`${i} `))
      await world.clock.advance(20)
    }
    expect(tickets).toHaveLength(1)
    expect(world.tap.count('read')).toBe(1)
  })

  test('costs one read for many concurrent guests, and one for those that arrive meanwhile', async () => {
    const world = new World()
    const { writer, tickets } = await watching(world)
    await writer.commit(Array.from({ length: 20 }, (_, i) => ask(`${i}`)))
    await world.clock.advance(1000)
    world.tap.reset()
    const held = world.tap.hold('read')
    for (let i = 0; i < 20; i++) await appended(world, approve(`${i}`))
    held.open()
    await world.clock.advance(1000)
    expect(tickets.at(-1)?.pendings).toEqual([])
    expect(world.tap.count('read')).toBe(2)
  })

  test('supports two listeners', async () => {
    const world = new World()
    const { writer, tickets } = await watching(world)
    const also: Ticket[] = []
    writer.watch(ticket => also.push(ticket))
    await appended(world)
    await settled()
    expect(also).toEqual(tickets)
    expect(tickets).toHaveLength(1)
    expect(world.tap.watches).toBe(1)
  })

  test('isolates a throwing listener: the append continues, others are called, and the error surfaces', async () => {
    const world = new World()
    const { writer, tickets } = await watching(world)
    writer.watch(() => {
      throw new Error('mine')
    })
    const last: Ticket[] = []
    writer.watch(ticket => last.push(ticket))
    await writer.write(delta('a')).appended
    await appended(world, request('q', { whenBusy: 'queue' }))
    // A decision finds that the ticket has changed, and is made again.
    const done = writer.decide(() => [ask('a')])
    await expect(world.clock.advance(0)).rejects.toThrow('mine')
    expect(await done).toMatchObject({ outcome: 'appended' })
    expect([tickets.length, last.length]).toEqual([1, 1])
    expect(writer.signal.aborted).toBe(false)
    expect(await writer.commit([])).toMatchObject({ outcome: 'appended' })
  })

  test('ends with its writer, and a read in flight calls no listener', async () => {
    const world = new World()
    const { writer, tickets } = await watching(world)
    const held = world.tap.hold('read', 'after')
    await appended(world)
    await held.arrived
    await elsewhere(world).createWriter(ID, { ...R1, takeover: true })
    // The renewal finds another epoch.
    await world.clock.advance(15_000)
    expect(writer.signal.reason).toMatchObject({ code: 'fenced' })
    held.open()
    await world.clock.advance(1000)
    expect(tickets).toEqual([])
    expect(world.tap.watches).toBe(0)
    expect(thrown(() => writer.watch(() => {}))).toBe('fenced')
  })

  test('releases everything when the writer is closed', async () => {
    const world = new World()
    const { writer } = await watching(world)
    await writer.write(delta('a')).appended
    await writer.close()
    expect([world.tap.watches, world.clock.alarms]).toEqual([0, 0])
    expect(thrown(() => writer.watch(() => {}))).toBe('closed')
  })

  test('law 4: detects at once that its log was removed, and stops', async () => {
    const world = new World()
    const { writer, tickets } = await watching(world)
    await elsewhere(world).deleteStream(ID)
    await settled()
    expect(writer.signal.reason).toMatchObject({ code: 'fenced' })
    await world.clock.advance(15_000)
    expect(world.tap.count('read')).toBe(1)
    expect(tickets).toEqual([])
    expect(await failure(writer.refresh())).toBe('fenced')
  })

  test('law 4: ignores a new log of the same name', async () => {
    const world = new World()
    const { writer, tickets } = await watching(world)
    await elsewhere(world).deleteStream(ID)
    await elsewhere(world).createStream(ID, 'bob')
    await settled()
    expect([writer.signal.reason, tickets]).toMatchObject([{ code: 'fenced' }, []])
  })
})
