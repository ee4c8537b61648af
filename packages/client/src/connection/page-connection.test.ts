import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { cursorOf, FakeStreamServer, refusal, snapshotAt } from './fake-stream-server.fixture.ts'
import { connect, followed, RecordingFollower } from './recording-follower.fixture.ts'

let server: FakeStreamServer
beforeEach(() => {
  server = new FakeStreamServer()
})

describe('law 2: delivers frames in order', () => {
  test('replays, then goes live, each status with its reason', async () => {
    const { follower, subscription } = followed(connect(server))
    const stream = await server.stream(1)
    expect(stream.positions).toEqual(['s 0'])
    stream.open('s')
    stream.entries('s', 0, 3)
    stream.caughtUp('s', 3)
    stream.entries('s', 3, 4)
    await follower.until(() => follower.all.length === 2)
    expect(follower.all).toEqual(['1 2 3 to 3', '4 to 4'])
    expect(follower.statuses).toEqual(['connecting', 'catching-up', 'live'])
    expect(subscription).toMatchObject({ status: 'live', reason: 'up to date', cursor: cursorOf(4) })
  })

  test.each([
    ['is closed without a closing frame', (end: { close(): void; fail(): void }) => end.close()],
    ['breaks', (end: { close(): void; fail(): void }) => end.fail()],
  ])('reconnects after the cursor if the connection %s', async (_, end) => {
    const { follower } = followed(connect(server))
    const first = await server.stream(1)
    first.open('s')
    first.entries('s', 0, 2)
    await follower.until(() => follower.all.length === 1)
    end(first)
    const second = await server.stream(2)
    expect(second.positions).toEqual([`s ${cursorOf(2)}`])
    expect(follower.statuses).toEqual(['connecting', 'catching-up', 'offline', 'connecting'])
    second.open('s', 2)
    second.entries('s', 2, 3)
    await follower.until(() => follower.all.length === 2)
    expect(follower.all).toEqual(['1 2 to 2', '3 to 3'])
  })

  test('delivers a repeated frame once', async () => {
    const { follower } = followed(connect(server))
    const stream = await server.stream(1)
    stream.open('s')
    stream.entries('s', 0, 2)
    stream.entries('s', 0, 2)
    stream.entries('s', 1, 2)
    stream.entries('s', 2, 3)
    await follower.until(() => follower.all.length === 2)
    expect(follower.all).toEqual(['1 2 to 2', '3 to 3'])
    expect(server.streams).toHaveLength(1)
  })

  test('holds an early frame for the one before it, without another request', async () => {
    const { follower } = followed(connect(server))
    const stream = await server.stream(1)
    stream.open('s')
    stream.entries('s', 2, 3)
    stream.entries('s', 1, 2)
    stream.entries('s', 0, 1)
    await follower.until(() => follower.all.length === 3)
    expect(follower.all).toEqual(['1 to 1', '2 to 2', '3 to 3'])
    await new Promise(resolve => setTimeout(resolve, 40))
    expect(server.streams).toHaveLength(1)
  })

  test('requests from the cursor after a gap that stays, and drops held frames', async () => {
    const { follower } = followed(connect(server))
    const first = await server.stream(1)
    first.open('s')
    first.entries('s', 0, 1)
    first.entries('s', 2, 3)
    const second = await server.stream(2)
    expect(first.signal.aborted).toBe(true)
    expect(second.positions).toEqual([`s ${cursorOf(1)}`])
    expect(follower.all).toEqual(['1 to 1'])
    second.open('s', 1)
    second.entries('s', 1, 3)
    await follower.until(() => follower.all.length === 2)
    expect(follower.all).toEqual(['1 to 1', '2 3 to 3'])
  })

  test('law 8: requests at once when too many frames are held', async () => {
    const { follower } = followed(connect(server))
    const stream = await server.stream(1)
    stream.open('s')
    for (let n = 1; n <= 65; n++) stream.entries('s', n, n + 1)
    await follower.until(() => follower.statuses.includes('offline'))
    expect(follower.all).toEqual([])
    await server.stream(2)
  })

  test.each([
    ['overlaps received entries', (s: FakeStreamServer['streams'][0]) => s.entries('s', 1, 3)],
    ['reports caught-up with entries that were not sent', (s: FakeStreamServer['streams'][0]) => s.caughtUp('s', 5)],
    ['sends an invalid frame', (s: FakeStreamServer['streams'][0]) => s.raw('data: {"type":"what"}\n\n')],
  ])('reconnects a session if the stream %s', async (_, act) => {
    const { follower } = followed(connect(server))
    const stream = await server.stream(1)
    stream.open('s')
    stream.entries('s', 0, 2)
    act(stream)
    expect((await server.stream(2)).positions).toEqual([`s ${cursorOf(2)}`])
    expect(follower.all).toEqual(['1 2 to 2'])
    expect(follower.statuses).not.toContain('live')
  })

  test('loads a snapshot if its position was trimmed', async () => {
    server.answer = () => Response.json(snapshotAt(7, 'b'))
    const { follower, subscription } = followed(connect(server), 's', cursorOf(5))
    const stream = await server.stream(1)
    stream.send({ type: 'truncated', sessionId: 's', floor: 0, incarnation: 'b' })
    stream.close()
    expect((await server.stream(2)).positions).toEqual([`s ${cursorOf(7, 'b')}`])
    expect(follower.all).toEqual(['snapshot 7'])
    expect(subscription.cursor).toBe(cursorOf(7, 'b'))
    expect(server.requests.map(({ path }) => path.split('?')[0])).toContain('/api/sessions/s')
  })

  test('begins with a snapshot of the requested number of messages without a cursor', async () => {
    server.answer = () => Response.json(snapshotAt(4))
    const follower = Object.assign(new RecordingFollower(), { messages: 20 })
    connect(server).follow('s/1', follower)
    expect((await server.stream(1)).positions).toEqual([`s/1 ${cursorOf(4)}`])
    expect(server.requests[0]?.path).toBe('/api/sessions/s%2F1?messages=last:20')
  })
})

describe('a session that cannot be followed', () => {
  test('reports a session that cannot be followed once, and retries it on wake', async () => {
    server.replies.push(refusal(403, 'forbidden'))
    const { follower, subscription } = followed(connect(server))
    await follower.until(() => follower.failures.length === 1)
    expect(follower.failures).toEqual([{ code: 'forbidden', message: 'forbidden.', retryable: false }])
    expect(subscription).toMatchObject({ status: 'offline', reason: 'forbidden.' })
    expect(server.streams).toHaveLength(0)
    subscription.wake()
    ;(await server.stream(1)).open('s')
    await follower.until(() => subscription.status === 'catching-up')
  })

  test('retries a session that cannot be followed when the connection wakes', async () => {
    const connection = connect(server)
    server.answer = () => refusal(404, 'session_unknown')
    const all = [followed(connection, 's', null), followed(connection, 's', null)]
    for (const { follower } of all) await follower.until(() => follower.failures.length === 1)
    server.answer = () => Response.json(snapshotAt(1))
    connection.wake()
    for (const { follower } of all) await follower.until(() => follower.snapshots.length === 1)
  })

  test('delivers other sessions if one cannot be followed', async () => {
    const connection = connect(server)
    const [a, b] = [followed(connection, 'a'), followed(connection, 'b')]
    await server.stream(1)
    const stream = await server.stream(2)
    expect(stream.positions).toEqual(['a 0', 'b 0'])
    const error = { code: 'session_unknown', message: 'There is none.' }
    stream.send({ type: 'fail', sessionId: 'a', error, recoverable: false })
    stream.open('b')
    stream.entries('b', 0, 1)
    await b.follower.until(() => b.follower.all.length === 1)
    expect(a.follower.all).toEqual(['failed session_unknown'])
    stream.close()
    expect((await server.stream(3)).positions).toEqual([`b ${cursorOf(1)}`])
  })

  test('reports a failure of the connection to all followers', async () => {
    const connection = connect(server)
    const all = [followed(connection, 'a'), followed(connection, 'b')]
    const stream = await server.stream(2)
    stream.send({ type: 'fail', error: { code: 'revoked', message: 'No more.' }, recoverable: false })
    stream.close()
    for (const { follower } of all) {
      await follower.until(() => follower.failures.length === 1)
      expect(follower.all).toEqual(['failed revoked'])
    }
  })

  test('reconnects after a recoverable failure', async () => {
    const { follower } = followed(connect(server))
    const stream = await server.stream(1)
    stream.open('s')
    const error = { code: 'draining', message: 'The server goes down.' }
    stream.send({ type: 'fail', sessionId: 's', error, recoverable: true })
    await server.stream(2)
    expect(follower.failures).toEqual([])
    expect(follower.statuses).toContain('offline')
  })

  test.each([true, false])('retries once after a 401 if the headers are computed (%s)', async isComputed => {
    let n = 0
    const headers = isComputed ? async () => ({ authorization: `token ${++n}` }) : { authorization: 'token 0' }
    server.replies.push(refusal(401, 'unauthorized'))
    const { follower } = followed(connect(server, { headers, credentials: () => 'include' }))
    if (isComputed) {
      await server.stream(1)
      expect(server.requests.map(request => request.headers.get('authorization'))).toEqual(['token 1', 'token 2'])
    } else await follower.until(() => follower.failures.length === 1)
    expect(follower.failures.map(({ code }) => code)).toEqual(isComputed ? [] : ['unauthorized'])
  })

  test('isolates a follower that throws', async () => {
    const connection = connect(server)
    const [a, b] = [followed(connection, 'a'), followed(connection, 'b')]
    a.follower.onEntries = () => {
      throw new Error('no room')
    }
    const stream = await server.stream(2)
    stream.open('a')
    stream.open('b')
    stream.entries('a', 0, 1)
    stream.entries('b', 0, 1)
    stream.entries('a', 1, 2)
    stream.entries('b', 1, 2)
    await b.follower.until(() => b.follower.all.length === 2)
    expect(a.follower.failures).toMatchObject([{ code: 'follower_failed' }])
    // Law 2: it gets no entries after those that it did not take.
    expect(a.follower.all).toEqual(['1 to 1', 'failed follower_failed'])
    a.follower.onEntries = () => {}
    a.subscription.wake()
    await a.follower.until(() => a.follower.snapshots.length === 1)
  })

  test('reconnects once with new credentials when authorization ends', async () => {
    let n = 0
    const headers = () => ({ authorization: `token ${++n}` })
    const { follower } = followed(connect(server, { headers }))
    const error = { code: 'unauthorized', message: 'The token has expired.' }
    const fail = { type: 'fail', sessionId: 's', error, recoverable: false } as const
    const first = await server.stream(1)
    first.open('s')
    first.entries('s', 0, 2)
    first.send(fail)
    const second = await server.stream(2)
    expect(second.positions).toEqual([`s ${cursorOf(2)}`])
    expect(server.requests.at(-1)?.headers.get('authorization')).toBe('token 2')
    expect(follower.failures).toEqual([])
    // Without any authorization, it does not retry.
    second.send(fail)
    await follower.until(() => follower.failures.length === 1)
    expect(follower.all).toEqual(['1 2 to 2', 'failed unauthorized'])
    expect(server.streams).toHaveLength(2)
  })

  test.each([
    ['a page', () => new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } }), /text\/html/],
    [
      'an unknown protocol version',
      () =>
        new Response('data: {"type":"open","protocol":2}\n\n', { headers: { 'content-type': 'text/event-stream' } }),
      /open\.protocol: expected 1, found 2/,
    ],
    ['a refused URL that is too long', () => refusal(414, 'uri_too_long'), /uri_too_long/],
  ])('reports %s instead of a stream the second time, and retries slowly', async (_, reply, message) => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    vi.spyOn(Math, 'random').mockReturnValue(1)
    server.replies.push(...Array.from({ length: 5 }, reply))
    const { follower, subscription } = followed(connect(server, { backoff: { firstMs: 100, longestMs: 10_000 } }))
    await vi.advanceTimersByTimeAsync(50)
    expect(follower.failures).toEqual([])
    await vi.advanceTimersByTimeAsync(100)
    expect(follower.failures).toMatchObject([{ message: expect.stringMatching(message), retryable: true }])
    expect(subscription).toMatchObject({ status: 'offline', reason: expect.stringMatching(message) })
    await vi.advanceTimersByTimeAsync(39_000)
    expect(server.requests).toHaveLength(5)
    await vi.advanceTimersByTimeAsync(1_500)
    const stream = await server.stream(1)
    stream.open('s')
    stream.entries('s', 0, 1)
    await vi.advanceTimersByTimeAsync(0)
    expect(follower.all).toMatchObject([expect.stringMatching('failed'), '1 to 1'])
  })
})
