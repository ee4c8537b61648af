import { describe, expect, test, vi } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { HttpError } from '../errors/http-error.ts'
import { RECHECK_TIMEOUT_MS } from './connections.ts'
import { SlowClient } from './slow-client.fixture.ts'
import type { StreamChannel } from './stream-channel.ts'
import { delta, ID, NO_RESOURCES, StreamServer } from './stream-server.fixture.ts'

/** Writes nothing until the connection ends. */
const neverReplies = (channel: StreamChannel): Promise<void> =>
  new Promise(resolve => channel.signal.addEventListener('abort', () => resolve()))

describe('a connection', () => {
  test.each(['sse', 'ndjson'] as const)(
    '%s: sends headers against caching, transforming, sniffing and buffering',
    format => {
      const { connections } = new StreamServer()
      const { status, headers } = connections.reply({
        format,
        headers: { 'x-session-id': 's' },
        recheck: async () => {},
        serve: neverReplies,
      })
      expect(status).toBe(200)
      expect(headers).toEqual({
        'content-type': `${format === 'sse' ? 'text/event-stream' : 'application/x-ndjson'}; charset=utf-8`,
        'cache-control': 'no-store, no-transform',
        'x-accel-buffering': 'no',
        'x-content-type-options': 'nosniff',
        'x-session-id': 's',
      })
    },
  )

  test('starts with the retry delay for SSE', async () => {
    const testServer = new StreamServer({ settings: { retryMs: 2_500 } })
    await testServer.completeRun('r1', 'hello')
    const client = testServer.follow()
    const lines = testServer.follow({}, new SlowClient('ndjson'), { format: 'ndjson' })
    await settled()
    expect(client.text.startsWith('retry: 2500\n\nid: ')).toBe(true)
    expect(lines.text.startsWith('{"type":"open"')).toBe(true)
  })

  test.each([0, 2048])('sends heartbeats with padding %i while idle, and none while active', async padding => {
    const settings = { heartbeatMs: 10_000, heartbeatPadding: padding }
    const testServer = new StreamServer({ settings, manager: { coalesceMs: 0 } })
    const writer = await testServer.manager.createWriter(ID, { runId: 'r1', agentType: 'assistant' })
    await writer.commit([])
    const clients = [testServer.follow(), testServer.follow({}, new SlowClient('ndjson'), { format: 'ndjson' })]
    await settled()
    for (let i = 0; i < 10; i++) {
      await testServer.clock.advance(4_000)
      await writer.write(delta(`${i}`)).appended
      await settled()
    }
    for (const client of clients) expect(client.heartbeats).toBe(0)
    // No gap is longer than the announced interval.
    for (let i = 0; i < 5; i++) {
      const before = clients.map(({ flushed: taken, heartbeats }) => ({ taken, heartbeats }))
      await testServer.clock.advance(10_000)
      clients.forEach(({ heartbeats, flushed: taken }, at) => {
        expect(heartbeats).toBeGreaterThan(before[at]?.heartbeats ?? 0)
        // One per half interval, or one less.
        const length = taken - (before[at]?.taken ?? 0)
        expect(length).toBeGreaterThan(padding)
        expect(length).toBeLessThan(2 * (padding + 8))
      })
    }
    await writer.close()
    for (const client of clients) client.disconnect()
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('gets no heartbeats while it is full', async () => {
    const testServer = new StreamServer({ settings: { heartbeatMs: 100, maxBufferedBytes: 64, stallMs: 60_000 } })
    await testServer.completeRun('r1', 'hello')
    const client = new SlowClient()
    client.isStalled = true
    testServer.follow({}, client)
    await settled()
    const { buffered } = client
    await testServer.clock.advance(10_000)
    expect(client.buffered).toBe(buffered)
  })

  test('shares one timer with all others, which stops with the last', async () => {
    const testServer = new StreamServer()
    const clients = Array.from({ length: 5 }, () => testServer.serve(neverReplies))
    expect(testServer.resources).toMatchObject({ connections: 5, timers: 1 })
    await testServer.clock.advance(60_000)
    expect(testServer.resources).toMatchObject({ connections: 5, timers: 1 })
    for (const client of clients) client.disconnect()
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
    testServer.serve(neverReplies)
    expect(testServer.resources).toMatchObject({ connections: 1, timers: 1 })
  })

  test('sends errors: server faults are recoverable, and only the logger gets the cause', async () => {
    const testServer = new StreamServer()
    const client = testServer.serve(() => Promise.reject(new Error('a secret')))
    expect(await client.closed).toBe('ended')
    expect(client.frames).toEqual([
      { type: 'fail', error: expect.objectContaining({ code: 'internal_error' }), recoverable: true },
    ])
    expect(client.text).not.toContain('secret')
    expect(testServer.logged).toEqual([{ message: 'a stream failed', fields: { cause: new Error('a secret') } }])
    const refused = testServer.serve(() => Promise.reject(new HttpError('forbidden', 'access denied')))
    await refused.closed
    const error = { code: 'forbidden', message: 'access denied', retryable: false }
    expect(refused.frames).toEqual([{ type: 'fail', error, recoverable: false }])
    expect(testServer.logged).toHaveLength(1)
  })
})

describe('an open stream', () => {
  const reauthorizeMs = 5_000

  test('is authorized again, and closed for good once access is lost', async () => {
    const testServer = new StreamServer({ settings: { reauthorizeMs } })
    await testServer.completeRun('r1', 'hello')
    const recheck = vi.fn(async () => {})
    const client = testServer.follow({}, undefined, { recheck })
    await testServer.clock.advance(reauthorizeMs * 3)
    expect(recheck).toHaveBeenCalledTimes(3)
    expect(client.isClosed).toBe(false)
    recheck.mockRejectedValue(new HttpError('unauthorized', 'the session has expired'))
    await testServer.clock.advance(reauthorizeMs)
    expect(await client.closed).toBe('ended')
    const error = { code: 'unauthorized', message: 'the session has expired', retryable: false }
    expect(client.frames.at(-1)).toEqual({ type: 'fail', error, recoverable: false })
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('is authorized once at a time', async () => {
    const testServer = new StreamServer({ settings: { reauthorizeMs } })
    const answer = Promise.withResolvers<void>()
    const recheck = vi.fn(() => answer.promise)
    const client = testServer.serve(neverReplies, undefined, { recheck })
    await testServer.clock.advance(reauthorizeMs * 4)
    expect(recheck).toHaveBeenCalledTimes(1)
    answer.resolve()
    await testServer.clock.advance(reauthorizeMs * 2)
    expect(recheck).toHaveBeenCalledTimes(3)
    expect(client.isClosed).toBe(false)
  })

  test('is closed if authorize does not answer in time', async () => {
    const testServer = new StreamServer({ settings: { reauthorizeMs } })
    const client = testServer.serve(neverReplies, undefined, { recheck: () => new Promise(() => {}) })
    await testServer.clock.advance(reauthorizeMs + RECHECK_TIMEOUT_MS - 1)
    expect(client.isClosed).toBe(false)
    await testServer.clock.advance(reauthorizeMs)
    expect(await client.closed).toBe('ended')
    const error = { code: 'authorize_timeout', retryable: true, message: expect.stringContaining('reconnect') }
    expect(client.frames.at(-1)).toEqual({ type: 'fail', error, recoverable: true })
    expect(testServer.logged).toHaveLength(1)
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('writes nothing if the client left while it was authorized again', async () => {
    const testServer = new StreamServer({ settings: { reauthorizeMs } })
    const answer = Promise.withResolvers<void>()
    const client = testServer.serve(neverReplies, undefined, { recheck: () => answer.promise })
    await testServer.clock.advance(reauthorizeMs)
    client.disconnect()
    answer.reject(new HttpError('forbidden', 'no'))
    await settled()
    expect(client.frames).toEqual([])
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })
})

describe('a server that shuts down', () => {
  test('asks all clients to reconnect, later ones too, and keeps nothing', async () => {
    const testServer = new StreamServer({ manager: { coalesceMs: 0 } })
    const writer = await testServer.manager.createWriter(ID, { runId: 'r1', agentType: 'assistant' })
    await writer.commit([])
    const closed: boolean[] = []
    const onClose = (isEnded: boolean) => void closed.push(isEnded)
    const clients = [
      testServer.follow({}, undefined, { onClose }),
      testServer.follow({ isNamed: true }, undefined, { onClose }),
    ]
    await settled()
    expect(testServer.connections.draining.aborted).toBe(false)
    testServer.connections.drain()
    // Later entries have no reader here.
    await writer.write(delta('late')).appended
    clients.push(testServer.follow({}, undefined, { onClose }))
    for (const client of clients) {
      expect(await client.closed).toBe('ended')
      expect(client.frames.at(-1)).toMatchObject({ type: 'fail', error: { code: 'draining' }, recoverable: true })
      expect(client.text).not.toContain('late')
    }
    await writer.close()
    await settled()
    expect(closed).toEqual([true, true, true])
    expect(testServer.connections.draining.aborted).toBe(true)
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('does not wait for a client that reads nothing', async () => {
    const testServer = new StreamServer({ settings: { stallMs: 1_000 } })
    const client = new SlowClient()
    client.isStalled = true
    testServer.serve(neverReplies, client)
    testServer.connections.drain()
    await testServer.clock.advance(1_000)
    expect(await client.closed).toBe('destroyed')
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })
})

test('onClose tells a dropped connection from an ended one', async () => {
  const testServer = new StreamServer()
  await testServer.completeRun('r1', 'hello')
  const closed: boolean[] = []
  const onClose = (isEnded: boolean) => void closed.push(isEnded)
  const dropped = testServer.follow({}, undefined, { onClose })
  await settled()
  dropped.disconnect()
  await settled()
  expect(closed).toEqual([false])
  await testServer.follow({ isLive: false }, undefined, { onClose }).closed
  await settled()
  expect(closed).toEqual([false, true])
})
