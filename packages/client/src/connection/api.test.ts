import { afterEach, describe, expect, test, vi } from 'vitest'
import { Api, type ApiOptions, errorOf, sessionPath } from './api.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const never = () => new Promise<never>(() => {})
const api = (options: ApiOptions) => new Api({ api: 'http://mill/api', ...options })

describe('aborts', () => {
  test.each<[string, ApiOptions]>([
    ['headers', { headers: never }],
    ['credentials', { credentials: never }],
    ['fetch', { fetch: never }],
  ])('an abort rejects the request although %s never settles', async (_, options) => {
    const controller = new AbortController()
    const reply = api(options).request('GET', '/stream', { signal: controller.signal })
    controller.abort('enough')
    await expect(reply).rejects.toThrow('enough')
  })

  test('times out a reply that never ends, also without AbortSignal.any', async () => {
    vi.useFakeTimers()
    vi.spyOn(AbortSignal, 'any').mockImplementation(() => {
      throw new TypeError('AbortSignal.any is not a function')
    })
    const fetch = async () => new Response(new ReadableStream())
    const reply = api({ fetch }).ask('GET', '/sessions/a', undefined, new AbortController().signal)
    const late = expect(reply).rejects.toThrow(/did not answer in time/)
    await vi.runAllTimersAsync()
    await late
  })

  test('sends nothing after an abort, and leaves no listeners', async () => {
    const controller = new AbortController()
    const added = vi.spyOn(controller.signal, 'addEventListener')
    const removed = vi.spyOn(controller.signal, 'removeEventListener')
    await api({ fetch: async () => Response.json(1) }).ask('GET', '/x', undefined, controller.signal)
    expect(added).toHaveBeenCalled()
    expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(added.mock.calls.map(([, listener]) => listener))
    controller.abort('gone')
    await expect(api({ fetch: never }).ask('GET', '/x', undefined, controller.signal)).rejects.toThrow('gone')
  })
})

describe('invalid requests', () => {
  test('rejects a value that is not JSON with client_failed, and does not send it', async () => {
    const fetch = vi.fn(never)
    const reply = api({ fetch }).ask('POST', '/x', { output: 10n })
    await expect(reply).rejects.toMatchObject({ code: 'client_failed', retryable: false })
    expect(fetch).not.toHaveBeenCalled()
  })

  test.each<[string, ApiOptions]>([
    ['are rejected', { headers: () => Promise.reject(new Error('no token')) }],
    ['are invalid', { headers: { authorization: 'a\nb' } }],
  ])('rejects headers that %s with another code than a network error', async (_, options) => {
    await expect(api({ fetch: never, ...options }).ask('GET', '/x')).rejects.toMatchObject({
      code: 'headers_failed',
      retryable: true,
    })
  })

  test.each(['', '.', '..', 'a\ud800'])('rejects the session id %j', sessionId => {
    expect(() => sessionPath(sessionId)).toThrow(expect.objectContaining({ code: 'request_invalid', retryable: false }))
  })

  test.each([
    ['...', '...'],
    ['a/b', 'a%2Fb'],
    ['🌾', '%F0%9F%8C%BE'],
  ])('encodes the session id %j', (id, encoded) => {
    expect(sessionPath(id, '/runs')).toBe(`/sessions/${encoded}/runs`)
  })
})

describe('replies', () => {
  test.each([
    ['HTML is permanent', 'text/html', false],
    ['truncated JSON is retryable', 'application/json', true],
  ])('reports a reply that is not JSON: %s', async (_, type, retryable) => {
    const fetch = async () => new Response('<html>', { headers: { 'content-type': type } })
    const reply = api({ fetch }).ask('GET', '/x')
    await expect(reply).rejects.toMatchObject({ code: 'reply_invalid', retryable, status: 200 })
    await expect(reply).rejects.toThrow(`Expected JSON from http://mill/api, found ${type}`)
  })

  test.each([
    ['2', 2_000],
    ['60', 60_000],
    ['9999999', 60_000],
    ['-1', undefined],
    ['Wed, 21 Oct 2026 07:28:00 GMT', undefined],
  ])('reads and bounds Retry-After: %s', async (after, retryAfter) => {
    const refusal = await errorOf(new Response('', { status: 503, headers: { 'retry-after': after } }))
    expect(refusal).toMatchObject({ retryable: true, retryAfter })
  })
})
