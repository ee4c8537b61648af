import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { codeOf } from '../api/test-runtime.fixture.ts'
import { connectMcp } from './connect-mcp.ts'
import {
  brokenServer,
  call,
  connect,
  failure,
  overHttp,
  sdkServer,
  startedProcesses,
} from './mcp-connections.fixture.ts'

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('fails the call if its server is killed, and the next call restarts the server', async () => {
  const mcp = await connect(sdkServer)
  const pid = Number(await call(mcp, 'pid').output)
  const held = call(mcp, 'hold', { id: 'a' })
  await held.hasYielded
  process.kill(pid, 'SIGKILL')
  expect(await failure(held.output)).toMatchObject({
    code: 'mcp_connection_lost',
    message: 'the connection to the MCP server node was lost: the call may have taken effect',
  })
  // Concurrent calls share one new process.
  const pids = await Promise.all([1, 2, 3].map(() => call(mcp, 'pid').output))
  expect(new Set(pids).size).toBe(1)
  expect(Number(pids[0])).not.toBe(pid)
})

test('fails the call at once if its HTTP server is killed, and works after a restart', async () => {
  const server = await overHttp()
  const mcp = await connect({ url: server.url })
  const held = call(mcp, 'hold', { id: 'a' })
  await held.hasYielded
  await server.kill()
  expect(await codeOf(held.output)).toBe('mcp_connection_lost')
  expect(await failure(call(mcp, 'pid').output)).toMatchObject({
    code: 'mcp_unreachable',
    message: `the MCP server at ${new URL(server.url).host} could not be reached`,
  })
  await server.restart()
  // The session is gone with the process: the call is repeated in a new one.
  expect(await call(mcp, 'add', { a: 1, b: 1 }).output).toEqual({ sum: 2 })
})

test('reports a truncated answer of the newer protocol at once, and the next call works', async () => {
  const server = await overHttp()
  const mcp = await connect({ url: server.modernUrl, versionNegotiation: { mode: 'auto' } })
  const held = call(mcp, 'hold', { id: 'a' })
  await held.hasYielded
  await server.kill()
  expect(await codeOf(held.output)).toBe('mcp_connection_lost')
  await server.restart()
  expect(await call(mcp, 'add', { a: 1, b: 1 }).output).toEqual({ sum: 2 })
})

test('close ends the server process, even if it ignores SIGTERM', async () => {
  const willing = await connect(sdkServer)
  const pid = Number(await call(willing, 'pid').output)
  await willing.close()
  expect(isAlive(pid)).toBe(false)
  const stubborn = await connect(brokenServer('stubborn'))
  const other = Number(await call(stubborn, 'pid').output)
  await stubborn.close()
  await expect.poll(() => isAlive(other)).toBe(false)
})

test.each([
  ['never answers', 'mute'],
  ['never sends its list of tools', 'unlisted'],
])('does not wait for a server that %s, nor for its exit', async (_, how) => {
  const processes = startedProcesses()
  expect(await failure(connectMcp({ ...brokenServer(how), connectTimeoutMs: 700 }))).toMatchObject({
    code: 'mcp_unreachable',
    retryable: true,
    message: 'the MCP server node did not answer within 700 ms',
  })
  // It ignores the request to end, and is killed seconds later.
  const [server] = processes
  expect([processes.length, server?.exitCode, server?.signalCode]).toEqual([1, null, null])
  server?.kill('SIGKILL')
})

test('does not wait for an address that accepts connections and never answers', async () => {
  const http = createServer(() => {})
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    http.closeAllConnections()
    http.close()
  })
  const { port } = http.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/`
  expect(await failure(connectMcp({ url, connectTimeoutMs: 100 }))).toMatchObject({ code: 'mcp_unreachable' })
})

test('reports servers that cannot be started or found, without arguments, paths or bodies', async () => {
  const nowhere = await failure(connectMcp({ command: '/opt/nowhere/tool', args: ['--key', 'hunter2'] }))
  expect(nowhere).toMatchObject({ code: 'mcp_unreachable', message: 'the MCP server tool could not be reached' })
  const exitError = await failure(connectMcp({ command: process.execPath, args: ['-e', '0'] }))
  expect(exitError).toMatchObject({
    code: 'mcp_unreachable',
    message: 'the MCP server node could not be started or reached',
  })
  const server = await overHttp()
  const refused = await failure(
    connectMcp({ url: `${server.url}?key=hunter2`, headers: () => ({ authorization: 'Bearer wrong' }) }),
  )
  expect(refused.code).toBe('mcp_unauthorized')
  expect(refused.message).not.toMatch(/hunter2|secret-body|\/mcp/)
})

test.each([
  ['without an end', 'endless', 'mcp_protocol_error', /more than 64 pages/],
  ['that is not a list', 'listless', 'mcp_protocol_error', /sent an answer that violates the protocol/],
])('reports a list of tools %s as a connection error', async (_, how, code, message) => {
  expect(await failure(connectMcp(brokenServer(how)))).toMatchObject({ code, message: expect.stringMatching(message) })
})

test('skips and lists unusable tools, and the others work with any name', async () => {
  const reported: unknown[] = []
  const logger = { warn: (_: string, fields: object) => void reported.push(fields), error() {} }
  const mcp = await connect({ ...brokenServer(), logger })
  const names = mcp.tools.map(({ name }) => name)
  expect(names).toEqual([
    'bare',
    'twice',
    '__proto__',
    'constructor',
    'read_file_1214148e',
    'read_file_dd32cdf5',
    '_ber',
    'later',
    'same',
    'other',
    'liar',
    'silent',
    'refuse',
    'odd',
    'chatty',
    'huge',
    'die',
    'pid',
    'hasty',
    'evil',
  ])
  expect(mcp.skipped).toMatchObject([
    { name: 'twice', reason: 'another tool has the same name' },
    { name: '', reason: 'it has no name' },
    { name: '', reason: 'it has no name' },
    { name: 'unresolved', reason: 'its input schema cannot be used: it has a reference without a target' },
    { name: 'mistyped', reason: 'its input schema is not of type object' },
    { name: 'listed', reason: 'its input schema is not of type object' },
    {
      name: 'vast',
      reason: expect.stringContaining(
        'its input schema cannot be used: expected at most 131072 characters of JSON, found',
      ),
    },
  ])
  expect(reported).toEqual(mcp.skipped)
  for (const [name, value] of [
    ['bare', 'bare'],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
    ['read_file_1214148e', 'read file'],
    ['_ber', 'über'],
  ] as const) {
    expect(await call(mcp, name, { a: 1 }).output).toBe(`${value} {"a":1}`)
  }
})

test('keeps two schemas with the same id apart', async () => {
  const { tools } = await connect(brokenServer())
  const problem = (name: string) => {
    const { inputSchema: input } = tools.find(tool => tool.name === name) as (typeof tools)[number]
    return input['~standard'].validate({})
  }
  expect(await problem('same')).toMatchObject({ issues: [{ message: expect.stringMatching(/"a"/) }] })
  expect(await problem('other')).toMatchObject({ issues: [{ message: expect.stringMatching(/"b"/) }] })
})

test('fails a call with a typed error for a malformed answer, and keeps the connection open', async () => {
  const mcp = await connect(brokenServer())
  const refused = await failure(call(mcp, 'refuse').output)
  expect(refused.code).toBe('mcp_protocol_error')
  expect(refused.message).toMatch(/^the MCP server node refused: .*no !{900,1000}.*…$/)
  expect(await failure(call(mcp, 'odd').output)).toMatchObject({
    code: 'mcp_protocol_error',
    message: 'the MCP server node sent an answer that violates the protocol',
  })
  expect(await failure(call(mcp, 'liar').output)).toMatchObject({
    code: 'tool_output_invalid',
    message: expect.stringMatching(/^the output does not match the schema that the server declared: .*number/),
  })
  expect(await call(mcp, 'twice').output).toBe('first')
  expect(await call(mcp, 'chatty').output).toBe('chatted')
  expect(await call(mcp, 'bare').output).toBe('bare {}')
})

test('yields progress that arrives together with the answer before it', async () => {
  const hasty = call(await connect(brokenServer()), 'hasty')
  expect(await hasty.output).toBe('done')
  expect(hasty.progress).toEqual([{ progress: 1 }])
})

test('close ends a connection that is being reopened', async () => {
  const mcp = await connect(sdkServer)
  const held = call(mcp, 'hold', { id: 'a' })
  await held.hasYielded
  process.kill(Number(await call(mcp, 'pid').output), 'SIGKILL')
  expect(await codeOf(held.output)).toBe('mcp_connection_lost')
  const next = call(mcp, 'pid')
  await mcp.close()
  expect(await codeOf(next.output)).toBe('mcp_closed')
})

test('fails only one call after an endless message or a crash, and starts a new process', async () => {
  const mcp = await connect(brokenServer())
  expect(await codeOf(call(mcp, 'huge').output)).toBe('tool_output_too_large')
  expect(await call(mcp, 'bare').output).toBe('bare {}')
  expect(await codeOf(call(mcp, 'die').output)).toBe('mcp_connection_lost')
  expect(await call(mcp, 'bare').output).toBe('bare {}')
})

test('fails all concurrent calls after an endless message, with the reason', async () => {
  const mcp = await connect(brokenServer('stubborn'))
  const pid = await call(mcp, 'pid').output
  const silent = call(mcp, 'silent')
  const huge = call(mcp, 'huge')
  for (const { output } of [silent, huge]) {
    expect(await failure(output)).toMatchObject({
      code: 'mcp_connection_lost',
      message: expect.stringMatching(/sent more than 10485760 bytes .*: the call may have taken effect$/),
    })
  }
  // The process that does not exit gets no further calls.
  expect(isAlive(Number(pid))).toBe(true)
  const other = await call(mcp, 'pid').output
  expect(other).not.toBe(pid)
  for (const each of [pid, other]) process.kill(Number(each), 'SIGKILL')
})

test('sends regular expressions of a server to the model, and never runs them', async () => {
  const mcp = await connect(brokenServer())
  const evil = mcp.tools.find(({ name }) => name === 'evil')
  expect(evil).toMatchObject({ jsonSchema: { properties: { x: { type: 'string', pattern: '^(a+)+$' } } } })
  const x = `${'a'.repeat(60)}!`
  expect(await evil?.inputSchema['~standard'].validate({ x })).toEqual({ value: { x } })
  expect(await evil?.inputSchema['~standard'].validate({ x: 1 })).toMatchObject({ issues: [{}] })
  expect(await call(mcp, 'evil', { x }).output).toEqual({ x })
})
