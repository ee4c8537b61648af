// A streamable HTTP server without the SDK, in this process. A test decides how it answers; by default it answers correctly.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A JSON-RPC request or notification. */
export interface RpcRequest {
  readonly id?: number
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** Answers a request and returns true; false for the correct answer. */
export type Behaviour = (message: RpcRequest, response: ServerResponse, request: IncomingMessage) => boolean

export interface HttpFixture {
  readonly url: string
  /** The methods of the requests, in order. */
  readonly methods: readonly string[]
  /** Resolves when no request is open. */
  idle(): Promise<void>
}

const ANYTHING = { type: 'object' }

/** Sends an answer as JSON. */
export function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): true {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  return true
}

export const result = (response: ServerResponse, { id }: RpcRequest, value: unknown): true =>
  json(response, { jsonrpc: '2.0', id, result: value })

/** Starts a server that answers by `behave`, until the test is over. */
export async function startHttpFixture(behave: Behaviour): Promise<HttpFixture> {
  const methods: string[] = []
  const open = new Set<ServerResponse>()
  const waiters = new Set<() => void>()
  const settle = () => {
    if (open.size > 0) return
    for (const waiter of waiters) waiter()
    waiters.clear()
  }
  const http = createServer(async (request, response) => {
    open.add(response)
    response.on('close', () => {
      open.delete(response)
      settle()
    })
    if (request.method !== 'POST') return void response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk)
    const message: RpcRequest = JSON.parse(Buffer.concat(chunks).toString())
    methods.push(message.method)
    if (!behave(message, response, request)) answer(message, response)
  })
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    http.closeAllConnections()
    http.close()
  })
  const { port } = http.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    methods,
    idle: () =>
      new Promise(resolve => {
        waiters.add(resolve)
        settle()
      }),
  }
}

function answer(message: RpcRequest, response: ServerResponse): void {
  const { id, method, params } = message
  if (id === undefined) return void response.writeHead(202).end()
  if (method === 'initialize') {
    const serverInfo = { name: 'wire', version: '1' }
    const welcome = { protocolVersion: params?.['protocolVersion'], capabilities: { tools: {} }, serverInfo }
    json(response, { jsonrpc: '2.0', id, result: welcome }, 200, { 'mcp-session-id': 'secret-session' })
  } else if (method === 'tools/list') result(response, message, { tools: [{ name: 'work', inputSchema: ANYTHING }] })
  else if (method === 'ping') result(response, message, {})
  else result(response, message, { content: [{ type: 'text', text: 'done' }] })
}
