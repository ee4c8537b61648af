import { expect, test } from 'vitest'
import { request } from './request.ts'

const requests: Request[] = []
const answering =
  (...responses: Response[]): typeof fetch =>
  async (url, init) => {
    requests.push(new Request(url as string, init))
    return responses.shift() as Response
  }

test('sends computed headers, and retries once with new ones after a 401', async () => {
  requests.length = 0
  let tokens = 0
  const headers = () => ({ authorization: `token ${++tokens}` })
  const fetch = answering(new Response('', { status: 401 }), new Response('ok'))
  const options = { api: 'http://peer.test/api', headers, fetch }
  await request(options, { body: { a: 1 }, headers: { accept: 'text/event-stream' } })
  expect(requests.map(({ method, headers }) => [method, headers.get('authorization'), headers.get('accept')])).toEqual([
    ['POST', 'token 1', 'text/event-stream'],
    ['POST', 'token 2', 'text/event-stream'],
  ])
  expect(await requests[1]?.json()).toEqual({ a: 1 })
})

test.each([
  [new Response('{"error":{"code":"full","message":"No room."}}', { status: 503 }), 'full', 'No room.', true],
  [new Response('{"error":"nope"}', { status: 400 }), 'http_400', 'nope', false],
  [new Response('slowly', { status: 429 }), 'http_429', 'slowly', true],
  [new Response('<html>x', { status: 502 }), 'http_502', 'The server answered with status 502.', true],
  [new Response('null', { status: 404 }), 'http_404', 'The server answered with status 404.', false],
])('turns a refusal into a RequestError', async (response, code, message, retryable) => {
  const { status } = response
  const refused = request({ api: 'http://peer.test', fetch: answering(response) }, { body: {} })
  await expect(refused).rejects.toMatchObject({ code, message, retryable, status })
})

test('reports a failed fetch and failed headers as retryable', async () => {
  const down = request({ api: 'http://peer.test', fetch: () => Promise.reject(new TypeError('fetch failed')) }, {})
  await expect(down).rejects.toMatchObject({ code: 'network_error', message: 'fetch failed', retryable: true })
  const headers = () => Promise.reject(new Error('no token'))
  const withoutHeaders = request({ api: 'http://peer.test', headers, fetch: answering(new Response('')) }, {})
  await expect(withoutHeaders).rejects.toMatchObject({ code: 'headers_failed', message: 'no token', retryable: true })
})
