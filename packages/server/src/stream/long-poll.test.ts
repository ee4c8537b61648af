import { type Frame, SseDecoder } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import type { Caller } from '../auth/authorize.ts'
import type { CompleteReply } from '../http/reply.ts'
import { reauthorizeSession, type SessionServices } from '../sessions/session-access.ts'
import { longPoll } from './long-poll.ts'
import { ID, NO_RESOURCES, StreamServer, shownOf, viewOf } from './stream-server.fixture.ts'

const ann: Caller = { principal: 'ann', owner: null, label: 'ann' }

/** Polls for entries after a position. */
function ask(testServer: StreamServer, after: string, { merge = true, authorize = async () => ann } = {}) {
  const left = new AbortController()
  const request = new Request('http://localhost/', { signal: left.signal })
  const { manager, settings, connections } = testServer
  const services = { manager, settings, connections }
  const access = { manager, authorize } as unknown as SessionServices
  const recheck = () => reauthorizeSession(access, request, ann, 'follow', ID)
  const how = {
    sessionId: ID,
    after,
    merge,
    includeDiscarded: false,
    format: 'sse',
    headers: { 'x-session-id': ID },
  } as const
  const reply = testServer
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
  decoder.push((reply as CompleteReply).body as Uint8Array)
  decoder.end()
  return frames
}

const typesOf = (frames: readonly Frame[]) => frames.map(({ type }) => type)
const cursorOf = (frames: readonly Frame[]) =>
  (frames.findLast(frame => 'cursor' in frame) as { cursor: string }).cursor

const newServer = (settings = {}) => new StreamServer({ settings, manager: { coalesceMs: 0 } })

describe('a long poll', () => {
  test('replies at once if there are entries, with the frames and headers of a stream', async () => {
    const testServer = newServer()
    await testServer.completeRun('r1', 'hello')
    const { frames, reply } = ask(testServer, '0')
    expect(typesOf(await frames)).toEqual(['open', 'entries', 'caught-up', 'status'])
    expect((await reply).headers).toEqual({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      'x-session-id': ID,
    })
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('waits for the next entries, then replies', async () => {
    const testServer = newServer()
    await testServer.completeRun('r1', 'hello')
    const cursor = cursorOf(await ask(testServer, '0').frames)
    const { frames, isDone } = ask(testServer, cursor)
    await testServer.clock.advance(10_000)
    expect(isDone()).toBe(false)
    await testServer.completeRun('r2', 'again')
    const came = await frames
    expect(typesOf(came).slice(0, 2)).toEqual(['open', 'entries'])
    expect(JSON.stringify(came)).toContain('r2')
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('replies with its position after the timeout', async () => {
    const testServer = newServer({ pollMs: 5_000 })
    await testServer.completeRun('r1', 'hello')
    const first = await ask(testServer, '0').frames
    const { frames, isDone } = ask(testServer, cursorOf(first))
    await testServer.clock.advance(4_999)
    expect(isDone()).toBe(false)
    await testServer.clock.advance(1)
    expect(typesOf(await frames)).toEqual(['open', 'caught-up', 'status'])
    expect(cursorOf(await frames)).toBe(cursorOf(first))
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('frees everything when the client leaves', async () => {
    const testServer = newServer()
    await testServer.completeRun('r1', 'hello')
    const { leave, reply } = ask(testServer, cursorOf(await ask(testServer, '0').frames))
    await settled()
    expect(testServer.resources).toMatchObject({ watches: 1, timers: 1 })
    leave()
    await reply
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('law 2: consecutive polls deliver every entry once, in replies of limited size', async () => {
    const testServer = newServer()
    const writer = await testServer.manager.createWriter(ID, { runId: 'r1', agentType: 'assistant' })
    for (let i = 0; i < 3_000; i++) {
      await writer.write({ type: 'data-page', data: `${i} `.padEnd(1_000, 'x') }).appended
    }
    await testServer.manager.endStream(ID)
    await writer.close()
    const { head } = (await testServer.manager.getInfo(ID)) ?? {}
    const frames: Frame[] = []
    let replies = 0
    for (let after = '0'; ; replies++) {
      const { reply } = ask(testServer, after)
      const { body } = (await reply) as CompleteReply
      expect((body as Uint8Array).length).toBeLessThan(2 * 1024 * 1024)
      const came = framesOf(await reply)
      frames.push(...came)
      after = cursorOf(came)
      if (came.some(frame => frame.type === 'caught-up' && frame.sequence === head)) break
    }
    expect(replies).toBeGreaterThan(1)
    const { view } = await testServer.manager.view(ID)
    expect(shownOf(await viewOf(testServer.manager, { frames }))).toEqual(shownOf(view))
    const sequences = frames.flatMap(frame => (frame.type === 'entries' ? frame.entries.map(e => e.sequence) : []))
    expect(sequences).toEqual((await testServer.publicEntries()).map(({ sequence }) => sequence))
  })

  test('reports a position that is not in the log, and a missing session', async () => {
    const testServer = newServer()
    await testServer.completeRun('r1', 'hello')
    expect(typesOf(await ask(testServer, '99').frames)).toEqual(['open', 'truncated'])
    const { reply } = ask(testServer, cursorOf(await ask(testServer, '0').frames))
    await settled()
    await testServer.manager.deleteStream(ID)
    await expect(reply).rejects.toMatchObject({ code: 'session_unknown' })
    await expect(ask(testServer, '0').reply).rejects.toMatchObject({ code: 'session_unknown' })
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('is authorized again after a long wait, before anything is sent', async () => {
    const testServer = newServer({ reauthorizeMs: 5_000, pollMs: 25_000 })
    await testServer.completeRun('r1', 'hello')
    const cursor = cursorOf(await ask(testServer, '0').frames)
    let requests = 0
    const authorize = async () => {
      requests++
      return requests < 2 ? ann : { ...ann, principal: 'bob' }
    }
    const early = ask(testServer, cursor, { authorize })
    await testServer.clock.advance(4_999)
    await testServer.completeRun('r2', 'again')
    expect(JSON.stringify(await early.frames)).toContain('r2')
    expect(requests).toBe(0)
    const later = cursorOf(await ask(testServer, '0').frames)
    const [still, disconnectedPoll] = [ask(testServer, later, { authorize }), ask(testServer, later, { authorize })]
    await testServer.clock.advance(5_000)
    expect([still.isDone(), disconnectedPoll.isDone(), requests]).toEqual([false, false, 0])
    await testServer.completeRun('r3', 'for ann alone')
    expect(JSON.stringify(await still.frames)).toContain('r3')
    await expect(disconnectedPoll.reply).rejects.toMatchObject({ code: 'forbidden' })
    expect(requests).toBe(2)
    const idle = ask(testServer, cursorOf(await ask(testServer, '0').frames), { authorize })
    await testServer.clock.advance(25_000)
    await expect(idle.reply).rejects.toMatchObject({ code: 'forbidden' })
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('reports a shutdown', async () => {
    const testServer = newServer()
    await testServer.completeRun('r1', 'hello')
    const { frames } = ask(testServer, cursorOf(await ask(testServer, '0').frames))
    await settled()
    testServer.connections.drain()
    expect((await frames).at(-1)).toMatchObject({ type: 'fail', error: { code: 'draining' }, recoverable: true })
    const late = await ask(testServer, '0').frames
    expect(late.at(-1)).toMatchObject({ type: 'fail', error: { code: 'draining' } })
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })
})
