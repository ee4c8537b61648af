import { systemTimers } from '@millrace/log'
import { describe, expect, it } from 'vitest'
import { openTwoUserServer, type ReadReply } from '../routing/two-user-server.fixture.ts'
import { Limiter } from './limiter.ts'
import { DEFAULT_LIMITS, type Limits } from './limits.ts'

const codeOf = ({ status, json }: ReadReply) => [
  status,
  (json as { error?: { code: string } } | undefined)?.error?.code,
]

describe('limits', () => {
  it('limits the bytes of a body, and of a user message', async () => {
    const testServer = openTwoUserServer({ limits: { bodyBytes: 1000, inputBytes: 100 } })
    const run = (input: unknown) => testServer.send({ path: '/api/sessions/s/runs', body: { agent: 'echo', input } })
    expect(codeOf(await run('a'.repeat(1000)))).toEqual([413, 'body_too_large'])
    expect(codeOf(await run('a'.repeat(99)))).toEqual([413, 'input_too_large'])
    expect(codeOf(await run({ parts: [{ type: 'text', text: 'ä'.repeat(50) }] }))).toEqual([413, 'input_too_large'])
    expect(await testServer.storeContent()).toBe('[]')
    expect((await run('a'.repeat(98))).status).toBe(200)
    const edit = { messageId: 'm', input: 'a'.repeat(99) }
    expect(codeOf(await testServer.send({ path: '/api/sessions/s/edit', body: edit }))).toEqual([
      413,
      'input_too_large',
    ])
    const resume = { mode: 'with-message', message: 'a'.repeat(99) }
    expect(codeOf(await testServer.send({ path: '/api/sessions/s/resume', body: resume }))).toEqual([
      413,
      'input_too_large',
    ])
  })

  it('limits the bytes of a transcript from a dialect client', async () => {
    const messageOfSize = (text: string, size: number) => ({
      id: 's',
      messages: [
        { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] },
        { id: 'a1', role: 'assistant', parts: [{ type: 'text', text: 'a'.repeat(size) }] },
        { id: text, role: 'user', parts: [{ type: 'text', text }] },
      ],
    })
    const ask = (at: ReturnType<typeof openTwoUserServer>, text: string, size: number) =>
      at.send({ path: '/api/ai-sdk/echo', body: messageOfSize(text, size) })
    const testServer = openTwoUserServer({ limits: { bodyBytes: 1000 } })
    expect((await ask(testServer, 'long', 4 * 1024 * 1024)).status).toBe(200)
    expect(codeOf(await ask(testServer, 'longer', DEFAULT_LIMITS.transcriptBytes))).toEqual([413, 'body_too_large'])
    const small = openTwoUserServer({ limits: { transcriptBytes: 2000, inFlightBytes: 3000 } })
    expect(codeOf(await ask(small, 'long', 2000))).toEqual([413, 'body_too_large'])
    const both = await Promise.all(['one', 'two'].map(text => ask(small, text, 1600)))
    expect(both.map(({ status }) => status).sort()).toEqual([200, 429])
  })

  it('limits the sessions per principal, for every way to create one', async () => {
    const testServer = openTwoUserServer({ limits: { sessions: 2 } })
    await testServer.run('one', { agent: 'echo', input: 'Hello' })
    await testServer.post('/api/sessions', {})
    const refused = [429, 'sessions_limit']
    expect(codeOf(await testServer.send({ path: '/api/sessions', body: {} }))).toEqual(refused)
    expect(codeOf(await testServer.run('three', { agent: 'echo', input: 'Hello' }))).toEqual(refused)
    expect(codeOf(await testServer.send({ path: '/api/sessions/one/fork', body: {} }))).toEqual(refused)
    // Existing sessions stay usable, and deleting one makes room.
    expect((await testServer.run('one', { agent: 'echo', input: 'Again' })).status).toBe(200)
    expect((await testServer.run('three', { agent: 'echo', input: 'Hello' }, 'bob')).status).toBe(200)
    expect((await testServer.send({ path: '/api/sessions/one', method: 'DELETE' })).status).toBe(204)
    expect((await testServer.send({ path: '/api/sessions', body: {} })).status).toBe(201)
  })

  it('limits the sessions per principal, also when created concurrently', async () => {
    const testServer = openTwoUserServer({ limits: { sessions: 3 } })
    await testServer.run('one', { agent: 'echo', input: 'Hello' })
    const sent = ['/api/sessions', '/api/sessions/one/fork', '/api/sessions'].map(path => ({ path, body: {} }))
    const upload = { raw: 'a file', headers: { 'content-type': 'text/plain' } }
    const all = [...sent, ...sent, ...['a', 'b', 'c'].map(id => ({ path: `/api/sessions/${id}/uploads`, ...upload }))]
    const replies = await Promise.all(all.map(request => testServer.send(request)))
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 201, ...Array(7).fill(429)])
    expect((await testServer.store.list('ann', 10)).streams).toHaveLength(3)
  })

  it('creates no session if the limit is 0', async () => {
    const reply = await openTwoUserServer({ limits: { sessions: 0 } }).send({ path: '/api/sessions', body: {} })
    expect(codeOf(reply)).toEqual([429, 'sessions_limit'])
  })

  it('limits the streams per principal, of every kind; a closed stream makes room', async () => {
    const testServer = openTwoUserServer({ limits: { streams: 2 } })
    await testServer.run('s', { agent: 'echo', input: 'Hello' })
    const open = (path: string, user = 'ann') => testServer.app.fetch(testServer.request({ path, user }))
    const [one, two] = [await open('/api/sessions/s/stream'), await open('/api/sessions/stream')]
    for (const path of [
      '/api/sessions/s/stream',
      '/api/stream?session=s',
      '/api/sessions/stream',
      '/api/sessions/s/stream?live=long-poll',
    ]) {
      const reply = await testServer.send({ path })
      expect([path, ...codeOf(reply), reply.headers.get('retry-after')]).toEqual([path, 429, 'streams_limit', '5'])
    }
    const refused = await testServer.send({
      path: '/api/sessions/s/runs',
      body: { agent: 'echo', input: 'Hi', runId: 'r' },
    })
    expect(codeOf(refused)).toEqual([429, 'streams_limit'])
    // Nothing was started: the refused client can send the same request again.
    expect((await testServer.send({ path: '/api/sessions/s/stop', body: { runId: 'r' } })).status).toBe(404)
    expect((await open('/api/sessions/stream', 'bob')).status).toBe(200)
    await one.body?.cancel()
    const three = await open('/api/stream?session=s')
    expect(three.status).toBe(200)
    await Promise.all([two, three].map(({ body }) => body?.cancel()))
  })

  it('limits the sessions per stream', async () => {
    const testServer = openTwoUserServer({ limits: { sessionsPerStream: 1 } })
    const reply = await testServer.send({ path: '/api/stream?session=a&session=b' })
    expect(codeOf(reply)).toEqual([400, 'request_invalid'])
  })

  it('limits the requests per minute, per principal', async () => {
    let now = 0
    const testServer = openTwoUserServer({
      limits: { requestsPerMinute: 3 },
      timers: { ...systemTimers, now: () => now },
    })
    const ask = (user = 'ann') => testServer.send({ path: '/api/agents', user })
    for (let i = 0; i < 3; i++) expect((await ask()).status).toBe(200)
    const refused = await ask()
    expect([...codeOf(refused), refused.headers.get('retry-after')]).toEqual([429, 'rate_limit', '20'])
    expect((refused.json as { error: { retryable: boolean } }).error.retryable).toBe(true)
    expect((await ask('bob')).status).toBe(200)
    now += 20_000
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 429])
  })
})

describe('a limiter', () => {
  const limiter = (limits: Partial<Limits>) => new Limiter({ ...DEFAULT_LIMITS, ...limits }, systemTimers)

  it('rejects every request if the limit is 0', () => {
    expect(() => limiter({ requestsPerMinute: 0 }).countRequest('ann')).toThrow('at most 0')
  })

  it('keeps principals with open streams, however many others it evicts', () => {
    const oneStream = limiter({ streams: 1 })
    const leave = oneStream.acquireStream('ann')
    for (let i = 0; i < 20_000; i++) oneStream.countRequest(`user ${i}`)
    expect(() => oneStream.acquireStream('ann')).toThrow('at most 1')
    leave()
    leave()
    oneStream.acquireStream('ann')
    expect(() => oneStream.acquireStream('ann')).toThrow('at most 1')
  })
})
