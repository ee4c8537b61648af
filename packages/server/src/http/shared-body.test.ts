import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { framesIn, openTwoUserServer } from '../routing/two-user-server.fixture.ts'
import { bytesOf } from './body.ts'
import { SharedBody } from './shared-body.ts'

const ORIGIN = 'http://localhost:4400'

/** A request whose body arrives in pieces, and the number of pieces read. */
function pieces(...texts: string[]) {
  const counted = { read: 0 }
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>(
    {
      pull: controller => {
        const text = texts[counted.read]
        if (text === undefined) return controller.close()
        counted.read++
        controller.enqueue(encoder.encode(text))
      },
    },
    { highWaterMark: 0 },
  )
  const init = { method: 'POST', headers: { 'content-type': 'text/plain' }, body, duplex: 'half' }
  return { request: new Request(ORIGIN, init as RequestInit), counted }
}

describe('a shared body', () => {
  it('is read once and is the same for every reader and every read method', async () => {
    const { request, counted } = pieces('{"a":', '1', '}')
    const { request: seen } = new SharedBody(request, 100)
    const both = await Promise.all([seen.text(), seen.json(), seen.clone().text(), bytesOf(seen, 100)])
    expect(both).toEqual(['{"a":1}', { a: 1 }, '{"a":1}', Buffer.from('{"a":1}')])
    expect(Buffer.from(await seen.arrayBuffer()).toString()).toBe('{"a":1}')
    expect((await seen.blob()).type).toBe('text/plain')
    expect([counted.read, seen.bodyUsed]).toEqual([3, false])
  })

  it('leaves all other properties of the request as they are', () => {
    const { request } = pieces('a')
    const { request: seen } = new SharedBody(request, 100)
    expect(seen).toBeInstanceOf(Request)
    expect([seen.url, seen.method, seen.headers.get('content-type')]).toEqual([`${ORIGIN}/`, 'POST', 'text/plain'])
    expect(seen.signal).toBe(request.signal)
  })

  it('is read only on demand, and only up to the limit', async () => {
    const { request, counted } = pieces('aaaa', 'bbbb', 'cccc', 'dddd')
    const shared = new SharedBody(request, 6)
    expect([shared.wasRead, counted.read]).toEqual([false, 0])
    await expect(shared.request.text()).rejects.toMatchObject({ code: 'body_too_large', status: 413 })
    await expect(bytesOf(shared.request, 6)).rejects.toMatchObject({ code: 'body_too_large', status: 413 })
    expect([shared.wasRead, counted.read]).toEqual([true, 2])
  })

  it('rejects reads after release, instead of looking empty', async () => {
    const shared = new SharedBody(pieces('a').request, 6)
    expect(await shared.request.text()).toBe('a')
    shared.release()
    await expect(shared.request.text()).rejects.toThrow('no longer buffered')
  })
})

describe('authorize and context', () => {
  const signed = (text: string) => createHmac('sha256', 'a key').update(text).digest('hex')

  it('can both read the body, and the route reads it too', async () => {
    const read: string[] = []
    const testServer = openTwoUserServer({
      authorize: async ({ request }) => {
        const text = await request.text()
        return request.headers.get('x-signature') === signed(text) ? 'ann' : null
      },
      context: async ({ request, body }) => {
        read.push(await request.text(), JSON.stringify(body))
        return {}
      },
    })
    const raw = JSON.stringify({ agent: 'echo', input: 'Hello' })
    const send = (path: string, text: string, headers: object = {}) =>
      testServer.send({ path, raw: text, headers: { 'content-type': 'application/json', ...headers } })
    const path = '/api/sessions/s/runs'
    const reply = await send(path, raw, { 'x-signature': signed(raw) })
    expect([reply.status, read]).toEqual([200, [raw, raw]])
    expect((await send(path, raw, { 'x-signature': signed('another') })).status).toBe(401)
    expect((await send('/api/sessions/s/uploads', 'a file', { 'x-signature': signed('a file') })).status).toBe(201)
    expect((await testServer.send({ path: '/api/sessions', headers: { 'x-signature': signed('') } })).status).toBe(200)
  })

  it('lets context alone read the body', async () => {
    const read: unknown[] = []
    const testServer = openTwoUserServer({
      context: async ({ request }) => void read.push(await request.json()) as undefined,
    })
    const body = { agent: 'echo', input: 'Hello' }
    expect(framesIn(await testServer.run('s', body)).at(-1)).toMatchObject({ type: 'end' })
    expect(read).toEqual([body])
  })

  it('gives authorize the same body when a stream is authorized again', async () => {
    const read: string[] = []
    const testServer = openTwoUserServer({
      stream: { reauthorizeMs: 5 },
      authorize: async ({ request }) => {
        read.push(await request.text())
        return 'ann'
      },
    })
    const body = { agent: 'slow', input: 'Wait' }
    const run = testServer.run('s', body)
    await expect.poll(() => read.length).toBeGreaterThan(3)
    testServer.slow.go()
    expect(framesIn(await run).at(-1)).toMatchObject({ type: 'end', status: 'completed' })
    expect(new Set(read)).toEqual(new Set([JSON.stringify(body)]))
  })

  it('refuses a body that is too large for them with body_too_large', async () => {
    const testServer = openTwoUserServer({
      limits: { bodyBytes: 100 },
      authorize: async ({ request }) => (await request.text()) && 'ann',
    })
    const reply = await testServer.send({ path: '/api/sessions', body: { title: 'a'.repeat(150) } })
    expect([reply.status, reply.json]).toMatchObject([413, { error: { code: 'body_too_large' } }])
    expect(testServer.logged).toEqual([])
  })
})
