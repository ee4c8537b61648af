import { memoryStore } from '@millrace/log'
import { expect, test, vi } from 'vitest'
import { millrace } from './app.ts'
import { echo, mill, ORIGIN, request, say } from './mill.fixture.ts'

const EVIL = 'https://evil.example'
const PAGE = 'https://app.example.com'

test('plain requests get plain responses', async () => {
  const { app } = mill()
  const fetch = (path: string, init: RequestInit) => app.fetch(new Request(ORIGIN + path, init))
  expect(await say(fetch, 'hello')).toMatchObject({ status: 200, words: 'You said: hello' })
})

test('options that cannot work are told when they are given', () => {
  expect(() => millrace(undefined as never)).toThrow('expected an object of options')
  expect(() => millrace({ agents: [echo, echo] })).toThrow('there are two by the name echo')
  expect(() => millrace({ basePath: 'mill' })).toThrow('basePath: expected a path such as /millrace')
  expect(() => millrace({ engine: { pollMs: 0 } })).toThrow('engine.pollMs')
})

test('nothing is opened before it is needed', async () => {
  const app = millrace({ store: 'sqlite:/nowhere/at/all/mill.db' })
  await app.close()
})

test('a store that cannot be opened is a typed 503 without its words, and the next request tries again', async () => {
  const { app, logged } = mill({ store: 'sqlite:/nowhere/at/all/mill.db', log: { patienceMs: 0 }, engine: false })
  for (let i = 1; i <= 2; i++) {
    const response = await app.fetch(request('/api/sessions'))
    const { error } = await response.json()
    expect([response.status, error]).toMatchObject([503, { code: 'store_unavailable', retryable: true }])
    expect(response.headers.get('retry-after')).toBe('1')
    expect(JSON.stringify(error)).not.toContain('nowhere')
    expect(logged.filter(({ level }) => level === 'error')).toHaveLength(i)
  }
  const later = { isThere: false }
  const store = {
    // biome-ignore lint/suspicious/noThenProperty: a promise that keeps its word only later.
    then: (done: (store: unknown) => void, fail: (error: Error) => void) =>
      later.isThere ? done(memoryStore()) : fail(new Error('not yet')),
  } as never
  const { app: other } = mill({ store })
  expect((await other.fetch(request('/api/health'))).status).toBe(503)
  later.isThere = true
  expect((await other.fetch(request('/api/health'))).status).toBe(200)
})

test('after it was closed a server says so, and opens nothing', async () => {
  const { app } = mill()
  await app.fetch(request('/api/health'))
  await app.close()
  for (const path of ['/api/sessions', '/api/health']) {
    expect((await app.fetch(request(path))).status).toBe(503)
  }
  const { app: unused } = mill()
  await unused.close()
  const response = await unused.fetch(request('/api/health'))
  expect([response.status, (await response.json()).error]).toMatchObject([503, { code: 'draining', retryable: true }])
  await expect(unused.runtime()).rejects.toMatchObject({ code: 'draining' })
})

test('HEAD says what GET would, without it', async () => {
  const { app } = mill()
  const get = await app.fetch(request('/api/health'))
  const head = await app.fetch(request('/api/health', undefined, { method: 'HEAD' }))
  expect([head.status, head.body]).toEqual([200, null])
  expect(head.headers.get('content-length')).toBe(String((await get.text()).length))
  expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'))
})

test('who goes away takes their stream along', async () => {
  const { app } = mill({ limits: { streams: 1 } })
  await say((path, init) => app.fetch(new Request(ORIGIN + path, init)), 'hello')
  for (let i = 0; i < 3; i++) {
    const leaving = new AbortController()
    const response = await app.fetch(request('/api/sessions/s/stream', undefined, { signal: leaving.signal }))
    expect(response.status).toBe(200)
    // Without reading or cancelling anything.
    leaving.abort()
    expect(await response.text()).not.toContain('"type":"end"')
  }
})

test('the base path stands before everything, and nothing else is there', async () => {
  const { app } = mill({ basePath: '/mill/v1' })
  expect((await app.fetch(request('/mill/v1/api/health'))).status).toBe(200)
  for (const path of [
    '/api/health',
    '/mill/v1',
    '/mill/v1/',
    '/mill/v1/apis',
    '/mill/v1/api',
    '/mill/v11/api/health',
  ]) {
    const response = await app.fetch(request(path))
    expect([path, response.status, (await response.json()).error.code]).toEqual([path, 404, 'route_unknown'])
  }
  const place = '/mill/v1/api/openapi.json'
  const { servers } = await (await app.fetch(request(place))).json()
  expect(new URL(servers[0].url, `https://mill.example${place}`).pathname).toBe('/mill/v1/api')
})

test('what goes wrong here is told to the logger and to onError, and to nobody else', async () => {
  const cause = new Error('the password is fish')
  const told = vi.fn(() => Promise.reject(new Error('and this too')))
  const authorize = () => {
    throw cause
  }
  const { app, logged } = mill({ authorize, onError: told })
  const response = await app.fetch(request('/api/sessions?secret=1'))
  const text = await response.text()
  expect([response.status, JSON.parse(text).error.code]).toEqual([500, 'internal_error'])
  expect(text).not.toContain('fish')
  expect(told).toHaveBeenCalledWith(expect.objectContaining({ cause }), expect.any(Request))
  await expect.poll(() => logged.map(({ message }) => message)).toEqual(['a request failed', 'onError threw'])
  expect(logged[0]?.fields).toMatchObject({ method: 'GET', path: '/api/sessions' })
})

test('a logger that throws takes nothing down', async () => {
  const logger = {
    warn: () => {
      throw new Error('no')
    },
    error: () => {
      throw new Error('no')
    },
  }
  const { app } = mill({ logger, authorize: () => Promise.reject(new Error('down')) })
  expect((await app.fetch(request('/api/sessions'))).status).toBe(500)
})

const preflight = (origin: string) =>
  request('/api/sessions/s/runs', undefined, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type,authorization',
    },
  })

test('pages of origins that are named may call, with what they need to read', async () => {
  const authorize = () => 'ann'
  const { app } = mill({ authorize, cors: { origins: [PAGE], credentials: true } })
  const asked = await app.fetch(preflight(PAGE))
  expect([asked.status, Object.fromEntries(asked.headers)]).toMatchObject([
    204,
    {
      'access-control-allow-origin': PAGE,
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
      'access-control-allow-headers': 'content-type,authorization',
    },
  ])
  const reply = await app.fetch(request('/api/sessions', undefined, { headers: { origin: PAGE } }))
  expect(reply.headers.get('access-control-allow-origin')).toBe(PAGE)
  expect(reply.headers.get('access-control-expose-headers')).toContain('X-Run-Id')
  expect(reply.headers.get('vary')).toContain('Origin')
  // A refusal must be readable too.
  const refused = await app.fetch(request('/api/nothing', undefined, { headers: { origin: PAGE } }))
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([404, PAGE])
})

test('pages of other origins may not, and nobody may where nothing is said', async () => {
  const authorize = () => 'ann'
  const apps = [mill({ authorize, cors: { origins: [PAGE] } }), mill({ authorize })]
  for (const { app } of apps) {
    for (const origin of [EVIL, 'null', `${PAGE}.evil.example`, PAGE.replace('https', 'http')]) {
      const asked = await app.fetch(preflight(origin))
      expect(asked.headers.get('access-control-allow-origin')).toBeNull()
      expect(asked.headers.get('access-control-allow-methods')).toBeNull()
      const reply = await app.fetch(request('/api/sessions', undefined, { headers: { origin } }))
      expect(reply.headers.get('access-control-allow-origin')).toBeNull()
    }
  }
})
