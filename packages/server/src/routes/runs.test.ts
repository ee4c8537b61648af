import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { listen } from '../app/test-app.fixture.ts'
import {
  framesIn,
  openTwoUserServer,
  type ReadReply,
  type TestRequest,
  type TwoUserServer,
} from '../routing/two-user-server.fixture.ts'

/** The entries of a reply of frames, without repeated origins, which depend on the frames. */
const entriesIn = (reply: ReadReply) =>
  framesIn(reply).flatMap(({ entries = [] }) =>
    (entries as { sequence: number; chunk: unknown }[]).map(({ sequence, chunk }) => ({ sequence, chunk })),
  )

const NDJSON = { accept: 'application/x-ndjson' }
const JSON_REPLY = { accept: 'application/json' }

const errorOf = ({ status, json }: ReadReply) => [
  status,
  (json as { error?: { code: string } } | undefined)?.error?.code,
]

/** Starts a run that waits in the middle, and returns the reply after its first delta. */
async function begun(testServer: TwoUserServer, more: object = {}, sent: Partial<TestRequest> = {}) {
  const body = { agent: 'slow', input: 'Wait', runId: 'slow-run', ...more }
  const request = testServer.request({ path: '/api/sessions/s/runs', body, headers: NDJSON, ...sent })
  const response = await testServer.app.fetch(request)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (!text.includes('text-delta')) text += decoder.decode((await reader.read()).value, { stream: true })
  return { reader, response }
}

describe('a started run', () => {
  it('replies with its frames from start to end', async () => {
    const testServer = openTwoUserServer()
    const reply = await testServer.run('s', { agent: 'echo', input: 'Hello', runId: 'r1', messageId: 'm1' })
    const frames = framesIn(reply)
    expect(frames.map(({ type }) => type).filter((type, i, all) => type !== all[i - 1])).toEqual([
      'open',
      'entries',
      'end',
    ])
    const entries = frames.flatMap(({ entries = [] }) => entries as { chunk: { type: string } }[])
    const types = entries.map(({ chunk }) => chunk.type)
    expect([types[0], types.at(-1)]).toEqual(['run-started', 'run-finished'])
    expect(frames.at(-1)).toMatchObject({ type: 'end', status: 'completed' })
    expect([reply.headers.get('x-session-id'), reply.headers.get('x-run-id')]).toEqual(['s', 'r1'])
  })

  it.each([
    [undefined, 'text/event-stream'],
    ['*/*', 'text/event-stream'],
    ['text/*', 'text/event-stream'],
    ['text/event-stream', 'text/event-stream'],
    ['text/html, text/event-stream', 'text/event-stream'],
    ['application/x-ndjson', 'application/x-ndjson'],
    ['application/ndjson', 'application/x-ndjson'],
    ['application/json;q=0.1, application/x-ndjson', 'application/x-ndjson'],
    ['text/event-stream;q=0, */*', 'application/x-ndjson'],
    ['APPLICATION/JSON', 'application/json'],
    ['application/json, text/event-stream', 'application/json'],
  ])('replies to Accept %s with %s', async (accept, type) => {
    const headers = accept === undefined ? {} : { accept }
    const reply = await openTwoUserServer().send({
      path: '/api/sessions/s/runs',
      body: { agent: 'echo', input: 'Hello' },
      headers,
    })
    expect(reply.status).toBe(type === 'application/json' ? 202 : 200)
    expect(reply.headers.get('content-type')).toBe(`${type}; charset=utf-8`)
  })

  it('is named in headers that are safe for any id', async () => {
    const testServer = openTwoUserServer()
    for (const id of ['a b', 'ä/ö?ü#', '%00', '日本', '"quoted"', 'a,b;c=d', '../..', '😀']) {
      const path = `/api/sessions/${encodeURIComponent(id)}/runs`
      const body = { agent: 'echo', input: 'Hello', runId: id }
      const reply = await testServer.send({ path, body, headers: JSON_REPLY })
      expect([id, reply.status]).toEqual([id, 202])
      expect(reply.json).toMatchObject({ sessionId: id, runId: id, sequence: 1 })
      const ids = ['x-session-id', 'x-run-id'].map(name => decodeURIComponent(reply.headers.get(name) ?? ''))
      expect(ids).toEqual([id, id])
    }
  })

  it('creates no session for an unknown program', async () => {
    const testServer = openTwoUserServer()
    for (const body of [{ agent: 'nobody' }, { workflow: 'echo' }, { agent: 'question' }, { agent: 'agent:echo@1' }]) {
      expect(errorOf(await testServer.run('s', { ...body, input: 'Hello' }))).toEqual([404, 'program_unknown'])
    }
    // Nor does an invalid message.
    for (const part of [{ type: 'text' }, { type: 5 }, { text: 'Hello' }, { type: 'file', url: 7 }]) {
      const refused = errorOf(await testServer.run('s', { agent: 'echo', input: { parts: [part] } }))
      expect([part, ...refused]).toEqual([part, 400, 'body_invalid'])
    }
    expect(errorOf(await testServer.run('s', { agent: 'echo', input: 'Hello', messageId: 'a::b' }))).toEqual([
      400,
      'body_invalid',
    ])
    expect(await testServer.storeContent()).toBe('[]')
  })

  it('is refused if its input is too large for the log, and the message is about the body', async () => {
    const testServer = openTwoUserServer({ limits: { bodyBytes: 4_000_000 } })
    const reply = await testServer.run('s', { agent: 'echo', input: 'Hello', data: 'x'.repeat(2_000_000) })
    const message = expect.stringMatching(/^body: expected at most 1048576 bytes, found \d+/)
    expect([reply.status, reply.json]).toMatchObject([413, { error: { code: 'input_too_large', message } }])
    expect(await testServer.storeContent()).toBe('[]')
  })

  it('keeps all keys of a client, including __proto__', async () => {
    const testServer = openTwoUserServer()
    const data = '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}},"toString":1}'
    const raw = `{"agent":"echo","input":"Hello","data":${data}}`
    const headers = { 'content-type': 'application/json', ...NDJSON }
    const { status } = await testServer.send({ path: '/api/sessions/s/runs', raw, headers })
    expect([status, (await testServer.storeContent()).includes(JSON.stringify(data).slice(1, -1))]).toEqual([200, true])
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })
})

describe('law 5: a repeated request with the same run id', () => {
  const body = { agent: 'echo', input: 'Hello', runId: 'r1', messageId: 'm1', data: { a: [1] }, whenBusy: 'queue' }

  it('is the same run, while it is open and after its end', async () => {
    const testServer = openTwoUserServer()
    const first = await testServer.send({ path: '/api/sessions/s/runs', body, headers: JSON_REPLY })
    const again = await testServer.send({ path: '/api/sessions/s/runs', body, headers: JSON_REPLY })
    expect([first.json, again.json]).toEqual([first.json, first.json])
    const reply = await testServer.run('s', body)
    const later = await testServer.run('s', body)
    // A client that joins an open run may get it in more frames.
    expect(entriesIn(later)).toEqual(entriesIn(reply))
    expect(framesIn(reply).at(-1)).toEqual(framesIn(later).at(-1))
    expect(framesIn(later).at(-1)).toMatchObject({ type: 'end', status: 'completed' })
    const requestCount = (await testServer.storeContent()).split('run-requested').length - 1
    const { messageId: _, ...unnamed } = body
    expect((await testServer.run('s', unnamed)).status).toBe(200)
    expect((await testServer.storeContent()).split('run-requested').length - 1).toBe(requestCount)
  })

  it.each([
    ['input', { input: 'Goodbye' }],
    ['parts', { input: { parts: [{ type: 'text', text: 'Hello' }], metadata: { a: 1 } } }],
    ['message', { messageId: 'm2' }],
    ['data', { data: { a: [2] } }],
    ['agent', { agent: 'large' }],
    ['policy', { whenBusy: 'reject' }],
  ])('is refused with another %s, and nothing is written', async (_, other) => {
    const testServer = openTwoUserServer()
    await testServer.run('s', body)
    const before = await testServer.storeContent()
    expect(errorOf(await testServer.run('s', { ...body, ...other }))).toEqual([409, 'run_ended'])
    expect(await testServer.storeContent()).toBe(before)
  })

  it('is the same if the text is sent as parts', async () => {
    const testServer = openTwoUserServer()
    await testServer.run('s', body)
    const { status } = await testServer.run('s', { ...body, input: { parts: [{ type: 'text', text: 'Hello' }] } })
    expect(status).toBe(200)
  })

  it('is refused if it is of another kind or has another message', async () => {
    const testServer = openTwoUserServer()
    await testServer.run('s', body)
    const edit = (input: string) =>
      testServer.send({ path: '/api/sessions/s/edit', body: { messageId: 'm1', input, runId: 'e1' }, headers: NDJSON })
    expect((await edit('Hi')).status).toBe(200)
    expect((await edit('Hi')).status).toBe(200)
    expect(errorOf(await edit('Ho'))).toEqual([409, 'run_ended'])
    expect(errorOf(await testServer.run('s', { agent: 'echo', input: 'Hi', runId: 'e1' }))).toEqual([409, 'run_ended'])
    expect(errorOf(await testServer.send({ path: '/api/sessions/s/retry', body: { runId: 'r1' } }))).toEqual([
      409,
      'run_ended',
    ])
  })
})

describe('while a run is open, another request', () => {
  it('is refused, queued, or interrupts the run', async () => {
    const testServer = openTwoUserServer()
    const { reader } = await begun(testServer)
    const second = (whenBusy?: string) =>
      testServer.send({
        path: '/api/sessions/s/runs',
        body: { agent: 'echo', input: 'Hello', whenBusy },
        headers: JSON_REPLY,
      })
    for (const whenBusy of [undefined, 'reject']) {
      const refused = await second(whenBusy)
      expect([...errorOf(refused), (refused.json as { error: { retryable: boolean } }).error.retryable]).toEqual([
        409,
        'run_busy',
        true,
      ])
    }
    const queued = (await second('queue')).json as { runId: string }
    const next = (await second('interrupt-previous')).json as { runId: string }
    const runtime = await testServer.app.runtime()
    expect((await runtime.run('s', 'slow-run').result()).status).toBe('interrupted')
    expect((await runtime.run('s', next.runId).result()).status).toBe('completed')
    expect((await runtime.run('s', queued.runId).result()).status).toBe('completed')
    await reader.cancel()
  })
})

describe('a client that leaves', () => {
  it('stops a run with onDisconnect stop, and aborts its model call', async () => {
    const testServer = openTwoUserServer()
    const { reader } = await begun(testServer, { onDisconnect: 'stop' })
    const run = (await testServer.app.runtime()).run('s', 'slow-run')
    await reader.cancel()
    expect(await run.result()).toMatchObject({ status: 'interrupted', text: 'one' })
    expect(testServer.slow.counted.aborts).toBe(1)
    const held = await testServer.storeContent()
    expect(held).toContain('the client disconnected')
  })

  it.each([[{}], [{ onDisconnect: 'continue' }]])('does not stop a run with %j', async more => {
    const testServer = openTwoUserServer()
    const { reader } = await begun(testServer, more)
    await reader.cancel()
    testServer.slow.go()
    const result = await (await testServer.app.runtime()).run('s', 'slow-run').result()
    expect(result).toMatchObject({ status: 'completed', text: 'one two' })
    expect(testServer.slow.counted.aborts).toBe(0)
  })

  it('stops a run with onDisconnect stop over a socket too', async () => {
    const testServer = openTwoUserServer()
    const { port } = await listen(testServer.app)
    const body = JSON.stringify({ agent: 'slow', input: 'Wait', runId: 'slow-run', onDisconnect: 'stop' })
    const socket = connect(port, '127.0.0.1')
    const headers = `Host: localhost\r\nX-User: ann\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`
    socket.write(`POST /api/sessions/s/runs HTTP/1.1\r\n${headers}\r\n${body}`)
    const answered = Promise.withResolvers<void>()
    let received = ''
    socket.on('data', data => {
      received += data
      if (received.includes('text-delta')) answered.resolve()
    })
    await answered.promise
    socket.destroy()
    const result = await (await testServer.app.runtime()).run('s', 'slow-run').result()
    expect(result.status).toBe('interrupted')
  })

  it('cannot be detected without a stream: onDisconnect stop is refused', async () => {
    const body = { agent: 'echo', input: 'Hello', onDisconnect: 'stop' }
    const reply = await openTwoUserServer().send({ path: '/api/sessions/s/runs', body, headers: JSON_REPLY })
    expect(errorOf(reply)).toEqual([400, 'request_invalid'])
  })

  it('stops nothing after the end of the run', async () => {
    const testServer = openTwoUserServer()
    const reply = await testServer.run('s', { agent: 'operator', input: 'Do it', runId: 'r1', onDisconnect: 'stop' })
    expect(framesIn(reply).at(-1)).toMatchObject({ type: 'end', status: 'paused' })
    const { ticket } = await (await testServer.app.runtime()).view('s')
    expect([ticket.run?.paused, ticket.stop ?? false]).toEqual([true, false])
  })

  it('stops nothing if the server shuts down', async () => {
    const testServer = openTwoUserServer()
    const { reader } = await begun(testServer, { onDisconnect: 'stop' })
    await testServer.app.close()
    await reader.cancel()
    expect(await testServer.storeContent()).not.toContain('stop-requested')
  })
})
