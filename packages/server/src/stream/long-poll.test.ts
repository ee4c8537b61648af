import { type Frame, SseDecoder } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import type { Caller } from '../auth/authorize.ts'
import type { WholeReply } from '../http/reply.ts'
import { reauthorizeSession, type SessionServices } from '../sessions/session-access.ts'
import { longPoll } from './long-poll.ts'
import { ID, NOTHING, StreamServer, shownOf, viewOf } from './stream-server.fixture.ts'

const ann: Caller = { principal: 'ann', owner: null, label: 'ann' }

/** Polls for entries after a position. */
function ask(stage: StreamServer, after: string, { merge = true, authorize = async () => ann } = {}) {
  const left = new AbortController()
  const request = new Request('http://localhost/', { signal: left.signal })
  const { manager, settings, connections } = stage
  const services = { manager, settings, connections }
  const access = { manager, authorize } as unknown as SessionServices
  const recheck = () => reauthorizeSession(access, request, ann, 'follow', ID)
  const how = { sessionId: ID, after, merge, whole: false, format: 'sse', headers: { 'x-session-id': ID } } as const
  const reply = stage
    .identity()
    .then(identity => longPoll(services, { ...how, signal: left.signal, recheck, identity }))
  let isDone = false
  const done = () => {
    isDone = true
  }
  reply.then(done, done)
  const frames = reply.then(framesOf)
  frames.catch(() => {})
  return { frames, reply, isDone: () => isDone, leave: () => left.abort() }
}

function framesOf(reply: unknown): Frame[] {
  const frames: Frame[] = []
  const decoder = new SseDecoder({ onFrame: frame => frames.push(frame) })
  decoder.push((reply as WholeReply).body as Uint8Array)
  decoder.end()
  return frames
}

const typesOf = (frames: readonly Frame[]) => frames.map(({ type }) => type)
const cursorOf = (frames: readonly Frame[]) =>
  (frames.findLast(frame => 'cursor' in frame) as { cursor: string }).cursor

const stage = (settings = {}) => new StreamServer({ settings, manager: { coalesceMs: 0 } })

describe('a long poll', () => {
  test('replies at once if there are entries, with the frames and headers of a stream', async () => {
    const world = stage()
    await world.said('r1', 'hello')
    const { frames, reply } = ask(world, '0')
    expect(typesOf(await frames)).toEqual(['open', 'entries', 'caught-up', 'status'])
    expect((await reply).headers).toEqual({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      'x-session-id': ID,
    })
    expect(world.held).toEqual(NOTHING)
  })

  test('waits for the next entries, then replies', async () => {
    const world = stage()
    await world.said('r1', 'hello')
    const cursor = cursorOf(await ask(world, '0').frames)
    const { frames, isDone } = ask(world, cursor)
    await world.clock.advance(10_000)
    expect(isDone()).toBe(false)
    await world.said('r2', 'again')
    const came = await frames
    expect(typesOf(came).slice(0, 2)).toEqual(['open', 'entries'])
    expect(JSON.stringify(came)).toContain('r2')
    await settled()
    expect(world.held).toEqual(NOTHING)
  })

  test('replies with its position after the timeout', async () => {
    const world = stage({ pollMs: 5_000 })
    await world.said('r1', 'hello')
    const first = await ask(world, '0').frames
    const { frames, isDone } = ask(world, cursorOf(first))
    await world.clock.advance(4_999)
    expect(isDone()).toBe(false)
    await world.clock.advance(1)
    expect(typesOf(await frames)).toEqual(['open', 'caught-up', 'status'])
    expect(cursorOf(await frames)).toBe(cursorOf(first))
    expect(world.held).toEqual(NOTHING)
  })

  test('frees everything when the client leaves', async () => {
    const world = stage()
    await world.said('r1', 'hello')
    const { leave, reply } = ask(world, cursorOf(await ask(world, '0').frames))
    await settled()
    expect(world.held).toMatchObject({ watches: 1, alarms: 1 })
    leave()
    await reply
    expect(world.held).toEqual(NOTHING)
  })

  test('law 2: consecutive polls deliver every entry once, in replies of limited size', async () => {
    const world = stage()
    const writer = await world.manager.createWriter(ID, { runId: 'r1', agentType: 'assistant' })
    for (let i = 0; i < 3_000; i++) {
      await writer.write({ type: 'data-page', data: `${i} `.padEnd(1_000, 'x') }).appended
    }
    await world.manager.endStream(ID)
    await writer.close()
    const { head } = (await world.manager.getInfo(ID)) ?? {}
    const frames: Frame[] = []
    let replies = 0
    for (let after = '0'; ; replies++) {
      const { reply } = ask(world, after)
      const { body } = (await reply) as WholeReply
      expect((body as Uint8Array).length).toBeLessThan(2 * 1024 * 1024)
      const came = framesOf(await reply)
      frames.push(...came)
      after = cursorOf(came)
      if (came.some(frame => frame.type === 'caught-up' && frame.sequence === head)) break
    }
    expect(replies).toBeGreaterThan(1)
    const { view } = await world.manager.view(ID)
    expect(shownOf(await viewOf(world.manager, { frames }))).toEqual(shownOf(view))
    const sequences = frames.flatMap(frame => (frame.type === 'entries' ? frame.entries.map(e => e.sequence) : []))
    expect(sequences).toEqual((await world.shown()).map(({ sequence }) => sequence))
  })

  test('reports a position that is not in the log, and a missing session', async () => {
    const world = stage()
    await world.said('r1', 'hello')
    expect(typesOf(await ask(world, '99').frames)).toEqual(['open', 'truncated'])
    const { reply } = ask(world, cursorOf(await ask(world, '0').frames))
    await settled()
    await world.manager.deleteStream(ID)
    await expect(reply).rejects.toMatchObject({ code: 'session_unknown' })
    await expect(ask(world, '0').reply).rejects.toMatchObject({ code: 'session_unknown' })
    expect(world.held).toEqual(NOTHING)
  })

  test('is authorized again after a long wait, before anything is sent', async () => {
    const world = stage({ reauthorizeMs: 5_000, pollMs: 25_000 })
    await world.said('r1', 'hello')
    const cursor = cursorOf(await ask(world, '0').frames)
    let asked = 0
    const authorize = async () => {
      asked++
      return asked < 2 ? ann : { ...ann, principal: 'bob' }
    }
    const early = ask(world, cursor, { authorize })
    await world.clock.advance(4_999)
    await world.said('r2', 'again')
    expect(JSON.stringify(await early.frames)).toContain('r2')
    expect(asked).toBe(0)
    const later = cursorOf(await ask(world, '0').frames)
    const [still, gone] = [ask(world, later, { authorize }), ask(world, later, { authorize })]
    await world.clock.advance(5_000)
    expect([still.isDone(), gone.isDone(), asked]).toEqual([false, false, 0])
    await world.said('r3', 'for ann alone')
    expect(JSON.stringify(await still.frames)).toContain('r3')
    await expect(gone.reply).rejects.toMatchObject({ code: 'forbidden' })
    expect(asked).toBe(2)
    const idle = ask(world, cursorOf(await ask(world, '0').frames), { authorize })
    await world.clock.advance(25_000)
    await expect(idle.reply).rejects.toMatchObject({ code: 'forbidden' })
    expect(world.held).toEqual(NOTHING)
  })

  test('reports a shutdown', async () => {
    const world = stage()
    await world.said('r1', 'hello')
    const { frames } = ask(world, cursorOf(await ask(world, '0').frames))
    await settled()
    world.connections.drain()
    expect((await frames).at(-1)).toMatchObject({ type: 'fail', error: { code: 'draining' }, recoverable: true })
    const late = await ask(world, '0').frames
    expect(late.at(-1)).toMatchObject({ type: 'fail', error: { code: 'draining' } })
    expect(world.held).toEqual(NOTHING)
  })
})
