// HTTP servers that hang: before the headers, after them, or in the middle of an answer.

import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { agent } from '../define/agent.ts'
import { callsOf, runToEnd } from '../execute/agent/run-to-end.fixture.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { connectMcp } from './connect-mcp.ts'
import { type Behaviour, startHttpFixture } from './http-server.fixture.ts'
import { call, connect, failure } from './mcp-connections.fixture.ts'

const SSE = { 'content-type': 'text/event-stream' }

/** How a server hangs, by the moment. */
const HANGS: Record<string, (response: ServerResponse) => void> = {
  'before the headers': () => {},
  'after the headers of JSON': response => {
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
  },
  'in the middle of JSON': response => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc":')
  },
  'after the headers of a stream': response => {
    response.writeHead(200, SSE).flushHeaders()
  },
  'in the middle of an event': response => {
    response.writeHead(200, SSE).write('data: {"jsonrpc":')
  },
  'after an event that is no answer': response => {
    const message = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'busy' } }
    response.writeHead(200, SSE).write(`id: 1\ndata: ${JSON.stringify(message)}\n\n`)
  },
  'while it sends comments': response => {
    response.writeHead(200, SSE)
    const send = () => {
      if (!response.destroyed) response.write(': busy\n\n', () => setTimeout(send, 1))
    }
    send()
  },
}

const hangingAt =
  (method: string, hang: (response: ServerResponse) => void): Behaviour =>
  (message, response) => {
    if (message.method !== method) return false
    hang(response)
    return true
  }

describe.each(Object.entries(HANGS))('a server that hangs %s', (_, hang) => {
  test.each(['initialize', 'tools/list'])('is reported as unreachable if it hangs during %s', async method => {
    const server = await startHttpFixture(hangingAt(method, hang))
    const error = await failure(connectMcp({ url: server.url, connectTimeoutMs: 200 }))
    expect(error).toMatchObject({ code: 'mcp_unreachable', message: expect.stringContaining('within 200 ms') })
    await server.idle()
  })

  test('does not block an aborted call, and the next call works', async () => {
    let calls = 0
    const hasCalled = Promise.withResolvers<void>()
    const server = await startHttpFixture((message, response) => {
      if (message.method !== 'tools/call' || ++calls > 1) return false
      hang(response)
      hasCalled.resolve()
      return true
    })
    const mcp = await connect({ url: server.url })
    const stop = new AbortController()
    const running = call(mcp, 'work', {}, { abortSignal: stop.signal })
    await hasCalled.promise
    stop.abort(new Error('stopped'))
    expect((await failure(running.output)).message).toBe('stopped')
    await server.idle()
    expect(await call(mcp, 'work').output).toBe('done')
  })

  test('fails the call after timeoutMs, and the run continues', async () => {
    const server = await startHttpFixture(hangingAt('tools/call', hang))
    const mcp = await connect({ url: server.url, timeoutMs: 100 })
    const model = scriptedModel([{ calls: [{ name: 'work', input: {} }] }, { text: 'Done.' }])
    const { result } = await runToEnd(agent({ name: 'caller', model, tools: mcp.tools }))
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(callsOf(result.message)).toMatchObject([{ state: 'output-error', code: 'tool_timeout' }])
    await server.idle()
  })
})
