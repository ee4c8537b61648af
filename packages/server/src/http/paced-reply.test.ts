import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listen, request, testApp } from '../app/test-app.fixture.ts'

/** More bytes than the sockets of this machine buffer. */
const LARGE = 12 * 1024 * 1024

/** A server with a large upload. The header `x-user` names the user. */
async function keeping(options: Parameters<typeof testApp>[0] = {}) {
  const authorize = (context: { request: Request }) => context.request.headers.get('x-user') ?? 'ann'
  const { app, logged } = testApp({ authorize, ...options })
  const bytes = randomBytes(LARGE)
  const keep = (body: BodyInit, user = 'ann', more = {}) =>
    app.fetch(
      new Request('http://localhost/api/sessions/s/uploads', {
        method: 'POST',
        body,
        headers: { 'content-type': 'image/png', 'x-user': user },
        ...more,
      }),
    )
  const { hash } = await (await keep(bytes)).json()
  const path = `/api/sessions/s/uploads/${hash}`
  const get = (user = 'ann') => app.fetch(request(path, undefined, { headers: { 'x-user': user } }))
  return { app, logged, bytes, path, get, keep }
}

/** A folder with a large file. */
function folderOf(bytes: Uint8Array) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-paced-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'large.bin')
  writeFileSync(file, bytes)
  return { folder, file }
}

/** A client that sends a request and reads nothing of the reply. */
function silent(port: number, path: string): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.pause()
  // The server may reset the connection.
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
  onTestFinished(() => void socket.destroy())
  return socket
}

const codeOf = async (response: Response) => [response.status, (await response.json()).error.code]

describe('law 8: bytes in flight of a principal are bounded', () => {
  test('rejects another reply while unread replies hold the limit', async () => {
    // A file is counted with its description while it is read.
    const { get } = await keeping({ limits: { inFlightBytes: 2 * LARGE + 100 } })
    const held = [await get(), await get()]
    expect(held.map(({ status }) => status)).toEqual([200, 200])
    const refused = await get()
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(await codeOf(refused)).toEqual([429, 'bytes_limit'])
    await held[0]?.body?.cancel()
    expect((await get()).status).toBe(200)
  })

  test('frees the bytes of a reply that was read to its end', async () => {
    const { get, bytes } = await keeping({ limits: { inFlightBytes: LARGE } })
    for (let i = 0; i < 3; i++) {
      const response = await get()
      expect(response.headers.get('content-length')).toBe(String(LARGE))
      expect(bytes.equals(Buffer.from(await response.arrayBuffer()))).toBe(true)
    }
  })

  test('allows one reply that is larger than the limit', async () => {
    const { get } = await keeping({ limits: { inFlightBytes: 1 } })
    const alone = await get()
    expect(alone.status).toBe(200)
    expect(await codeOf(await get())).toEqual([429, 'bytes_limit'])
    expect((await alone.arrayBuffer()).byteLength).toBe(LARGE)
  })

  test('counts request bodies that never end, per principal', async () => {
    const { keep, app } = await keeping({ limits: { inFlightBytes: 1000 } })
    const half = new TransformStream<Uint8Array, Uint8Array>()
    const writer = half.writable.getWriter()
    const first = keep(half.readable, 'ann', { duplex: 'half' })
    await writer.write(new Uint8Array(600))
    expect(await codeOf(await keep(new Uint8Array(600)))).toEqual([429, 'bytes_limit'])
    const title = { title: 'a'.repeat(500) }
    expect(await codeOf(await app.fetch(request('/api/sessions', title)))).toEqual([429, 'bytes_limit'])
    const bobs = await app.fetch(request('/api/sessions', { title: 'a'.repeat(150) }, { headers: { 'x-user': 'bob' } }))
    expect(bobs.status).toBe(201)
    await writer.close()
    expect((await first).status).toBe(201)
    expect((await keep(new Uint8Array(600))).status).toBe(201)
  })
})

describe('law 8: a client that reads nothing is closed', () => {
  test('closes a stalled reply of an upload and frees its bytes', async () => {
    const { app, path, bytes } = await keeping({ limits: { inFlightBytes: LARGE }, stream: { stallMs: 500 } })
    const { port, url } = await listen(app)
    const get = async () => {
      const response = await fetch(url + path)
      const body = Buffer.from(await response.arrayBuffer())
      return response.status === 200 ? bytes.equals(body) : response.status
    }
    silent(port, path)
    await expect.poll(get).toBe(429)
    await expect.poll(get).toBe(true)
  })

  test('closes a stalled reply of a file', async () => {
    const { folder } = folderOf(randomBytes(LARGE))
    const { app } = testApp({ static: folder, stream: { stallMs: 500 } })
    const { port, url, server } = await listen(app)
    const disconnected = new Promise(resolve => server.once('connection', socket => socket.once('close', resolve)))
    silent(port, '/large.bin')
    await disconnected
    expect((await (await fetch(`${url}/large.bin`)).arrayBuffer()).byteLength).toBe(LARGE)
  })
})

describe('a large file', () => {
  test('is sent completely, and HEAD gives its length', async () => {
    const bytes = randomBytes(LARGE + 1)
    const { app } = testApp({ static: folderOf(bytes).folder })
    const response = await app.fetch(request('/large.bin'))
    expect(response.headers.get('content-length')).toBe(String(LARGE + 1))
    expect(bytes.equals(Buffer.from(await response.arrayBuffer()))).toBe(true)
    const head = await app.fetch(request('/large.bin', undefined, { method: 'HEAD' }))
    expect([head.status, head.headers.get('content-length'), head.body]).toEqual([200, String(LARGE + 1), null])
  })

  test('breaks the reply off if it shrinks while it is read', async () => {
    const { folder, file } = folderOf(randomBytes(LARGE))
    const { app } = testApp({ static: folder })
    const response = await app.fetch(request('/large.bin'))
    truncateSync(file, LARGE / 2)
    await expect(response.arrayBuffer()).rejects.toThrow()
    writeFileSync(file, 'short')
    expect(await (await app.fetch(request('/large.bin'))).text()).toBe('short')
  })
})
