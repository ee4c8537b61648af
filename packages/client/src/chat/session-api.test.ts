import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Api } from '../connection/api.ts'
import { SessionApi } from './session-api.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const busy = (after: number) => new Response('', { status: 503, headers: { 'retry-after': `${after}` } })
const kept = { url: '/api/u', mediaType: 'text/plain' }

/** A session of a server that replies with these, and then with nothing. */
function sessionOf(...replies: Response[]) {
  const fetch = vi.fn(async () => replies.shift() ?? new Promise<never>(() => {}))
  return { session: new SessionApi(new Api({ api: 'http://mill', fetch }), 's'), fetch }
}

describe('insisting', () => {
  test('a server that wants to be left alone for a while is, for as long as a person waits', async () => {
    const { session, fetch } = sessionOf(busy(9), Response.json('done'))
    const done = session.askWithRetry('POST', '/runs', {})
    await vi.advanceTimersByTimeAsync(8_999)
    expect(fetch).toHaveBeenCalledTimes(1)
    await vi.runAllTimersAsync()
    expect(await done).toBe('done')
  })

  test('longer than that is an error at once, which says that it may be tried again', async () => {
    const { session, fetch } = sessionOf(busy(60))
    await expect(session.askWithRetry('POST', '/runs', {})).rejects.toMatchObject({
      retryable: true,
      retryAfter: 60_000,
    })
    expect(fetch).toHaveBeenCalledTimes(1)
  })

  test('nothing is left at a signal, which ends the wait', async () => {
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    const { session } = sessionOf(busy(1), Response.json('done'))
    const done = session.answer({}, signal)
    await vi.runAllTimersAsync()
    expect(await done).toBe('done')
    expect(removed).toHaveBeenCalledTimes(added.mock.calls.length)
    const control = new AbortController()
    const other = sessionOf(busy(60))
    const left = expect(other.session.answer({}, control.signal)).rejects.toMatchObject({ code: 'http_503' })
    await vi.advanceTimersByTimeAsync(0)
    control.abort()
    await vi.advanceTimersByTimeAsync(0)
    await left
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a session that no path can name is refused, not thrown at who calls', async () => {
    const { session, fetch } = { ...sessionOf(), session: new SessionApi(new Api({}), '..') }
    await expect(session.ask('GET', '')).rejects.toMatchObject({ code: 'request_invalid' })
    await expect(session.askWithRetry('GET', '')).rejects.toMatchObject({ code: 'request_invalid' })
    expect(fetch).not.toHaveBeenCalled()
  })
})

describe('uploads', () => {
  const file = new File(['x'.repeat(320_000)], 'a.txt', { type: 'text/plain' })

  test('one that does not get there is tried again', async () => {
    const { session, fetch } = sessionOf(busy(1), Response.json(kept, { status: 201 }))
    const done = session.upload(file)
    await vi.runAllTimersAsync()
    expect(await done).toEqual({ type: 'file', ...kept })
    expect(fetch).toHaveBeenCalledTimes(2)
  })

  test('one that hangs is given up after a while that goes by its size', async () => {
    const { session, fetch } = sessionOf()
    const failed = expect(session.upload(file)).rejects.toMatchObject({ code: 'network_error' })
    await vi.advanceTimersByTimeAsync(29_999)
    expect(fetch).toHaveBeenCalledTimes(1)
    await vi.runAllTimersAsync()
    await failed
    expect(fetch).toHaveBeenCalledTimes(5)
  })
})
