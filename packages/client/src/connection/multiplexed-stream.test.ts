import type { Subscription } from '@millrace/protocol'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { cursorOf, FakeStreamServer, refusal, snapshotAt } from './fake-stream-server.fixture.ts'
import { connect, followed, RecordingFollower } from './recording-follower.fixture.ts'

let server: FakeStreamServer
beforeEach(() => {
  server = new FakeStreamServer()
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const open = () => server.streams.filter(({ signal }) => !signal.aborted)

describe('reconnecting', () => {
  test('waits for Retry-After before it reconnects', async () => {
    vi.useFakeTimers()
    server.replies.push(refusal(503, 'busy', true, { 'retry-after': '3' }))
    followed(connect(server))
    await vi.advanceTimersByTimeAsync(2_990)
    expect(server.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(20)
    expect(server.requests).toHaveLength(2)
  })

  test('backs off after each failure, and starts over after a success', async () => {
    vi.useFakeTimers()
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const { follower } = followed(connect(server, { backoff: { firstMs: 100, longestMs: 350 } }))
    const wait = async () => {
      const { length } = server.requests
      let ms = 0
      for (; server.requests.length === length; ms += 10) await vi.advanceTimersByTimeAsync(10)
      return ms
    }
    server.replies.push(...Array.from({ length: 5 }, () => new TypeError('no network')))
    await vi.advanceTimersByTimeAsync(0)
    expect([await wait(), await wait(), await wait(), await wait()]).toEqual([100, 200, 350, 350])
    expect(await wait()).toBe(350)
    const stream = await server.stream(1)
    stream.open('s')
    stream.entries('s', 0, 1)
    await vi.advanceTimersByTimeAsync(0)
    stream.fail()
    expect(await wait()).toBe(100)
    expect(follower.all).toEqual(['1 to 1'])
  })

  test('backs off with the default delays if they are undefined', async () => {
    vi.useFakeTimers()
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const backoff: object = { firstMs: undefined, longestMs: undefined }
    followed(connect(server, { backoff }))
    server.replies.push(new TypeError('no network'))
    await vi.advanceTimersByTimeAsync(240)
    expect(server.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(20)
    expect(server.requests).toHaveLength(2)
  })

  test('reconnects after silence, and not after heartbeats', async () => {
    vi.useFakeTimers()
    const { follower } = followed(connect(server))
    await vi.advanceTimersByTimeAsync(0)
    const stream = await server.stream(1)
    stream.open('s', 0, 4_000)
    stream.caughtUp('s', 0)
    for (let n = 0; n < 5; n++) {
      await vi.advanceTimersByTimeAsync(4_000)
      stream.heartbeat()
    }
    await vi.advanceTimersByTimeAsync(0)
    expect(server.streams).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(8_000)
    expect(server.streams).toHaveLength(2)
    expect(follower.statuses.slice(0, 4)).toEqual(['connecting', 'catching-up', 'live', 'offline'])
  })

  test('waits longer for a server that stays silent, until it sends entries', async () => {
    vi.useFakeTimers()
    vi.spyOn(Math, 'random').mockReturnValue(1)
    followed(connect(server, { backoff: { firstMs: 100, longestMs: 100 } }))
    /** Seconds until the next request. */
    const wait = async () => {
      const { length } = server.requests
      let seconds = 0
      for (; server.requests.length === length; seconds++) await vi.advanceTimersByTimeAsync(1_000)
      return seconds
    }
    await vi.advanceTimersByTimeAsync(0)
    const silences = [await wait(), await wait(), await wait(), await wait()]
    expect(silences).toEqual([17, 31, 61, 61])
    const stream = await server.stream(5)
    stream.open('s', 0, 10_000)
    stream.entries('s', 0, 1)
    await vi.advanceTimersByTimeAsync(0)
    expect([await wait(), await wait()]).toEqual([16, 31])
  })

  test.each(['a fetch', 'headers'])(
    'makes the next request although %s ignores its signal and never settles',
    async which => {
      vi.useFakeTimers()
      const deaf: typeof fetch = (input, init) =>
        server.fetch(input, { ...init, signal: new AbortController().signal } as RequestInit)
      let calls = 0
      const headers = () => (calls++ === 0 ? new Promise<never>(() => {}) : {})
      const { follower } = followed(connect(server, which === 'headers' ? { headers } : { fetch: deaf }))
      await vi.advanceTimersByTimeAsync(30_000)
      const stream = await server.stream(which === 'headers' ? 1 : 2)
      stream.open('s')
      stream.entries('s', 0, 1)
      await vi.advanceTimersByTimeAsync(0)
      expect(follower.all).toEqual(['1 to 1'])
    },
  )

  test('requests a snapshot again that never arrives', async () => {
    vi.useFakeTimers()
    server.answer = () => new Promise<Response>(() => {})
    const { follower } = followed(connect(server), 's', null)
    await vi.advanceTimersByTimeAsync(20_500)
    expect(server.requests.length).toBe(2)
    expect(follower.statuses).toEqual(['connecting', 'offline'])
  })

  test('does not count the time of a slow follower as silence', async () => {
    vi.useFakeTimers()
    const { follower } = followed(connect(server))
    const taken = Promise.withResolvers<void>()
    follower.onEntries = () => taken.promise
    await vi.advanceTimersByTimeAsync(0)
    const stream = await server.stream(1)
    stream.open('s', 0, 1_000)
    stream.entries('s', 0, 1)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(server.streams).toHaveLength(1)
    taken.resolve()
    await vi.advanceTimersByTimeAsync(4_000)
    expect(server.streams).toHaveLength(2)
  })

  test('reconnects at once when the page comes online or becomes visible', async () => {
    const page = new EventTarget()
    const document = Object.assign(new EventTarget(), { visibilityState: 'hidden' })
    for (const verb of ['addEventListener', 'removeEventListener'] as const) {
      vi.stubGlobal(verb, page[verb].bind(page))
    }
    vi.stubGlobal('document', document)
    onTestFinished(() => void vi.unstubAllGlobals())
    const { follower, subscription } = followed(
      connect(server, { backoff: { firstMs: 3_600_000, longestMs: 3_600_000 } }),
    )
    const first = await server.stream(1)
    first.open('s')
    first.caughtUp('s', 0)
    await follower.until(() => subscription.status === 'live')
    page.dispatchEvent(new Event('online'))
    const second = await server.stream(2)
    expect(first.signal.aborted).toBe(true)
    second.fail()
    await follower.until(() => subscription.status === 'offline')
    document.dispatchEvent(new Event('visibilitychange'))
    expect(server.requests).toHaveLength(2)
    document.visibilityState = 'visible'
    document.dispatchEvent(new Event('visibilitychange'))
    await server.stream(3)
    subscription.close()
    // The listeners of page events are removed.
    page.dispatchEvent(new Event('online'))
    page.dispatchEvent(new Event('pageshow'))
    expect(server.requests).toHaveLength(3)
  })
})

describe('many sessions', () => {
  test('follows 40 sessions with one request, and 41 with two', async () => {
    const connection = connect(server)
    for (let n = 0; n < 20; n++) followed(connection, `s${n}`)
    expect((await server.stream(2)).positions).toHaveLength(20)
    expect(server.streams[0]?.signal.aborted).toBe(true)
    for (let n = 20; n < 41; n++) followed(connection, `s${n}`)
    await expect
      .poll(() =>
        open()
          .map(({ positions }) => positions.length)
          .sort(),
      )
      .toEqual([1, 40])
    expect(connection.size).toBe(41)
  })

  test('splits requests if the URL would be too long', async () => {
    const connection = connect(server)
    const names = Array.from({ length: 12 }, (_, n) => `${n}${'ü'.repeat(250)}`)
    for (const name of names) followed(connection, name)
    const openPlaces = () => open().flatMap(({ positions }) => positions)
    await expect.poll(() => openPlaces().sort()).toEqual(names.map(name => `${name} 0`).sort())
    expect(Math.max(...server.requests.map(({ path }) => path.length))).toBeLessThan(6_100)
    expect(Math.max(...server.streams.map(({ positions }) => positions.length))).toBe(3)
  })

  test('has one request at a time while sessions join one after the other', async () => {
    vi.useFakeTimers()
    let max = 0
    const fetch: typeof globalThis.fetch = (input, init) => {
      const reply = server.fetch(input, init)
      max = Math.max(max, server.streams.filter(({ signal }) => !signal.aborted).length)
      return reply
    }
    const connection = connect(server, { fetch })
    for (let n = 0; n < 8; n++) {
      followed(connection, `s${n}`)
      // Before, during and after the delay that collects joining sessions.
      await vi.advanceTimersByTimeAsync(n * 6)
    }
    await vi.advanceTimersByTimeAsync(1_000)
    expect(server.streams.at(-1)?.positions).toHaveLength(8)
    expect(server.streams.length).toBeGreaterThan(3)
    expect(max).toBe(1)
  })

  test('sends no request when a follower closes, and delivers nothing more to it', async () => {
    const connection = connect(server)
    const [a, b] = [followed(connection, 'a'), followed(connection, 'b')]
    const stream = await server.stream(2)
    for (const name of ['a', 'b']) stream.open(name)
    a.subscription.close()
    stream.entries('a', 0, 1)
    stream.entries('b', 0, 1)
    await b.follower.until(() => b.follower.all.length === 1)
    expect(a.follower.all).toEqual([])
    expect(a.subscription).toMatchObject({ status: 'idle', reason: 'no subscribers' })
    expect(stream.signal.aborted).toBe(false)
    b.subscription.close()
    expect(stream.signal.aborted).toBe(true)
    expect(connection.state).toEqual({ status: 'idle', reason: 'no subscribers' })
    expect(server.streams).toHaveLength(2)
  })

  test('requests sessions that join during and after a backoff', async () => {
    server.replies.push(new TypeError('no network'))
    const connection = connect(server, { backoff: { firstMs: 3_600_000, longestMs: 3_600_000 } })
    const a = followed(connection, 'a')
    await a.follower.until(() => a.subscription.status === 'offline')
    followed(connection, 'b')
    expect((await server.stream(1)).positions).toEqual(['a 0', 'b 0'])
    followed(connection, 'c')
    expect((await server.stream(2)).positions).toEqual(['a 0', 'b 0', 'c 0'])
  })

  test('lets two followers follow one session from different cursors', async () => {
    const connection = connect(server)
    const [one, other] = [followed(connection, 's'), followed(connection, 's', cursorOf(1))]
    const streams = [await server.stream(1), await server.stream(2)]
    expect(streams.map(({ positions }) => positions)).toEqual([['s 0'], [`s ${cursorOf(1)}`]])
    for (const [n, stream] of streams.entries()) {
      stream.open('s', n)
      stream.entries('s', n, 2)
    }
    for (const { follower } of [one, other]) await follower.until(() => follower.all.length === 1)
    expect([one.follower.all, other.follower.all]).toEqual([['1 2 to 2'], ['2 to 2']])
  })

  test('has the status of the session that is furthest behind', async () => {
    const connection = connect(server)
    const [a] = [followed(connection, 'a'), followed(connection, 'b')]
    const statuses: string[] = []
    connection.subscribe(() => {
      statuses.push(connection.state.status)
    })
    const stream = await server.stream(2)
    stream.open('a')
    stream.caughtUp('a', 0)
    await a?.follower.until(() => a.subscription.status === 'live')
    expect(connection.state.status).toBe('connecting')
    stream.open('b')
    stream.caughtUp('b', 0)
    await expect.poll(() => connection.state.status).toBe('live')
    expect(statuses).toContain('live')
  })
})

describe('close of a subscription', () => {
  test('takes effect inside a frame', async () => {
    let subscription: Subscription | undefined
    const follower = new RecordingFollower()
    follower.onEntries = () => subscription?.close()
    subscription = connect(server).follow('s', follower, '0')
    const stream = await server.stream(1)
    stream.open('s')
    stream.entries('s', 1, 2)
    stream.entries('s', 0, 1)
    await follower.until(() => follower.all.length === 1)
    await Promise.resolve()
    expect(follower.all).toEqual(['1 to 1'])
    expect(stream.signal.aborted).toBe(true)
    expect(follower.statuses.at(-1)).toBe('catching-up')
  })

  test('takes effect while a snapshot is read', async () => {
    const answered = Promise.withResolvers<Response>()
    server.answer = () => answered.promise
    const { follower, subscription } = followed(connect(server), 's', null)
    subscription.close()
    subscription.refresh()
    subscription.wake()
    answered.resolve(Response.json(snapshotAt(1)))
    await answered.promise
    await new Promise(resolve => setImmediate(resolve))
    expect(follower.all).toEqual([])
    expect(server.streams).toHaveLength(0)
    expect(server.requests).toHaveLength(1)
  })

  test('a second close does not remove the next follower of the same session', async () => {
    const connection = connect(server)
    followed(connection, 'other')
    const { subscription } = followed(connection)
    subscription.close()
    const { follower } = followed(connection)
    subscription.close()
    await expect.poll(() => server.streams.at(-1)?.positions).toEqual(['other 0', 's 0'])
    server.streams.at(-1)?.open('s')
    server.streams.at(-1)?.entries('s', 0, 1)
    await follower.until(() => follower.all.length === 1)
  })

  test('makes one request if the session is followed again in the same task', async () => {
    const connection = connect(server)
    followed(connection).subscription.close()
    followed(connection).subscription.close()
    const { follower } = followed(connection)
    await expect.poll(open).toHaveLength(1)
    const [stream] = open()
    stream?.open('s')
    stream?.entries('s', 0, 1)
    await follower.until(() => follower.all.length === 1)
  })
})
