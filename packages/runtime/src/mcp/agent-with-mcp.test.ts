// An agent that calls tools of an MCP server in another process.

import { expect, test } from 'vitest'
import { logOf, testRuntime, until } from '../api/test-runtime.fixture.ts'
import { agent } from '../define/agent.ts'
import { caller, callsOf, chunksOf, recordingModel, resultsIn, runToEnd } from '../execute/agent/run-to-end.fixture.ts'
import { brokenServer, call, connect, overHttp, sdkServer } from './mcp-connections.fixture.ts'

test('calls tools of two servers, returns outputs and errors to the model, and shows progress to readers', async () => {
  const near = await connect({ ...sdkServer, prefix: 'near_' })
  const far = await connect({ url: (await overHttp()).url, prefix: 'far_' })
  const { agent: asking, modelCalls } = caller(
    [...near.tools, ...far.tools],
    [
      { id: '1', name: 'near_add', input: { a: 1, b: 2 } },
      { id: '2', name: 'far_add', input: { a: 3, b: 4 } },
      { id: '3', name: 'far_fail', input: { text: 'no such city' } },
      { id: '4', name: 'near_add', input: { a: 'one' } },
      { id: '5', name: 'near_meta' },
    ],
  )
  const { result } = await runToEnd(asking, {}, { runId: 'r' })
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(callsOf(result.message)).toMatchObject([
    { state: 'output-available', output: { sum: 3 }, executor: 'server' },
    { state: 'output-available', output: { sum: 7 } },
    { state: 'output-error', errorText: 'no such city', code: 'tool_execution_failed' },
    {
      state: 'output-error',
      errorText: expect.stringMatching(/^the input does not match its schema: .*a: expected number/),
    },
    { state: 'output-available', output: expect.stringContaining('s/r/5') },
  ])
  expect(resultsIn(modelCalls[1] as never)).toMatchObject({
    1: { type: 'json', value: { sum: 3 } },
    3: { type: 'error-text', value: 'no such city' },
  })
  // The model gets the server's description of a tool.
  expect(modelCalls[0]?.tools).toContainEqual(
    expect.objectContaining({
      name: 'near_add',
      description: 'Adds two numbers',
      inputSchema: expect.objectContaining({ required: ['a', 'b'] }),
    }),
  )
})

test('logs progress as preliminary outputs', async () => {
  const mcp = await connect(sdkServer)
  const { agent: holder } = caller(mcp.tools, [{ id: '1', name: 'hold', input: { id: 'x' } }])
  const runtime = testRuntime({ agents: [holder] })
  const run = await runtime.start({ session: 's', agent: holder, input: 'Go.' })
  const { chunk } = await until(run, 'tool-output-available')
  expect(chunk).toMatchObject({ preliminary: true, output: { progress: 1, total: 2, message: 'half of it' } })
  await call(mcp, 'release', { id: 'x' }).output
  const { message } = await run.result()
  expect(callsOf(message)).toMatchObject([{ state: 'output-available', output: 'x was let go' }])
  const outputs = chunksOf(await logOf(runtime, 's'), 'tool-output-available')
  expect(outputs.map(({ preliminary = false }) => preliminary)).toEqual([true, false])
})

test('cancels a call at the server when the run is stopped', async () => {
  const mcp = await connect(sdkServer)
  const { agent: holder } = caller(mcp.tools, [{ id: '1', name: 'hold', input: { id: 'x' } }])
  const runtime = testRuntime({ agents: [holder] })
  const run = await runtime.start({ session: 's', agent: holder, input: 'Go.' })
  await until(run, 'tool-output-available')
  await run.stop()
  const { status, message } = await run.result()
  expect(status).toBe('interrupted')
  expect(callsOf(message)).toMatchObject([{ state: 'output-error', code: 'interrupted' }])
  expect(await call(mcp, 'cancelled', { id: 'x' }).output).toBe('yes')
})

test('cancels a call at the server after its timeout, and the run continues', async () => {
  const mcp = await connect({ ...sdkServer, timeoutMs: 300 })
  const { agent: holder } = caller(mcp.tools, [{ id: '1', name: 'hold', input: { id: 'x' } }])
  const { result } = await runToEnd(holder)
  expect(result.status).toBe('completed')
  expect(callsOf(result.message)).toMatchObject([
    { state: 'output-error', code: 'tool_timeout', errorText: 'hold took longer than 300 ms' },
  ])
  expect(await call(mcp, 'cancelled', { id: 'x' }).output).toBe('yes')
})

test('reports a server that is killed during a call to the model, and the next call works', async () => {
  const mcp = await connect(sdkServer)
  const pid = Number(await call(mcp, 'pid').output)
  const { model, modelCalls } = recordingModel([
    { calls: [{ id: '1', name: 'hold', input: { id: 'x' } }] },
    { calls: [{ id: '2', name: 'add', input: { a: 20, b: 1 } }] },
    { text: 'Done.' },
  ])
  const caring = agent({ name: 'caring', model, tools: mcp.tools })
  const runtime = testRuntime({ agents: [caring] })
  const run = await runtime.start({ session: 's', agent: caring, input: 'Go.' })
  await until(run, 'tool-output-available')
  process.kill(pid, 'SIGKILL')
  const { status, message } = await run.result()
  expect(status).toBe('completed')
  expect(callsOf(message)).toMatchObject([
    { state: 'output-error', code: 'mcp_connection_lost' },
    { state: 'output-available', output: { sum: 21 } },
  ])
  expect(resultsIn(modelCalls[1] as never)).toMatchObject({
    1: { type: 'error-text', value: expect.stringMatching(/the call may have taken effect/) },
  })
})

test('waits for approval by a rule that gets the tool, and never runs a denied call', async () => {
  const mcp = await connect({
    ...sdkServer,
    approval: {
      rule: (_input, { tool, toolName }) => tool.annotations.readOnlyHint !== true && toolName === tool.name,
      timeoutMs: 60_000,
    },
  })
  const { agent: asking } = caller(mcp.tools, [
    { id: '1', name: 'add', input: { a: 1, b: 2 } },
    { id: '2', name: 'grow' },
    { id: '3', name: 'fail', input: { text: 'x' } },
  ])
  const runtime = testRuntime({ agents: [asking] })
  const run = await runtime.start({ session: 's', agent: asking, input: 'Go.', runId: 'r' })
  expect((await run.result()).status).toBe('paused')
  expect((await mcp.refresh()).map(({ name }) => name)).not.toContain('late')
  await runtime.answer('s', { kind: 'approval', id: 'r::2', approved: true })
  await runtime.answer('s', { kind: 'approval', id: 'r::3', approved: false })
  const { status, message } = await run.result()
  expect(status).toBe('completed')
  expect(callsOf(message)).toMatchObject([{ output: { sum: 3 } }, { output: 'grown' }, { state: 'output-denied' }])
})

test('supports tools named like inherited fields, and reports results that are too large', async () => {
  const mcp = await connect(brokenServer())
  const names = ['__proto__', 'constructor', 'twice', 'huge', 'refuse']
  const { result } = await runToEnd(
    caller(
      mcp.tools,
      names.map(name => ({ id: name, name, input: { a: 1 } })),
      { parallelCalls: 1 },
    ).agent,
  )
  expect(result.status).toBe('completed')
  expect(callsOf(result.message)).toMatchObject([
    { toolName: '__proto__', output: '__proto__ {"a":1}' },
    { toolName: 'constructor', output: 'constructor {"a":1}' },
    { toolName: 'twice', output: 'first' },
    { toolName: 'huge', code: 'tool_output_too_large' },
    { toolName: 'refuse', code: 'mcp_protocol_error' },
  ])
})

test('uses the tools of the last refresh if the agent computes them', async () => {
  const mcp = await connect(sdkServer)
  const { model } = recordingModel([
    { calls: [{ id: '1', name: 'grow', input: {} }] },
    { calls: [{ id: '2', name: 'late', input: {} }] },
    { text: 'Done.' },
  ])
  const growing = agent({
    name: 'growing',
    model,
    async tools() {
      return mcp.refresh()
    },
  })
  const { result } = await runToEnd(growing)
  expect(callsOf(result.message)).toMatchObject([{ output: 'grown' }, { output: 'late' }])
})
