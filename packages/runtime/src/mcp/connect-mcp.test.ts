import { readFileSync } from 'node:fs'
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { codeOf, quiet } from '../api/test-runtime.fixture.ts'
import {
  CALL_TIMEOUT_MS,
  CONNECT_TIMEOUT_MS,
  connectMcp,
  MAX_PREFIX_LENGTH,
  type Mcp,
  type McpOptions,
} from './connect-mcp.ts'
import { CLIENT_INFO } from './connection.ts'
import { CANCEL_TIMEOUT_MS } from './http-transport.ts'
import { MAX_DESCRIPTION_LENGTH, MAX_PAGES, MAX_TOOLS } from './list-tools.ts'
import {
  call,
  connect,
  failure,
  type HttpServer,
  overHttp,
  sdkServer,
  startHttpServer,
} from './mcp-connections.fixture.ts'
import { MAX_MESSAGE_BYTES, MAX_TEXT_LENGTH } from './mcp-error.ts'
import { IDEMPOTENCY_KEY } from './mcp-tool.ts'
import { CHECK_TIMEOUT_MS, MAX_SCHEMA_DEPTH, MAX_SCHEMA_LENGTH } from './server-schema.ts'
import { PROGRESS_INTERVAL_MS } from './with-progress.ts'

let server: HttpServer
beforeAll(async () => {
  server = await startHttpServer()
})
afterAll(() => server.kill())

/** The ways to the same server. */
const ways: readonly [string, () => McpOptions][] = [
  ['stdio', () => sdkServer],
  ['streamable HTTP with sessions', () => ({ url: server.url })],
  ['streamable HTTP of the newer protocol', () => ({ url: server.modernUrl, versionNegotiation: { mode: 'auto' } })],
]

describe.each(ways)('over %s', (_, optionsOf) => {
  /** For the tests that leave the connection as it is. */
  let mcp: Mcp
  beforeAll(async () => {
    mcp = await connectMcp({ logger: quiet, ...optionsOf() })
  })
  afterAll(() => mcp.close())

  test('converts the tools of a server and returns their results', async () => {
    expect(mcp.skipped).toEqual([])
    expect(mcp.tools.find(({ name }) => name === 'add')).toMatchObject({
      executor: 'server',
      description: 'Adds two numbers',
      title: 'Adding',
      timeoutMs: 60_000,
      jsonSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a', 'b'] },
    })
    expect(await call(mcp, 'add', { a: 1, b: 2 }).output).toEqual({ sum: 3 })
    expect(await call(mcp, 'lines').output).toBe('one\ntwo')
    // Not undefined, because then the last progress of a generator would be the output.
    expect(await call(mcp, 'nothing').output).toBeNull()
    expect(await call(mcp, 'mixed').output).toEqual([
      { type: 'text', text: 'a dot' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'memo:1', text: 'a memo' } },
    ])
    const meta = await call(mcp, 'meta', {}, { idempotencyKey: 's/r/c' }).output
    expect(JSON.parse(meta as string)).toMatchObject({ [IDEMPOTENCY_KEY]: 's/r/c' })
  })

  test("shows the tool's own error message, truncated", async () => {
    expect(await failure(call(mcp, 'fail', { text: 'no such city' }).output)).toMatchObject({
      name: 'ToolError',
      code: 'tool_execution_failed',
      message: 'no such city',
    })
    const long = await failure(call(mcp, 'fail', { text: 'x'.repeat(100_000) }).output)
    expect(long.message).toHaveLength(1001)
  })

  test('yields progress during a call', async () => {
    const held = call(mcp, 'hold', { id: 'a' })
    await held.hasYielded
    expect(held.progress).toEqual([{ progress: 1, total: 2, message: 'half of it' }])
    await call(mcp, 'release', { id: 'a' }).output
    expect(await held.output).toBe('a was let go')
  })

  test('throttles progress', async () => {
    const started = performance.now()
    const flooded = call(mcp, 'flood', { times: 2000 })
    expect(await flooded.output).toBe('flooded')
    expect(flooded.progress.length).toBeLessThan(3 + (performance.now() - started) / 100)
    expect(flooded.progress.length).toBeGreaterThan(0)
  })

  test('cancels an aborted call at the server, and other calls continue', async () => {
    const stop = new AbortController()
    const held = call(mcp, 'hold', { id: 'b' }, { abortSignal: stop.signal })
    await held.hasYielded
    const reason = new Error('stopped')
    stop.abort(reason)
    expect(await failure(held.output)).toBe(reason)
    expect(await call(mcp, 'cancelled', { id: 'b' }).output).toBe('yes')
    // No connection is held open.
    expect(await call(mcp, 'alone').output).toBe('alone')
  })

  test('fails active and later calls with a typed error after close, which can be repeated', async () => {
    const mcp = await connect(optionsOf())
    const held = call(mcp, 'hold', { id: 'c' })
    await held.hasYielded
    const closing = mcp.close()
    expect(await codeOf(held.output)).toBe('mcp_closed')
    await closing
    await mcp[Symbol.asyncDispose]()
    expect(await codeOf(call(mcp, 'pid').output)).toBe('mcp_closed')
    expect(await codeOf(mcp.refresh())).toBe('mcp_closed')
  })

  test('rejects an output that is too large, and the next call works', async () => {
    const mcp = await connect(optionsOf())
    expect(await codeOf(call(mcp, 'big', { bytes: 11 * 1024 * 1024 }).output)).toBe('tool_output_too_large')
    expect(await call(mcp, 'big', { bytes: 10 }).output).toBe('x'.repeat(10))
  })
})

test('ends the HTTP session at the server', async () => {
  const { url } = await overHttp()
  const [first, second] = [await connect({ url }), await connect({ url })]
  expect(await call(second, 'sessions').output).toBe('2')
  await first.close()
  expect(await call(second, 'sessions').output).toBe('1')
})

test('sends headers with each request, and computes them each time', async () => {
  const { url } = server
  let token = 'right'
  const mcp = await connect({ url, headers: async () => ({ authorization: `Bearer ${token}` }) })
  expect(await call(mcp, 'lines').output).toBe('one\ntwo')
  token = 'wrong'
  expect(await codeOf(call(mcp, 'lines').output)).toBe('mcp_unauthorized')
})

test('includes only selected tools, with custom names', async () => {
  const mcp = await connect({ ...sdkServer, include: ['add', 'fail', 'gone'], prefix: 'calc_' })
  expect(mcp.tools.map(({ name }) => name)).toEqual(['calc_add', 'calc_fail'])
  expect(mcp.skipped).toEqual([{ name: 'gone', reason: 'the server has no such tool' }])
  expect(await call(mcp, 'calc_add', { a: 2, b: 2 }).output).toEqual({ sum: 4 })
  const harmless = await connect({ ...sdkServer, include: ({ annotations }) => annotations.readOnlyHint === true })
  expect(harmless.tools.map(({ name }) => name)).toEqual(['add'])
})

test('keeps the list of tools until it is refreshed', async () => {
  const mcp = await connect(sdkServer)
  const before = mcp.tools
  expect(before.map(({ name }) => name)).not.toContain('late')
  await call(mcp, 'grow').output
  expect(mcp.tools).toBe(before)
  expect((await mcp.refresh()).map(({ name }) => name)).toContain('late')
  expect(mcp.tools).not.toBe(before)
  expect(await call(mcp, 'late').output).toBe('late')
})

test('passes only the given environment to a process', async () => {
  process.env['GREETING'] = 'of the parent'
  onTestFinished(() => void delete process.env['GREETING'])
  expect(await call(await connect(sdkServer), 'greeting').output).toBe('none')
  expect(await call(await connect({ ...sdkServer, env: { GREETING: 'hello' } }), 'greeting').output).toBe('hello')
})

test('uses a custom transport, and calls its factory again to reconnect', async () => {
  const ends: { close(): Promise<void> }[] = []
  const createServer = () => {
    const server = new McpServer({ name: 'near', version: '1' })
    server.registerTool('where', {}, () => ({ content: [{ type: 'text', text: `here ${ends.length}` }] }))
    const [near, far] = InMemoryTransport.createLinkedPair()
    ends.push(far)
    void server.connect(far)
    return near
  }
  const [bare, end] = InMemoryTransport.createLinkedPair()
  void new McpServer({ name: 'bare', version: '1' }).connect(end)
  expect((await connect({ transport: bare })).tools).toEqual([])
  const once = await connect({ transport: createServer() })
  expect(await call(once, 'where').output).toBe('here 1')
  await ends[0]?.close()
  expect(await codeOf(call(once, 'where').output)).toBe('mcp_connection_lost')
  const often = await connect({ transport: createServer })
  expect(await call(often, 'where').output).toBe('here 2')
  await ends[1]?.close()
  expect(await call(often, 'where').output).toBe('here 3')
})

test.each<[string, object, RegExp]>([
  ['no server', {}, /expected one of command, url and transport, found none$/],
  ['two servers', { command: 'node', url: 'http://localhost' }, /, found command and url$/],
  ['an empty command', { command: '' }, /command/],
  ['a URL of another protocol', { url: 'ftp://localhost' }, /url: expected/],
  ['a password in the URL', { url: 'http://ann:hunter2@localhost/mcp' }, /pass them as headers/],
  ['a transport that is a number', { transport: 5 }, /transport/],
  ['a timeout of 0', { command: 'node', timeoutMs: 0 }, /timeoutMs/],
  ['a timeout that is a string', { command: 'node', connectTimeoutMs: 'x' }, /connectTimeoutMs/],
  ['a prefix with invalid characters', { command: 'node', prefix: 'a.b' }, /prefix/],
  ['include that is a string', { command: 'node', include: 'add' }, /include/],
])('rejects options with %s without quoting their values', async (_, options, message) => {
  const error = await failure(connectMcp(options as McpOptions))
  expect(error).toMatchObject({ code: 'validation_failed', message: expect.stringMatching(message) })
  expect(error.message).not.toContain('hunter2')
})

const page = readFileSync(new URL('../../../../docs/reference/defaults.md', import.meta.url), 'utf8')

test.each([
  ['`timeoutMs`', CALL_TIMEOUT_MS.toLocaleString('en')],
  ['`connectTimeoutMs`', CONNECT_TIMEOUT_MS.toLocaleString('en')],
  ['progress of a call', `${PROGRESS_INTERVAL_MS}`],
  ['a message, or a response over HTTP', `${MAX_MESSAGE_BYTES / 2 ** 20} MiB`],
  ['text from the server', `${MAX_TEXT_LENGTH.toLocaleString('en')} characters`],
  ['a list of tools', `${MAX_TOOLS.toLocaleString('en')} tools, ${MAX_PAGES} pages`],
  ['the description of a tool', `${MAX_DESCRIPTION_LENGTH / 1024} KiB`],
  ['a schema of a tool', `${MAX_SCHEMA_LENGTH / 1024} KiB, ${MAX_SCHEMA_DEPTH} levels`],
  ['validation by a schema', CHECK_TIMEOUT_MS.toLocaleString('en')],
  ['`prefix`', `${MAX_PREFIX_LENGTH} characters`],
  ['a cancelled call', CANCEL_TIMEOUT_MS.toLocaleString('en')],
])('the table of defaults states the value of %s', (name, value) => {
  expect(page).toContain(`| ${name} | ${value} |`)
})

test('sends the name and version of this package to servers', () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(CLIENT_INFO).toEqual({ name: 'millrace', version })
})
