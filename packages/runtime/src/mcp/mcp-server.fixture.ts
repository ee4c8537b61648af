// An MCP server that uses the SDK, in its own process: `node mcp-server.fixture.ts stdio`, or `http <port>`, which prints its port
// when it listens.

import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { flushCompileCache } from 'node:module'
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

/** Calls of `hold` by id, with the functions that release them. */
const held = new Map<string, () => void>()
const cancelled = new Set<string>()
const watchers = new Set<() => void>()
/** Number of open HTTP requests. */
let openRequests = 0
const sessions = new Map<string, NodeStreamableHTTPServerTransport>()

const checkWatchers = () => {
  for (const watcher of watchers) watcher()
}

const text = (content: string) => ({ content: [{ type: 'text' as const, text: content }] })

/** Waits for a condition, which `checkWatchers` checks again. */
function until(isMet: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const watcher = () => {
    if (!isMet()) return
    watchers.delete(watcher)
    resolve()
  }
  watchers.add(watcher)
  watcher()
  return promise
}

function toolServer(): McpServer {
  const server = new McpServer({ name: 'fixture', version: '1' }, { capabilities: { tools: { listChanged: true } } })
  server.registerTool(
    'add',
    {
      description: 'Adds two numbers',
      title: 'Adding',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true },
    },
    ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } }),
  )
  server.registerTool('pid', { description: 'Tells the process' }, () => text(`${process.pid}`))
  server.registerTool('greeting', {}, () => text(process.env['GREETING'] ?? 'none'))
  server.registerTool('lines', {}, () => ({ content: [...text('one').content, ...text('two').content] }))
  server.registerTool('nothing', {}, () => ({ content: [] }))
  server.registerTool('mixed', {}, () => ({
    content: [
      { type: 'text', text: 'a dot' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'memo:1', text: 'a memo' } },
    ],
  }))
  server.registerTool(
    'fail',
    { inputSchema: z.object({ text: z.string() }), annotations: { destructiveHint: true } },
    input => ({ ...text(input.text), isError: true }),
  )
  server.registerTool('big', { inputSchema: z.object({ bytes: z.number() }) }, ({ bytes }) => text('x'.repeat(bytes)))
  server.registerTool('meta', {}, context => text(JSON.stringify(context.mcpReq._meta ?? {})))
  // Reports progress, and waits until it is released or aborted.
  server.registerTool('hold', { inputSchema: z.object({ id: z.string() }) }, async ({ id }, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken
    const { promise, resolve } = Promise.withResolvers<void>()
    held.set(id, resolve)
    const cancel = () => {
      cancelled.add(id)
      checkWatchers()
      resolve()
    }
    mcpReq.signal.addEventListener('abort', cancel)
    if (mcpReq.signal.aborted) cancel()
    if (progressToken !== undefined) {
      const params = { progressToken, progress: 1, total: 2, message: 'half of it' }
      await mcpReq.notify({ method: 'notifications/progress', params })
    }
    await promise
    return text(`${id} was let go`)
  })
  server.registerTool('release', { inputSchema: z.object({ id: z.string() }) }, ({ id }) => {
    held.get(id)?.()
    return text('released')
  })
  // Answers when a held call was cancelled.
  server.registerTool('cancelled', { inputSchema: z.object({ id: z.string() }) }, async ({ id }) => {
    await until(() => cancelled.has(id))
    return text('yes')
  })
  // Answers when no other request is open.
  server.registerTool('alone', {}, async () => {
    await until(() => openRequests <= 1)
    return text('alone')
  })
  server.registerTool('sessions', {}, () => text(`${sessions.size}`))
  server.registerTool('flood', { inputSchema: z.object({ times: z.number() }) }, async ({ times }, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken ?? 0
    for (let progress = 1; progress <= times; progress++) {
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress } })
    }
    return text('flooded')
  })
  // A tool that appears after a call of `grow`.
  const late = server.registerTool('late', {}, () => text('late'))
  if (!isGrown) late.disable()
  server.registerTool('grow', {}, () => {
    isGrown = true
    late.enable()
    return text('grown')
  })
  return server
}
let isGrown = false

/** Serves the older protocol with sessions, and the newer one without sessions at `/modern`. */
async function serveHttp(port: number): Promise<void> {
  const modern = toNodeHandler(createMcpHandler(toolServer, { legacy: 'reject' }))
  const http = createServer(async (request, response) => {
    openRequests++
    response.on('close', () => {
      openRequests--
      checkWatchers()
    })
    if (request.url === '/modern') return void modern(request as Parameters<typeof modern>[0], response)
    if (request.headers.authorization === 'Bearer wrong') return void response.writeHead(401).end('no: secret-body')
    const id = request.headers['mcp-session-id']
    if (typeof id === 'string') {
      const session = sessions.get(id)
      if (session === undefined) response.writeHead(404).end('there is no such session')
      else await session.handleRequest(request, response)
      return
    }
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: session => void sessions.set(session, transport),
      onsessionclosed: session => void sessions.delete(session),
    })
    await toolServer().connect(transport)
    await transport.handleRequest(request, response)
  })
  http.listen(port, '127.0.0.1', () => {
    const address = http.address()
    process.stdout.write(`${typeof address === 'object' && address !== null ? address.port : port}\n`)
  })
}

// Some tests kill the process, which then writes nothing at its end.
flushCompileCache()
const [, , kind, port] = process.argv
if (kind === 'http') await serveHttp(Number(port ?? 0))
else serveStdio(toolServer)
