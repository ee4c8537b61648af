import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listen } from '../app/test-app.fixture.ts'
import { openTwoUserServer, sharedServer } from '../routing/two-user-server.fixture.ts'
import { replyIn, sendRaw } from './raw.fixture.ts'

const all = sharedServer(async testServer => {
  await testServer.run('mine', { agent: 'echo', input: 'Hello' })
  return testServer.app.listen({ port: 0 })
})
let port: number
beforeAll(() => {
  port = all().prepared.port
})
afterAll(() => all().prepared.close())

const HEAD = 'Host: localhost\r\nX-User: ann\r\nConnection: close\r\n'
const get = (target: string, headers = HEAD) => `GET ${target} HTTP/1.1\r\n${headers}\r\n`
const post = (headers: string, body: string) => `POST /api/sessions HTTP/1.1\r\n${HEAD}${headers}\r\n${body}`
const JSON_TYPE = 'Content-Type: application/json\r\n'

describe('a target that is not a plain path', () => {
  it.each([
    '/api/sessions/../health',
    '/api/./health',
    '/api/sessions/%2e%2e/health',
    '/api/sessions/%2E./health',
    '/api/sessions/.%2e',
    '/api\\health',
    '/api/health#x',
    '//localhost/api/../health',
  ])('is refused: %s', async target => {
    expect(replyIn(await sendRaw(port, get(target)))).toEqual({ status: 400, code: 'request_invalid', count: 1 })
  })

  it.each(['http://localhost/api/health', 'http://evil.example/api/health', 'api/health', '*', 'localhost:80'])(
    'is refused: %s',
    async target => {
      expect(replyIn(await sendRaw(port, get(target)))).toEqual({ status: 400, code: 'request_invalid', count: 1 })
    },
  )

  it.each(['//api/health', '/api//health', '/api/health/', '//evil.example/api/health', '/api/..;/health'])(
    'is an unknown route: %s',
    async target => {
      expect(replyIn(await sendRaw(port, get(target)))).toEqual({ status: 404, code: 'route_unknown', count: 1 })
    },
  )
})

describe('refuses requests that a proxy could read differently', () => {
  const smuggled = get('/api/health')
  it.each([
    [
      'a length and chunks',
      post(`${JSON_TYPE}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n`, `0\r\n\r\n${smuggled}`),
    ],
    [
      'chunks and a length',
      post(`${JSON_TYPE}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n`, `0\r\n\r\n${smuggled}`),
    ],
    ['two lengths', post(`${JSON_TYPE}Content-Length: 2\r\nContent-Length: 40\r\n`, `{}${smuggled}`)],
    ['an invalid length', post(`${JSON_TYPE}Content-Length: 2x\r\n`, '{}')],
    ['a length with a sign', post(`${JSON_TYPE}Content-Length: +2\r\n`, '{}')],
    ['an unknown transfer encoding', post(`${JSON_TYPE}Transfer-Encoding: xchunked\r\n`, `0\r\n\r\n${smuggled}`)],
    ['an invalid chunk', post(`${JSON_TYPE}Transfer-Encoding: chunked\r\n`, `zz\r\n{}\r\n0\r\n\r\n${smuggled}`)],
    ['a header with a space before its colon', get('/api/health', `${HEAD}Content-Length : 0\r\n`)],
    ['a folded header', get('/api/health', `${HEAD}X-A: b\r\n c: d\r\n`)],
    ['a line that ends with a bare line feed', get('/api/health', `${HEAD}X-A: b\nTransfer-Encoding: chunked\r\n`)],
    ['a name with a line break', get('/api/health', `${HEAD}X-\rA: b\r\n`)],
    ['a zero byte', get('/api/health', `${HEAD}X-A: b\0c\r\n`)],
    ['two hosts', get('/api/health', `Host: localhost\r\n${HEAD}`)],
    ['two hosts that differ', get('/api/health', `${HEAD}Host: evil.example\r\n`)],
    ['an invalid host', get('/api/health', 'Host: a b\r\nX-User: ann\r\nConnection: close\r\n')],
    ['an invalid method', `GE\tT /api/health HTTP/1.1\r\n${HEAD}\r\n`],
    ['another protocol', `GET /api/health HTTP/3.0\r\n${HEAD}\r\n`],
    ['a text that is not HTTP', 'hello\r\n\r\n'],
  ])('%s', async (_, text) => {
    const { testServer } = all()
    const before = await testServer.storeContent()
    const reply = replyIn(await sendRaw(port, text))
    expect(reply).toEqual({ status: 400, code: 'request_invalid', count: 1 })
    expect(await testServer.storeContent()).toBe(before)
  })

  it('refuses a request without a host, as Node does itself', async () => {
    const reply = replyIn(await sendRaw(port, get('/api/health', 'X-User: ann\r\nConnection: close\r\n')))
    expect(reply).toEqual({ status: 400, code: undefined, count: 1 })
  })

  it('refuses headers without an end', async () => {
    const reply = replyIn(await sendRaw(port, get('/api/health', `${HEAD}X-A: ${'a'.repeat(100_000)}\r\n`)))
    expect(reply).toEqual({ status: 431, code: 'request_invalid', count: 1 })
  })
})

describe('a body that is too large', () => {
  const piece = `${(64 * 1024).toString(16)}\r\n${' '.repeat(64 * 1024)}\r\n`
  it('is refused in chunks without a length', async () => {
    const pieces = Array.from({ length: 40 }, () => piece)
    const reply = replyIn(await sendRaw(port, post(`${JSON_TYPE}Transfer-Encoding: chunked\r\n`, ''), ...pieces))
    expect(reply).toEqual({ status: 413, code: 'body_too_large', count: 1 })
  })

  it('is refused by its length, before it is read', async () => {
    const reply = replyIn(await sendRaw(port, post(`${JSON_TYPE}Content-Length: 4000000000\r\n`, '')))
    expect(reply).toEqual({ status: 413, code: 'body_too_large', count: 1 })
  })

  it('is refused by its length, after all of it was sent', async () => {
    const body = ' '.repeat(3_000_000)
    const reply = replyIn(await sendRaw(port, post(`${JSON_TYPE}Content-Length: ${body.length}\r\n`, body)))
    expect(reply).toEqual({ status: 413, code: 'body_too_large', count: 1 })
  })
})

it('refuses host names without authorize that only resolve to this machine', async () => {
  const testServer = openTwoUserServer({ authorize: undefined as never })
  const listening = await listen(testServer.app)
  const from = async (headers: string) =>
    replyIn(await sendRaw(listening.port, get('/api/health', `${headers}Connection: close\r\n`)))
  for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '127.1.2.3', '[::1]', 'localhost:4400', '[::1]:1']) {
    expect([host, (await from(`Host: ${host}\r\n`)).status]).toEqual([host, 200])
  }
  for (const host of [
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil@localhost',
    '0.0.0.0',
    '[::]',
    '192.168.0.1',
    'localhost:80:80',
    'localhost,evil',
  ]) {
    const { status } = await from(`Host: ${host}\r\n`)
    expect([host, status === 403 || status === 400]).toEqual([host, true])
  }
})
