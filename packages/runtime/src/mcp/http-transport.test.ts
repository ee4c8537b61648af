// HTTP servers with wrong, missing or oversized answers.

import { expect, test } from 'vitest'
import { codeOf } from '../api/test-runtime.fixture.ts'
import { connectMcp } from './connect-mcp.ts'
import { type Behaviour, json, result, startHttpFixture } from './http-server.fixture.ts'
import { call, connect, failure } from './mcp-connections.fixture.ts'

const onCall =
  (behave: Behaviour): Behaviour =>
  (message, response, request) =>
    message.method === 'tools/call' && behave(message, response, request)

const refusal = (id: unknown, message: string, code = -32602) => ({ jsonrpc: '2.0', id, error: { code, message } })

test.each([400, 404, 500])(
  'does not repeat a call that is answered with status %i and a JSON-RPC error',
  async status => {
    const server = await startHttpFixture(
      onCall(({ id }, response) => json(response, refusal(id, 'half done, then refused'), status)),
    )
    const mcp = await connect({ url: server.url })
    expect(await failure(call(mcp, 'work').output)).toMatchObject({
      code: 'mcp_protocol_error',
      message: expect.stringMatching(/refused: .*half done, then refused$/),
    })
    expect(server.methods.filter(method => method === 'tools/call')).toHaveLength(1)
  },
)

test.each([
  ['404', 404, 'there is no such path: /secret?token=abc', 'mcp_protocol_error'],
  ['400', 400, 'the session of the database is over', 'mcp_protocol_error'],
  ['429', 429, 'later', 'mcp_unreachable'],
  ['500', 500, 'at /home/secret', 'mcp_connection_lost'],
])('does not repeat a call that is answered with %s in a live session', async (_, status, body, code) => {
  const server = await startHttpFixture(onCall((_asked, response) => Boolean(response.writeHead(status).end(body))))
  const mcp = await connect({ url: server.url })
  const error = await failure(call(mcp, 'work').output)
  expect(error).toMatchObject({ code, message: expect.stringContaining(`answered with status ${status}`) })
  expect(error.message).not.toMatch(/secret|database/)
  expect(server.methods.filter(method => method === 'tools/call')).toHaveLength(1)
})

test.each([
  ['404', 404, 'there is no such session'],
  ['400 and an error without a request id', 400, JSON.stringify(refusal(null, 'Bad Request', -32000))],
  ['400 and a text about the session', 400, 'Invalid session'],
])('opens a new session for the call if the server answers %s', async (_, status, body) => {
  let isForgotten = false
  const server = await startHttpFixture(({ method }, response) => {
    if (method === 'initialize') isForgotten = false
    return isForgotten && Boolean(response.writeHead(status).end(body))
  })
  const mcp = await connect({ url: server.url })
  isForgotten = true
  expect(await call(mcp, 'work').output).toBe('done')
})

test.each([404, 500])('reports a server that answers with status %i as unreachable', async status => {
  const server = await startHttpFixture((_asked, response) => Boolean(response.writeHead(status).end('secret')))
  expect(await failure(connectMcp({ url: server.url }))).toMatchObject({
    code: 'mcp_unreachable',
    message: expect.stringMatching(`answered with status ${status}$`),
  })
})

test('reports a connection that breaks before the answer as lost, because the call may have run', async () => {
  const server = await startHttpFixture(onCall((_asked, response) => Boolean(response.destroy())))
  const mcp = await connect({ url: server.url })
  expect(await failure(call(mcp, 'work').output)).toMatchObject({
    code: 'mcp_connection_lost',
    message: expect.stringMatching(/the call may have taken effect/),
  })
  expect(server.methods.filter(method => method === 'tools/call')).toHaveLength(1)
})

test('reports a connection that breaks during the answer as lost', async () => {
  const server = await startHttpFixture(
    onCall((_asked, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
      response.write('{"jsonrpc":', () => response.destroy())
      return true
    }),
  )
  const mcp = await connect({ url: server.url })
  expect(await codeOf(call(mcp, 'work').output)).toBe('mcp_connection_lost')
})

test.each<[string, string, string]>([
  ['truncated JSON', 'application/json', '{"jsonrpc":"2.0","id":'],
  ['null as the result', 'application/json', '{"jsonrpc":"2.0","id":2,"result":null}'],
  ['HTML', 'text/html', '<html>secret'],
])('rejects an answer of %s as a protocol error', async (_, type, body) => {
  const server = await startHttpFixture(
    onCall((_asked, response) => Boolean(response.writeHead(200, { 'content-type': type }).end(body))),
  )
  const error = await failure(call(await connect({ url: server.url }), 'work').output)
  expect(error).toMatchObject({
    code: 'mcp_protocol_error',
    message: expect.stringMatching(/sent an answer that violates the protocol$/),
  })
})

test('reports an endless list of tools as a connection error', async () => {
  const server = await startHttpFixture(
    (message, response) =>
      message.method === 'tools/list' && result(response, message, { tools: Array(1_500_000).fill(0) }),
  )
  expect(await failure(connectMcp({ url: server.url }))).toMatchObject({
    code: 'mcp_protocol_error',
    message: expect.stringMatching(/more than 1000 tools$/),
  })
})

test.each<[string, Behaviour]>([
  ['hangs', () => true],
  ['fails', (_asked, response) => Boolean(response.writeHead(500).end())],
])('releases the connection of an aborted call, even if its cancellation %s', async (_, cancelled) => {
  const hasYielded = Promise.withResolvers<void>()
  const server = await startHttpFixture((message, response, request) => {
    if (message.method === 'notifications/cancelled') return cancelled(message, response, request)
    if (message.method === 'tools/call') hasYielded.resolve()
    return message.method === 'tools/call'
  })
  const mcp = await connect({ url: server.url })
  const stop = new AbortController()
  const running = call(mcp, 'work', {}, { abortSignal: stop.signal })
  await hasYielded.promise
  stop.abort(new Error('stopped'))
  expect((await failure(running.output)).message).toBe('stopped')
  await server.idle()
})

test('fails only the call whose answer is too large', async () => {
  const event = (body: unknown) => `data: ${JSON.stringify(body)}\n\n`
  const cut = Promise.withResolvers<void>()
  const server = await startHttpFixture(
    onCall(({ id, params }, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const text = 'x'.repeat(11 * 2 ** 20)
      if (Object(params?.['arguments']).isHuge)
        response.end(event({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } }))
      else cut.promise.then(() => response.end(event({ jsonrpc: '2.0', method: 'notifications/unheard' })))
      return true
    }),
  )
  const mcp = await connect({ url: server.url })
  const other = call(mcp, 'work')
  expect(await codeOf(call(mcp, 'work', { isHuge: true }).output)).toBe('tool_output_too_large')
  cut.resolve()
  expect(await codeOf(other.output)).toBe('mcp_connection_lost')
})
