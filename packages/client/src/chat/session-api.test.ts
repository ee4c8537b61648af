import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Api } from '../connection/api.ts'
import { SessionApi } from './session-api.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const busy = (after: number) => new Response('', { status: 503, headers: { 'retry-after': `${after}` } })
const uploaded = { url: '/api/u', mediaType: 'text/plain' }

/** A session on a server that sends these responses, and then none. */
function sessionOf(...replies: Response[]) {
  const fetch = vi.fn(async () => replies.shift() ?? new Promise<never>(() => {}))
  return { session: new SessionApi(new Api({ api: 'http://mill', fetch }), 's'), fetch }
}

describe('retries', () => {
  test('waits as long as Retry-After says, up to the longest delay', async () => {
    const { session, fetch } = sessionOf(busy(9), Response.json('done'))
    const done = session.askWithRetry('POST', '/runs', {})
    await vi.advanceTimersByTimeAsync(8_999)
    expect(fetch).toHaveBeenCalledTimes(1)
    await vi.runAllTimersAsync()
    expect(await done).toBe('done')
  })

  test('reports a longer Retry-After at once as a retryable error', async () => {
    const { session, fetch } = sessionOf(busy(60))
    await expect(session.askWithRetry('POST', '/runs', {})).rejects.toMatchObject({
      retryable: true,
      retryAfter: 60_000,
    })
    expect(fetch).toHaveBeenCalledTimes(1)
  })

  test('removes its abort listeners, and stops waiting on abort', async () => {
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    const { session } = sessionOf(busy(1), Response.json('done'))
    const done = session.answer({}, signal)
    await vi.runAllTimersAsync()
    expect(await done).toBe('done')
    expect(removed).toHaveBeenCalledTimes(added.mock.calls.length)
    const controller = new AbortController()
    const other = sessionOf(busy(60))
    const aborted = expect(other.session.answer({}, controller.signal)).rejects.toMatchObject({ code: 'http_503' })
    await vi.advanceTimersByTimeAsync(0)
    controller.abort()
    await vi.advanceTimersByTimeAsync(0)
    await aborted
    expect(vi.getTimerCount()).toBe(0)
  })

  test('rejects a session id that no path can contain, and does not throw synchronously', async () => {
    const { session, fetch } = { ...sessionOf(), session: new SessionApi(new Api({}), '..') }
    await expect(session.ask('GET', '')).rejects.toMatchObject({ code: 'request_invalid' })
    await expect(session.askWithRetry('GET', '')).rejects.toMatchObject({ code: 'request_invalid' })
    expect(fetch).not.toHaveBeenCalled()
  })
})

describe('uploads', () => {
  const file = new File(['x'.repeat(320_000)], 'a.txt', { type: 'text/plain' })

  test('retries a failed upload', async () => {
    const { session, fetch } = sessionOf(busy(1), Response.json(uploaded, { status: 201 }))
    const done = session.upload(file)
    await vi.runAllTimersAsync()
    expect(await done).toEqual({ type: 'file', ...uploaded })
    expect(fetch).toHaveBeenCalledTimes(2)
  })

  test('times out an upload after a time that depends on its size', async () => {
    const { session, fetch } = sessionOf()
    const failed = expect(session.upload(file)).rejects.toMatchObject({ code: 'network_error' })
    await vi.advanceTimersByTimeAsync(29_999)
    expect(fetch).toHaveBeenCalledTimes(1)
    await vi.runAllTimersAsync()
    await failed
    expect(fetch).toHaveBeenCalledTimes(5)
  })
})
