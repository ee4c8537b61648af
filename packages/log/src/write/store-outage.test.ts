import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import {
  approve,
  ask,
  clientCall,
  delta,
  failure,
  ID,
  output,
  request,
  World,
} from '../manager/manager-world.fixture.ts'

const R1 = { runId: 'r1', agentType: 'assistant' }
const textOf = async (world: World): Promise<string> =>
  (await world.log()).map(({ chunk }) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('')

describe('a store that is unavailable for a while', () => {
  test('loses and duplicates no write, whether the append had happened or not', async () => {
    const world = new World()
    const writer = await world.writer()
    const texts: string[] = []
    const write = (text: string) => {
      texts.push(text)
      writer.write(delta(text))
    }
    for (let i = 0; i < 40; i++) {
      if (i % 3 === 0) world.tap.fail('append', (i % 4) + 1)
      if (i % 3 === 1) world.tap.lose('append', (i % 4) + 1)
      write(`${i}a `)
      await world.clock.advance(30)
      write(`${i}b `)
      await world.clock.advance(5000)
    }
    await writer.flush()
    expect(await textOf(world)).toBe(texts.join(''))
    const sequences = (await world.log()).map(({ sequence }) => sequence)
    expect(sequences).toEqual(sequences.map((_, i) => i + 1))
  })

  test('loses and duplicates no commit and no decision', async () => {
    const world = new World()
    const writer = await world.writer()
    world.tap.lose('append', 2)
    const commit = writer.commit([ask('a')])
    const decided = writer.decide(() => [ask('b')])
    await world.clock.advance(1000)
    expect(await commit).toMatchObject({ outcome: 'duplicate', first: 3, last: 4 })
    expect(await decided).toMatchObject({ outcome: 'appended', first: 5, last: 5 })
    expect((await world.lines()).slice(2)).toHaveLength(3)
  })

  test('a decision whose answer was lost is not made twice, although the ticket has changed since', async () => {
    const world = new World()
    const writer = await world.writer()
    let attempts = 0
    world.tap.lose('append')
    const decided = writer.decide(() => {
      attempts++
      return [ask('a')]
    })
    await settled()
    // It is in the log, its answer is lost, and the ticket changes.
    await world.manager.append(ID, 'ada', approve('a'))
    await world.clock.advance(1000)
    expect(await decided).toMatchObject({ outcome: 'duplicate' })
    expect(attempts).toBe(1)
    // The writer assumes the ticket of its own append, and reads it again if the store refuses.
    expect(await writer.decide(({ pendings }) => pendings.map(({ id }) => ask(`next-${id}`)))).toBeUndefined()
  })

  test('is retried by guests, which get the result of the first try', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([clientCall('c1')])
    world.tap.lose('append')
    const answered = world.manager.append(ID, 'ada', output('c1'))
    await world.clock.advance(1000)
    expect(await answered).toMatchObject({ outcome: 'duplicate', first: 5, last: 5 })
    world.tap.fail('read', 3)
    const requested = world.manager.append(ID, 'ada', request('r2', { whenBusy: 'queue' }))
    await world.clock.advance(1000)
    expect(await requested).toMatchObject({ outcome: 'appended' })
  })

  test('a fork whose answer was lost succeeds, and is recognised', async () => {
    const world = new World()
    await world.writer()
    for (const [at, target] of [
      [2, 'open'],
      [0, 'empty'],
    ] as const) {
      world.tap.lose('fork')
      const forked = world.manager.forkStream(ID, at, target)
      await world.clock.advance(1000)
      expect(await failure(forked)).toBe('nothing was thrown')
    }
    expect(await failure(world.manager.forkStream(ID, 2, 'open'))).toBe('exists')
  })

  test('readers wait for it, and miss nothing', async () => {
    const world = new World()
    const other = world.process()
    const writer = await world.writer('r1', other)
    const reader = await world.manager.createResumableReader(ID)
    const seen: number[] = []
    const done = (async () => {
      for await (const { sequence } of reader) seen.push(sequence)
    })()
    await settled()
    for (let i = 0; i < 5; i++) {
      world.tap.fail('read', i)
      writer.write(delta('x'))
      await world.clock.advance(3000)
    }
    await other.endStream(ID)
    await world.clock.advance(3000)
    await done
    expect(seen).toEqual((await world.log()).map(({ sequence }) => sequence))
  })
})

describe('a store that stays unavailable', () => {
  test('fails a writer after retryTimeoutMs, with its unacknowledged writes', async () => {
    const world = new World({ retryTimeoutMs: 5000 })
    const writer = await world.writer()
    world.tap.isDown = true
    const first = writer.write(delta('a'))
    await settled()
    const second = writer.write(delta('b'))
    await world.clock.advance(4000)
    expect(writer.signal.aborted).toBe(false)
    await world.clock.advance(2000)
    expect(await failure(first.appended)).toBe('unavailable')
    expect(await failure(second.appended)).toBe('unavailable')
    expect(writer.signal.reason).toMatchObject({ code: 'unavailable' })
    world.tap.isDown = false
    // The outcome is unknown, so the writer stops.
    expect(await failure(writer.flush())).toBe('unavailable')
    await writer.close()
    expect(await world.manager.getInfo(ID)).toMatchObject({ lease: null })
  })

  test('fences a late append of the failed writer once the next writer has claimed', async () => {
    const world = new World({ retryTimeoutMs: 1000 })
    const writer = await world.writer()
    const held = world.tap.hold('append')
    const late = writer.write(delta('late'))
    await held.arrived
    const nextWriter = await world.process().createWriter(ID, { ...R1, takeover: true })
    await nextWriter.commit([])
    held.open()
    expect(await failure(late.appended)).toBe('fenced')
    expect(await textOf(world)).toBe('')
  })

  test('fails all other calls with `unavailable`', async () => {
    const world = new World({ retryTimeoutMs: 1000 })
    await world.writer()
    const waiting = (await world.manager.createResumableReader(ID, { after: 2 })).next()
    await settled()
    world.tap.isDown = true
    const pending = [
      world.manager.getInfo(ID),
      world.manager.append(ID, 'ada', request('r2', { whenBusy: 'queue' })),
      world.manager.view(ID),
      world.manager.listStreams(undefined),
      world.manager.due([]),
      world.manager.deleteStream(ID),
      world.manager.trimStream(ID, {}),
      world.process({ retryTimeoutMs: 1000 }).createWriter(ID, R1),
      world.manager.createResumableReader(ID).then(reader => reader.next()),
    ].map(failure)
    await world.clock.advance(10_000)
    expect(new Set(await Promise.all(pending))).toEqual(new Set(['unavailable']))
    world.tap.isDown = false
    await world.manager.append(ID, 'ada', request('r2', { whenBusy: 'queue' }))
    expect((await waiting).value).toMatchObject({ chunk: { type: 'run-requested' } })
  })
})
