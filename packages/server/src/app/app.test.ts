import { LogError, type LogStore, memoryStore, systemTimers, type Timers } from '@millrace/log'
import { expect, test, vi } from 'vitest'
import { STORE_TIMEOUT_MS } from '../routes/store-timeout.ts'
import { millrace } from './app.ts'
import { echo, ORIGIN, request, runEcho, testApp } from './test-app.fixture.ts'

const EVIL = 'https://evil.example'
const PAGE = 'https://app.example.com'

/** A store whose lists a test defines. */
function listing(list: LogStore['list']): LogStore {
  const store = memoryStore()
  const get = (_: LogStore, name: keyof LogStore) => {
    const value = name === 'list' ? list : store[name]
    return typeof value === 'function' ? value.bind(store) : value
  }
  return new Proxy(store, { get })
}

test('fetch answers a web request', async () => {
  const { app } = testApp()
  const fetch = (path: string, init: RequestInit) => app.fetch(new Request(ORIGIN + path, init))
  expect(await runEcho(fetch, 'hello')).toMatchObject({ status: 200, words: 'You said: hello' })
})

test('throws for invalid options at construction', () => {
  expect(() => millrace(undefined as never)).toThrow('expected an object of options')
  expect(() => millrace({ agents: [echo, echo] })).toThrow('expected different names, found echo twice')
  expect(() => millrace({ basePath: 'mill' })).toThrow('basePath: expected a path such as /millrace')
  expect(() => millrace({ engine: { pollMs: 0 } })).toThrow('engine.pollMs')
})

test.each<[object, string]>([
  [{ strem: {} }, 'strem: unknown option: remove it'],
  [{ authorise: () => 'ann' }, 'authorise: unknown option: remove it'],
  [{ authorize: 'ann' }, 'authorize: expected a function'],
  [{ authorize: null }, 'authorize: expected a function'],
  [{ context: 5 }, 'context: expected a function'],
  [{ onError: {} }, 'onError: expected a function'],
  [{ cors: ['https://app.example.com'] }, 'cors: expected { origins, credentials? }'],
  [{ cors: { origin: 'x' } }, 'cors.origin: unknown option: remove it'],
  [{ cors: {} }, 'cors.origins: expected a list of origins, or a function'],
  [{ cors: { origins: 'https://app.example.com' } }, 'cors.origins: expected a list'],
  [{ cors: { origins: ['https://app.example.com', '*'] } }, 'cors.origins.1: expected an origin'],
  [{ cors: { origins: ['https://app.example.com/'] } }, 'cors.origins.0: expected an origin'],
  [{ cors: { origins: [], credentials: 'yes' } }, 'cors.credentials: expected true or false'],
  [{ static: 5 }, 'static: expected a folder'],
  [{ static: '' }, 'static: expected a folder'],
  [{ static: { path: 'public' } }, 'static: expected a folder'],
  [{ static: { folder: 'public', header: {} } }, 'static.header: unknown option: remove it'],
  [{ static: { folder: 'public', headers: { a: 1 } } }, 'static.headers: expected an object with string values'],
  [{ store: 'mysql://user:secret@host' }, 'store: expected memory:, sqlite:path, redis:// or postgres://, found mysql'],
  [{ store: 'mill.db' }, 'found no scheme'],
  [{ store: null }, 'store: expected a store'],
  [{ store: {} }, 'store: expected a store'],
])('refuses invalid options: %j', (options, why) => {
  expect(() => millrace(options)).toThrow(why)
})

test('creates another app from the options of an app, with changes', async () => {
  const app = millrace({ agents: [echo], store: memoryStore(), basePath: '/mill' })
  const other = millrace({ ...app.options, basePath: '/other' })
  const paths = ['/mill/api/agents', '/other/api/agents']
  const responses = paths.map(path => Promise.all([app, other].map(each => each.fetch(new Request(ORIGIN + path)))))
  const statuses = (await Promise.all(responses)).map(replies => replies.map(({ status }) => status))
  expect(statuses).toEqual([
    [200, 404],
    [404, 200],
  ])
  await Promise.all([app.close(), other.close()])
})

test('accepts valid options', async () => {
  const origins = ['https://app.example.com', 'http://localhost:5173', 'capacitor://localhost']
  for (const options of [
    { cors: { origins } },
    { cors: { origins: () => true, credentials: true } },
    { static: 'public' },
    { static: { folder: 'public', headers: { 'x-frame-options': 'deny' } } },
    { store: 'POSTGRES://host/db' },
    { store: Promise.resolve(memoryStore()) },
  ]) {
    await millrace(options).close()
  }
})

test('opens nothing before the first request', async () => {
  const app = millrace({ store: 'sqlite:/nowhere/at/all/mill.db' })
  await app.close()
})

test('replies 503 without the message of a store that cannot be opened, and retries with the next request', async () => {
  const { app, logged } = testApp({
    store: 'sqlite:/nowhere/at/all/mill.db',
    log: { retryTimeoutMs: 0 },
    engine: false,
  })
  for (let i = 1; i <= 2; i++) {
    const response = await app.fetch(request('/api/sessions'))
    const { error } = await response.json()
    expect([response.status, error]).toMatchObject([503, { code: 'store_unavailable', retryable: true }])
    expect(response.headers.get('retry-after')).toBe('1')
    expect(JSON.stringify(error)).not.toContain('nowhere')
    expect(logged.filter(({ level }) => level === 'error')).toHaveLength(i)
  }
  const later = { isOpen: false }
  const store = {
    // biome-ignore lint/suspicious/noThenProperty: a thenable that rejects at first, and resolves later.
    then: (done: (store: unknown) => void, fail: (error: Error) => void) =>
      later.isOpen ? done(memoryStore()) : fail(new Error('the store is not open yet')),
  } as never
  const { app: other } = testApp({ store })
  expect((await other.fetch(request('/api/health'))).status).toBe(503)
  later.isOpen = true
  expect((await other.fetch(request('/api/health'))).status).toBe(200)
})

test('a closed server replies with draining and opens nothing', async () => {
  const { app } = testApp()
  await app.fetch(request('/api/health'))
  await app.close()
  for (const path of ['/api/sessions', '/api/health']) {
    const response = await app.fetch(request(path))
    expect([response.status, (await response.json()).error.code]).toEqual([503, 'draining'])
    expect(response.headers.get('retry-after')).toBe('1')
  }
  const { app: unused } = testApp()
  await unused.close()
  const response = await unused.fetch(request('/api/health'))
  expect([response.status, (await response.json()).error]).toMatchObject([503, { code: 'draining', retryable: true }])
  await expect(unused.runtime()).rejects.toMatchObject({ code: 'draining' })
})

test('a request during shutdown gets draining, even if the store closes before the reply', async () => {
  const reached = Promise.withResolvers<void>()
  const closing = Promise.withResolvers<void>()
  const store = listing(async () => {
    reached.resolve()
    await closing.promise
    throw new LogError('closed', 'the store was closed')
  })
  const { app } = testApp({ store, engine: false })
  const pendingResponse = app.fetch(request('/api/health'))
  await reached.promise
  await app.close()
  closing.resolve()
  const response = await pendingResponse
  expect([response.status, (await response.json()).error.code]).toEqual([503, 'draining'])
})

test.each(['is not open yet', 'does not answer'])(
  'a health check reports within its timeout that the store %s',
  async how => {
    const later = Promise.withResolvers<never>()
    const store = how === 'does not answer' ? listing(() => later.promise) : later.promise
    const waits: (() => void)[] = []
    const after: Timers['after'] = (ms, call, isIdle) => {
      if (ms !== STORE_TIMEOUT_MS) return systemTimers.after(ms, call, isIdle)
      waits.push(call)
      return () => {}
    }
    const { app } = testApp({ store, engine: false, timers: { ...systemTimers, after } })
    const pendingResponse = app.fetch(request('/api/health'))
    await expect.poll(() => waits).toHaveLength(how === 'does not answer' ? 2 : 1)
    for (const over of waits) over()
    const response = await pendingResponse
    expect([response.status, (await response.json()).error.code]).toEqual([503, 'store_unavailable'])
    later.reject(new Error('never'))
  },
)

test('HEAD replies with the headers of GET', async () => {
  const { app } = testApp()
  const get = await app.fetch(request('/api/health'))
  const head = await app.fetch(request('/api/health', undefined, { method: 'HEAD' }))
  expect([head.status, head.body]).toEqual([200, null])
  expect(head.headers.get('content-length')).toBe(String((await get.text()).length))
  expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'))
})

test('a client that leaves ends its stream', async () => {
  const { app } = testApp({ limits: { streams: 1 } })
  await runEcho((path, init) => app.fetch(new Request(ORIGIN + path, init)), 'hello')
  for (let i = 0; i < 3; i++) {
    const leaving = new AbortController()
    const response = await app.fetch(request('/api/sessions/s/stream', undefined, { signal: leaving.signal }))
    expect(response.status).toBe(200)
    // The client leaves without reading or cancelling the body.
    leaving.abort()
    expect(await response.text()).not.toContain('"type":"end"')
  }
})

test('serves only paths below the base path', async () => {
  const { app } = testApp({ basePath: '/mill/v1' })
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
  const path = '/mill/v1/api/openapi.json'
  const { servers } = await (await app.fetch(request(path))).json()
  expect(new URL(servers[0].url, `https://mill.example${path}`).pathname).toBe('/mill/v1/api')
})

test('reports server faults to the logger and onError, and not to the client', async () => {
  const cause = new Error('the password is fish')
  const reporter = vi.fn(() => Promise.reject(new Error('and this too')))
  const authorize = () => {
    throw cause
  }
  const { app, logged } = testApp({ authorize, onError: reporter })
  const response = await app.fetch(request('/api/sessions?secret=1'))
  const text = await response.text()
  expect([response.status, JSON.parse(text).error.code]).toEqual([500, 'internal_error'])
  expect(text).not.toContain('fish')
  expect(reporter).toHaveBeenCalledWith(expect.objectContaining({ cause }), expect.any(Request))
  await expect.poll(() => logged.map(({ message }) => message)).toEqual(['a request failed', 'onError threw'])
  expect(logged[0]?.fields).toMatchObject({ method: 'GET', path: '/api/sessions' })
})

test('a logger that throws does not break requests', async () => {
  const logger = {
    warn: () => {
      throw new Error('no')
    },
    error: () => {
      throw new Error('no')
    },
  }
  const { app } = testApp({ logger, authorize: () => Promise.reject(new Error('down')) })
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

test('accepts pages of allowed origins, with the headers that they need', async () => {
  const authorize = () => 'ann'
  const { app } = testApp({ authorize, cors: { origins: [PAGE], credentials: true } })
  const response = await app.fetch(preflight(PAGE))
  expect([response.status, Object.fromEntries(response.headers)]).toMatchObject([
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
  // An error must be readable too.
  const refused = await app.fetch(request('/api/nothing', undefined, { headers: { origin: PAGE } }))
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([404, PAGE])
})

test('refuses the request, and logs the cause, if the cors function throws', async () => {
  const cause = new Error('the list of pages is unreachable')
  const origins = () => {
    throw cause
  }
  const { app, logged } = testApp({ authorize: () => 'ann', cors: { origins } })
  const body = { agent: 'echo', input: 'hello' }
  const reply = await app.fetch(request('/api/sessions/s/runs', body, { headers: { origin: PAGE } }))
  expect([reply.status, (await reply.json()).error.code]).toEqual([500, 'internal_error'])
  expect(reply.headers.get('access-control-allow-origin')).toBeNull()
  expect(logged).toMatchObject([{ level: 'error', fields: { cause } }])
  const { sessions } = await (await app.fetch(request('/api/sessions'))).json()
  expect(sessions).toEqual([])
})

test('refuses pages of other origins, and all origins without cors', async () => {
  const authorize = () => 'ann'
  const apps = [testApp({ authorize, cors: { origins: [PAGE] } }), testApp({ authorize })]
  for (const { app } of apps) {
    for (const origin of [EVIL, 'null', `${PAGE}.evil.example`, PAGE.replace('https', 'http')]) {
      const response = await app.fetch(preflight(origin))
      expect(response.headers.get('access-control-allow-origin')).toBeNull()
      expect(response.headers.get('access-control-allow-methods')).toBeNull()
      const reply = await app.fetch(request('/api/sessions', undefined, { headers: { origin } }))
      expect(reply.headers.get('access-control-allow-origin')).toBeNull()
    }
  }
})
