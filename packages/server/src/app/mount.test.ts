import { request as ask, createServer, type RequestListener } from 'node:http'
import { connect, createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import express from 'express'
import { Hono } from 'hono'
import { expect, onTestFinished, test } from 'vitest'
import type { App } from './app.ts'
import { ORIGIN, request, runEcho, testApp, wordsIn } from './test-app.fixture.ts'

/** Listens with a foreign server and returns a fetch for it. */
async function at(listener: RequestListener): Promise<(path: string, init?: RequestInit) => Promise<Response>> {
  const server = createServer(listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init)
}

const upload = (to: (path: string, init?: RequestInit) => Promise<Response>, prefix = '') =>
  to(`${prefix}/api/sessions/s/uploads`, { method: 'POST', body: 'a file', headers: { 'content-type': 'text/plain' } })

test('serves in Hono by a route', async () => {
  const { app } = testApp()
  const hono = new Hono().get('/', c => c.text('home')).all('/api/*', c => app.fetch(c.req.raw))
  expect(await (await hono.request('/')).text()).toBe('home')
  const fetch = async (path: string, init?: RequestInit) => hono.request(`${ORIGIN}${path}`, init)
  expect(await runEcho(fetch, 'hello')).toMatchObject({ status: 200, words: 'You said: hello' })
})

test('serves in Hono under a path', async () => {
  const { app } = testApp()
  const hono = new Hono().mount('/mill', app.fetch)
  const fetch = async (path: string, init?: RequestInit) => hono.request(`${ORIGIN}${path}`, init)
  expect(await runEcho(fetch, 'hello', '/mill/api/sessions/s/runs')).toMatchObject({ words: 'You said: hello' })
})

test('streams incrementally in Hono on Node, and releases a client that leaves', async () => {
  const { app } = testApp({ limits: { streams: 1 } })
  const hono = new Hono().all('/api/*', c => app.fetch(c.req.raw))
  const server = serve({ fetch: hono.fetch, port: 0, hostname: '127.0.0.1' })
  onTestFinished(() => void server.close())
  await new Promise<void>(resolve => server.once('listening', () => resolve()))
  const { port } = server.address() as AddressInfo
  const to = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init)
  expect(await runEcho(to, 'hello')).toMatchObject({ words: 'You said: hello' })
  for (let i = 0; i < 3; i++) {
    const leaving = new AbortController()
    let response = new Response()
    const open = async () => {
      response = await to('/api/sessions/s/stream', { signal: leaving.signal })
      return response.status
    }
    await expect.poll(open).toBe(200)
    const { value } = await (response.body as ReadableStream<Uint8Array>).getReader().read()
    expect(value?.byteLength).toBeGreaterThan(0)
    leaving.abort()
  }
})

const mounts: [name: string, mount: (app: App) => express.Express, prefix: string, basePath?: string][] = [
  ['by itself', app => express().use(app.node), ''],
  ['by a route', app => express().all('/api/*rest', app.node), ''],
  ['after express.json()', app => express().use(express.json()).use(app.node), ''],
  [
    'after express.raw()',
    app =>
      express()
        .use(express.raw({ type: 'text/plain' }))
        .use(app.node),
    '',
  ],
  ['under a path', app => express().use('/mill', app.node), '/mill'],
  ['under a path, after express.json()', app => express().use(express.json()).use('/mill', app.node), '/mill'],
  ['under the base path', app => express().use('/mill', app.node), '/mill', '/mill'],
  ['with a base path, by itself', app => express().use(app.node), '/mill', '/mill'],
]

test.each(mounts)('serves in Express, %s', async (_, mount, prefix, basePath = '') => {
  const { app } = testApp({ basePath })
  const to = await at(mount(app))
  expect(await runEcho(to, 'hello', `${prefix}/api/sessions/s/runs`)).toMatchObject({
    status: 200,
    words: 'You said: hello',
  })
  expect((await upload(to, prefix)).status).toBe(201)
  const wrong = await to(`${prefix}/api/sessions/s/stop`, {
    method: 'POST',
    body: '{"runId":7}',
    headers: { 'content-type': 'application/json' },
  })
  expect([wrong.status, (await wrong.json()).error.code]).toEqual([400, 'body_invalid'])
})

test('refuses an upload in Express that middleware has parsed, instead of storing other bytes', async () => {
  const { app, logged } = testApp()
  const file = '{ "a" : 1.0, "big": 12345678901234567890, "a": 2 }\n'
  const send = async (site: express.Express, type: string) => {
    const to = await at(site)
    const path = '/api/sessions/s/uploads'
    const response = await to(path, { method: 'POST', body: file, headers: { 'content-type': type } })
    return [response.status, await response.json()]
  }
  const lost = {
    code: 'body_parsed',
    message: expect.stringContaining('mount this server before express.json()'),
    retryable: false,
  }
  expect(await send(express().use(express.json()).use(app.node), 'application/json')).toEqual([500, { error: lost }])
  expect(await send(express().use(express.text()).use(app.node), 'text/plain')).toEqual([500, { error: lost }])
  expect(logged.filter(({ level }) => level === 'error')).toHaveLength(2)
  // These mounts follow the advice of the error message.
  const before = express().use(app.node).use(express.json())
  const without = express()
    .use(/^(?!\/api\/)/, express.json())
    .use(app.node)
  for (const site of [before, without]) {
    expect(await send(site, 'application/json')).toEqual([201, expect.objectContaining({ bytes: file.length })])
  }
})

test('passes other paths on in Express with the body unread', async () => {
  const { app } = testApp({ static: import.meta.dirname })
  const after = express()
    .use(app.node)
    .post('/mine', express.json(), (req, reply) => void reply.json(req.body))
    .use((_, reply) => void reply.status(418).send('mine too'))
  const to = await at(after)
  const ownRoute = await to('/mine', {
    method: 'POST',
    body: '{"a":1}',
    headers: { 'content-type': 'application/json' },
  })
  expect(await ownRoute.json()).toEqual({ a: 1 })
  expect((await to('/nothing')).status).toBe(418)
  // Requests with another host name are not checked on those paths.
  expect((await to('/mine', { method: 'OPTIONS' })).status).not.toBe(403)
  expect((await to('/app.ts')).status).toBe(200)
  expect((await to('/api/nothing')).status).toBe(404)
})

test('serves in plain Node beside another handler', async () => {
  const { app } = testApp()
  const to = await at((message, response) => app.node(message, response, () => void response.end('mine')))
  expect(await (await to('/')).text()).toBe('mine')
  expect(await runEcho(to, 'hello')).toMatchObject({ words: 'You said: hello' })
})

test('serves files in Express only to this machine, and leaves other paths to other handlers', async () => {
  const { app } = testApp({ static: import.meta.dirname })
  const site = express()
    .use(app.node)
    .use((_, reply) => void reply.send('mine'))
  const to = await at(site)
  const port = new URL((await to('/')).url).port
  const from = (host: string, path: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const clientRequest = ask({ host: '127.0.0.1', port, path, headers: { host } }, ({ statusCode }) =>
        resolve(statusCode),
      )
      clientRequest.once('error', reject).end()
    })
  expect(await from('shop.example.com', '/')).toBe(200)
  expect(await from('shop.example.com', '/app.ts')).toBe(403)
  expect(await from('shop.example.com', '/api/health')).toBe(403)
  expect(await from('localhost', '/app.ts')).toBe(200)
})

test('serves on HTTP/2, including streams', async () => {
  const { app } = testApp()
  const server = createHttp2Server(app.node as never)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  onTestFinished(() => {
    client.destroy()
    server.close()
  })
  const post = (path: string, body: string) =>
    new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/json' }
      const stream = client.request(headers)
      let status: number | undefined
      let text = ''
      stream.once('response', responseHeaders => {
        status = responseHeaders[':status']
      })
      stream.setEncoding('utf8').on('data', piece => {
        text += piece
      })
      stream.once('end', () => resolve({ status, text })).once('error', reject)
      stream.end(body)
    })
  const run = await post('/api/sessions/s/runs', JSON.stringify({ agent: 'echo', input: 'hello' }))
  expect([run.status, wordsIn(run.text)]).toEqual([200, 'You said: hello'])
  // An error with a connection header, which HTTP/2 forbids.
  const large = await post('/api/sessions/s/runs', 'x'.repeat(2_000_000))
  expect(large.status).toBe(413)
})

test('serves as a route handler of Next', async () => {
  const { app } = testApp()
  // Like app/api/[...path]/route.ts, called as Next.js does.
  const { GET, POST, PATCH, DELETE } = app.handlers
  const context = { params: Promise.resolve({ path: ['sessions'] }) }
  const call = (handler: (request: Request, context: unknown) => Promise<Response>, incoming: Request) =>
    handler(incoming, context)
  const created = await call(POST, request('/api/sessions', {}))
  const { sessionId } = await created.json()
  const path = `/api/sessions/${sessionId}`
  const named = await call(PATCH, request(path, { title: 'Mills' }, { method: 'PATCH' }))
  expect([created.status, named.status]).toEqual([201, 200])
  expect(await (await call(GET, request(path))).json()).toMatchObject({ title: 'Mills' })
  const reply = await runEcho((to, init) => call(POST, new Request(ORIGIN + to, init)), 'hello', `${path}/runs`)
  expect(reply.words).toBe('You said: hello')
  expect((await call(DELETE, request(path, undefined, { method: 'DELETE' }))).status).toBe(204)
})
