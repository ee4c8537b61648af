import { Agent, request as ask, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { memoryStore } from '@millrace/log'
import { agent, scriptedModel } from '@millrace/runtime'
import { expect, onTestFinished, test } from 'vitest'
import type { MillraceOptions } from '../app/options.ts'
import { runEcho, testApp, wordsIn } from '../app/test-app.fixture.ts'
import type { ListenOptions } from './listen.ts'

async function listening(options: MillraceOptions = {}, at: ListenOptions = {}) {
  const { app, logged } = testApp(options)
  const server = await app.listen({ port: 0, ...at })
  onTestFinished(() => server.close())
  return { app, server, logged, to: (path: string, init?: RequestInit) => fetch(server.url + path, init) }
}

const errorsIn = (logged: readonly { level: string }[]) => logged.filter(({ level }) => level === 'error')

test('starts a run and streams it on a loopback port', async () => {
  const { to, server } = await listening()
  expect(server.url).toBe(`http://127.0.0.1:${server.port}`)
  expect(await runEcho(to, 'hello')).toMatchObject({ status: 200, words: 'You said: hello' })
})

test.each(['::1', '[::1]'])('accepts the host %s', async host => {
  const { to, server } = await listening({}, { host })
  expect(server.url).toBe(`http://[::1]:${server.port}`)
  expect((await to('/api/health')).status).toBe(200)
})

test('refuses another host without authorize', async () => {
  const { app } = testApp()
  await expect(app.listen({ port: 0, host: '0.0.0.0' })).rejects.toThrow(/set the authorize option/)
  const { to } = await listening({ authorize: () => 'ann' }, { host: '0.0.0.0' })
  expect((await to('/api/health')).status).toBe(200)
})

test('throws for a port in use, says what to do, and opens no store', async () => {
  const { server } = await listening()
  let isOpened = false
  const store = {
    // biome-ignore lint/suspicious/noThenProperty: a promise that tells when it is waited for.
    then: (done: (store: ReturnType<typeof memoryStore>) => void) => {
      isOpened = true
      done(memoryStore())
    },
  } as unknown as ReturnType<typeof memoryStore>
  const { app } = testApp({ store })
  await expect(app.listen({ port: server.port })).rejects.toThrow(
    `127.0.0.1, port ${server.port}: another process listens there: stop it, or call listen({ port }) with another port`,
  )
  expect(isOpened).toBe(false)
})

test('rejects if the store cannot be opened, and frees the port', async () => {
  const { app } = testApp({ store: Promise.reject(new Error('no disk')) })
  const { server } = await listening()
  const { port } = server
  await server.close()
  await expect(app.listen({ port })).rejects.toMatchObject({ code: 'store_unavailable', cause: { message: 'no disk' } })
  const { server: next } = await listening({}, { port })
  expect(next.port).toBe(port)
})

test('close asks open streams to reconnect, ends them, and frees the port', async () => {
  const { to, server } = await listening()
  await runEcho(to, 'hello')
  const stream = await to('/api/sessions/s/stream')
  const idle = await to('/api/health')
  await idle.text()
  // If closing waited for idle connections, the test would time out.
  server.server.keepAliveTimeout = 3_600_000
  const closed = server.close()
  const frames = await stream.text()
  await closed
  expect(frames).toContain('"type":"fail"')
  expect(frames).toContain('"code":"draining"')
  expect(frames).toContain('"recoverable":true')
  const { to: again } = await listening({}, { port: server.port })
  expect((await again('/api/health')).status).toBe(200)
})

test('a client that reads nothing does not delay close', async () => {
  const { to, server } = await listening()
  await runEcho(to, 'x'.repeat(100_000))
  const socket = connect(server.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.pause()
  const lines = ['GET /api/sessions/s/stream HTTP/1.1', `Host: 127.0.0.1:${server.port}`, '', '']
  await new Promise<void>(resolve => socket.write(lines.join('\r\n'), () => resolve()))
  await expect.poll(() => connections(server.server)).toBeGreaterThan(0)
  await server.close()
  expect(await connections(server.server)).toBe(0)
})

const connections = (server: import('node:http').Server): Promise<number> =>
  new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))))

test('close is idempotent', async () => {
  const { server, app } = await listening()
  await Promise.all([server.close(), server.close(), app.close()])
})

test('an unread body does not block the next request on the connection', async () => {
  const { server, logged } = await listening()
  const keeping = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => keeping.destroy())
  const send = (path: string, body: Buffer | undefined) =>
    new Promise<{ status: number | undefined; port: number | undefined }>((resolve, reject) => {
      const method = body ? 'POST' : 'GET'
      const sent = ask(`${server.url}${path}`, { agent: keeping, method }, (message: IncomingMessage) => {
        const { statusCode: status, socket } = message
        const port = socket.localPort
        message.resume().once('end', () => resolve({ status, port }))
      })
      sent.once('error', reject).end(body)
    })
  const unread = await send('/api/nothing', Buffer.alloc(500_000))
  const next = await send('/api/health', undefined)
  expect([unread.status, next.status]).toEqual([404, 200])
  expect(next.port).toBe(unread.port)
  expect(errorsIn(logged)).toEqual([])
})

test('a refused request with a large body is answered and closed before the body is read', async () => {
  const { server, logged } = await listening({ authorize: () => null })
  const socket = connect(server.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let reply = ''
  socket.setEncoding('latin1').on('data', text => {
    reply += text
  })
  const closed = new Promise(resolve => socket.once('close', resolve))
  // The server resets the connection while the client still sends.
  socket.on('error', () => {})
  const size = 2 ** 30
  socket.write(
    `POST /api/sessions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${size}\r\n\r\n`,
  )
  const piece = Buffer.alloc(64 * 1024, ' ')
  let sent = 0
  const send = () => {
    while (socket.writable && sent < size) {
      sent += piece.length
      if (!socket.write(piece)) {
        socket.once('drain', send)
        return
      }
    }
  }
  await new Promise(resolve => socket.once('data', resolve))
  send()
  await closed
  expect(reply).toMatch(/^HTTP\/1\.1 401 .*\r\nconnection: close\r\n/is)
  expect(sent).toBeLessThan(size / 4)
  expect(errorsIn(logged)).toEqual([])
})

/** Sends a body in chunks of 64 KiB without reading, then reads until the server closes. */
async function sendBeforeReading(port: number, path: string, method: string, bytes: number): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.pause()
  let failure: unknown
  socket.on('error', error => {
    failure = error
  })
  const lines = ['host: 127.0.0.1', 'content-type: text/plain', 'transfer-encoding: chunked', '', '']
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}`)
  const piece = `10000\r\n${' '.repeat(0x10000)}\r\n`
  for (let sent = 0; sent < bytes && failure === undefined; sent += 0x10000) {
    await new Promise<void>(resolve => socket.write(piece, () => resolve()))
  }
  socket.write('0\r\n\r\n')
  expect(failure).toBeUndefined()
  let reply = ''
  for await (const text of socket.setEncoding('latin1')) reply += text
  return reply
}

const BODY_BYTES = 8 * 1024 * 1024

test.each([
  ['POST', '/api/sessions/s/uploads', 413],
  ['DELETE', '/api/sessions/s', 404],
  ['OPTIONS', '/api/sessions', 405],
])('a client that sends its whole body first gets the reply to %s %s, then the connection closes', async (...of) => {
  const [method, path, status] = of
  const { server, logged } = await listening({ authorize: () => 'ann', limits: { uploadBytes: 1000 } })
  const reply = await sendBeforeReading(server.port, path, method, BODY_BYTES)
  expect(reply).toMatch(new RegExp(`^HTTP/1.1 ${status} .*\r\nconnection: close\r\n.*\\}$`, 'is'))
  expect(errorsIn(logged)).toEqual([])
})

test('a body that a route does not read is not received to its end', async () => {
  const { server } = await listening({ authorize: () => 'ann' })
  const sent = sendBeforeReading(server.port, '/api/agents', 'GET', 2 ** 30)
  await expect(sent).rejects.toThrow()
})

test('a client that leaves in the middle of a body causes no error, and in the middle of a stream leaves nothing open', async () => {
  const { server, logged, to } = await listening({ limits: { streams: 1 } })
  await runEcho(to, 'hello')
  const socket = connect(server.port, '127.0.0.1')
  const head = [
    'POST /api/sessions/s/runs HTTP/1.1',
    `Host: 127.0.0.1:${server.port}`,
    'Content-Type: application/json',
  ]
  socket.write([...head, 'Content-Length: 1000', '', '{"agent":'].join('\r\n'))
  await expect.poll(() => connections(server.server)).toBeGreaterThan(1)
  socket.destroy()
  // Only one stream is allowed at a time, so earlier ones must be released.
  for (let i = 0; i < 3; i++) {
    const leaving = new AbortController()
    await expect.poll(async () => (await to('/api/sessions/s/stream', { signal: leaving.signal })).status).toBe(200)
    leaving.abort()
  }
  expect(errorsIn(logged)).toEqual([])
})

test('hands over a run in flight on close, and another server continues it', async () => {
  const store = memoryStore()
  const slow = (paceMs: number) => agent({ name: 'slow', model: scriptedModel([{ text: 'At last.' }], { paceMs }) })
  const first = await listening({ store, agents: [slow(60_000)], engine: { pollMs: 20, graceMs: 0 } })
  const body = JSON.stringify({ agent: 'slow', input: 'go', runId: 'r' })
  const headers = { 'content-type': 'application/json' }
  const stream = await first.to('/api/sessions/s/runs', { method: 'POST', body, headers })
  const decoder = new TextDecoder()
  let received = ''
  for await (const piece of stream.body as ReadableStream<Uint8Array>) {
    received += decoder.decode(piece, { stream: true })
    if (received.includes('step-start')) break
  }
  await first.server.close()
  const second = await listening({ store, agents: [slow(0)] })
  const frames = await (await second.to('/api/sessions/s/stream?run=r')).text()
  expect(wordsIn(frames)).toBe('At last.')
  expect(frames).toContain('"type":"end","status":"completed"')
})
