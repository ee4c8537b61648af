import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { approve, ask, delta, failure, ID, request, stop, thrown, World } from '../manager/manager-world.fixture.ts'
import { StreamManager } from '../manager/stream-manager.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { mustStop, type Ticket } from '../ticket/ticket.ts'

const R1 = { runId: 'r1', agentType: 'assistant' }

/** A writer that watches and has been quiet for long, and what it heard. */
async function watching(world: World) {
  const writer = await world.writer()
  const heard: Ticket[] = []
  writer.watch(ticket => heard.push(ticket))
  await world.clock.advance(1000)
  world.tap.reset()
  return { writer, heard }
}

/** A process with a wire of its own to the same store. */
const elsewhere = (world: World) =>
  new StreamManager({ store: memoryStore(undefined, world.memory), timers: world.clock })

const appended = async (world: World, chunk = stop('r1')) => {
  expect(await elsewhere(world).append(ID, 'ada', chunk)).toMatchObject({ outcome: 'appended' })
}

describe('a writer that watches hears what guests decide', () => {
  test('at once, where it says nothing', async () => {
    const world = new World()
    const { writer, heard } = await watching(world)
    await appended(world)
    await settled()
    expect(heard.map(mustStop)).toEqual([true])
    expect(writer.ticket).toBe(heard[0])
    expect(world.tap.count('read')).toBe(1)
  })

  test('by its own next append, where it says something', async () => {
    const world = new World()
    const { writer, heard } = await watching(world)
    await writer.write(delta('a')).appended
    await appended(world)
    await settled()
    // It takes the wake-up for its own, until the next append shows that it was not.
    expect(heard).toEqual([])
    writer.write(delta('b'))
    await world.clock.advance(16)
    expect(heard.map(mustStop)).toEqual([true])
  })

  test('soon, where it falls silent just before', async () => {
    const world = new World()
    const { writer, heard } = await watching(world)
    await writer.write(delta('a')).appended
    await appended(world)
    await world.clock.advance(200)
    expect(heard.map(mustStop)).toEqual([true])
  })

  test('one after the other, each as it comes', async () => {
    const world = new World()
    const { writer, heard } = await watching(world)
    await writer.commit([ask('a'), ask('b')])
    await world.clock.advance(1000)
    for (const chunk of [approve('a'), approve('b'), stop('r1')]) {
      await appended(world, chunk)
      await settled()
    }
    expect(heard.map(({ pendings, stop: isStopped }) => [pendings.length, isStopped])).toEqual([
      [1, false],
      [0, false],
      [0, true],
    ])
  })

  test('and nothing of its own', async () => {
    const world = new World()
    const { writer, heard } = await watching(world)
    await writer.commit([ask('a')])
    await writer.decide(() => [{ type: 'tool-output-denied', toolCallId: 'call-a' }])
    await world.clock.advance(1000)
    expect(heard).toEqual([])
  })

  test('also what came after its claim and before it watched', async () => {
    const world = new World()
    const writer = await world.writer()
    await appended(world)
    const heard: Ticket[] = []
    writer.watch(ticket => heard.push(ticket))
    await world.clock.advance(200)
    expect(heard.map(mustStop)).toEqual([true])
  })

  test('also what comes while it looks', async () => {
    const world = new World()
    const { heard } = await watching(world)
    const held = world.tap.hold('read', 'after')
    await appended(world, request('q', { whenBusy: 'queue' }))
    await held.arrived
    await appended(world)
    held.open()
    await settled()
    expect(heard.map(mustStop)).toEqual([false, true])
    expect(world.tap.count('read')).toBe(2)
  })

  test('also what comes between its look and the alarm for the next', async () => {
    const world = new World()
    const { writer, heard } = await watching(world)
    await writer.write(delta('a')).appended
    const held = world.tap.hold('read', 'after')
    await world.clock.advance(200)
    await held.arrived
    await appended(world)
    await world.clock.advance(1000)
    expect(heard).toEqual([])
    held.open()
    await settled()
    expect(heard.map(mustStop)).toEqual([true])
  })

  test('also what came while the store was out of its reach, for longer than its patience lasts', async () => {
    const world = new World({ patienceMs: 500 })
    const { writer, heard } = await watching(world)
    world.tap.isDown = true
    await appended(world)
    await world.clock.advance(5000)
    expect(world.tap.count('read')).toBeGreaterThan(1)
    expect(heard).toEqual([])
    world.tap.isDown = false
    await world.clock.advance(2000)
    expect(heard.map(mustStop)).toEqual([true])
    expect(writer.signal.aborted).toBe(false)
  })

  test('also of a run that was taken from it', async () => {
    const world = new World()
    const { heard } = await watching(world)
    const heir = await elsewhere(world).createWriter(ID, { ...R1, takeover: true })
    await heir.begin()
    await elsewhere(world).append(ID, 'ada', stop('r1'))
    await settled()
    expect(mustStop(heard.at(-1) as Ticket)).toBe(true)
  })
})

describe('watching', () => {
  test('costs a stream of words no reads, whatever its pace, and one when it rests', async () => {
    const world = new World()
    const { writer, heard } = await watching(world)
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
    expect(heard).toEqual([])
  })

  test('costs no reads either where the store takes its time', async () => {
    const world = new World()
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

  test('costs a stream with a guest in its middle one read more', async () => {
    const world = new World()
    const { writer, heard } = await watching(world)
    for (let i = 0; i < 200; i++) {
      if (i === 100) await appended(world, request('q', { whenBusy: 'queue' }))
      writer.write(delta(`${i} `))
      await world.clock.advance(20)
    }
    expect(heard).toHaveLength(1)
    expect(world.tap.count('read')).toBe(1)
  })

  test('costs one read for many guests at once, and one for what came meanwhile', async () => {
    const world = new World()
    const { writer, heard } = await watching(world)
    await writer.commit(Array.from({ length: 20 }, (_, i) => ask(`${i}`)))
    await world.clock.advance(1000)
    world.tap.reset()
    const held = world.tap.hold('read')
    for (let i = 0; i < 20; i++) await appended(world, approve(`${i}`))
    held.open()
    await world.clock.advance(1000)
    expect(heard.at(-1)?.pendings).toEqual([])
    expect(world.tap.count('read')).toBe(2)
  })

  test('may be asked for twice: both are told', async () => {
    const world = new World()
    const { writer, heard } = await watching(world)
    const also: Ticket[] = []
    writer.watch(ticket => also.push(ticket))
    await appended(world)
    await settled()
    expect(also).toEqual(heard)
    expect(heard).toHaveLength(1)
    expect(world.tap.watches).toBe(1)
  })

  test('is in nobody’s way where a listener throws: the append goes on, others are told, and the error is heard', async () => {
    const world = new World()
    const { writer, heard } = await watching(world)
    writer.watch(() => {
      throw new Error('mine')
    })
    const last: Ticket[] = []
    writer.watch(ticket => last.push(ticket))
    await writer.write(delta('a')).appended
    await appended(world, request('q', { whenBusy: 'queue' }))
    // A decision finds that the ticket has moved, and is taken again.
    const done = writer.decide(() => [ask('a')])
    await expect(world.clock.advance(0)).rejects.toThrow('mine')
    expect(await done).toMatchObject({ outcome: 'appended' })
    expect([heard.length, last.length]).toEqual([1, 1])
    expect(writer.signal.aborted).toBe(false)
    expect(await writer.commit([])).toMatchObject({ outcome: 'appended' })
  })

  test('ends with its writer, and a look that is on its way tells nobody', async () => {
    const world = new World()
    const { writer, heard } = await watching(world)
    const held = world.tap.hold('read', 'after')
    await appended(world)
    await held.arrived
    await elsewhere(world).createWriter(ID, { ...R1, takeover: true })
    // The lease is renewed, and found to be another's.
    await world.clock.advance(15_000)
    expect(writer.signal.reason).toMatchObject({ code: 'fenced' })
    held.open()
    await world.clock.advance(1000)
    expect(heard).toEqual([])
    expect(world.tap.watches).toBe(0)
    expect(thrown(() => writer.watch(() => {}))).toBe('fenced')
  })

  test('lets everything go when the writer is closed', async () => {
    const world = new World()
    const { writer } = await watching(world)
    await writer.write(delta('a')).appended
    await writer.close()
    expect([world.tap.watches, world.clock.alarms]).toEqual([0, 0])
    expect(thrown(() => writer.watch(() => {}))).toBe('closed')
  })

  test('law 4: learns at once that its log was removed, and asks no more', async () => {
    const world = new World()
    const { writer, heard } = await watching(world)
    await elsewhere(world).deleteStream(ID)
    await settled()
    expect(writer.signal.reason).toMatchObject({ code: 'fenced' })
    await world.clock.advance(15_000)
    expect(world.tap.count('read')).toBe(1)
    expect(heard).toEqual([])
    expect(await failure(writer.refresh())).toBe('fenced')
  })

  test('law 4: a log of the same name that was made since is none of its own', async () => {
    const world = new World()
    const { writer, heard } = await watching(world)
    await elsewhere(world).deleteStream(ID)
    await elsewhere(world).createStream(ID, 'bob')
    await settled()
    expect([writer.signal.reason, heard]).toMatchObject([{ code: 'fenced' }, []])
  })
})
