// MCP servers in their own processes, and calls of their tools without an agent.

import { type ChildProcess, spawn } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { quiet } from '../api/test-runtime.fixture.ts'
import { cachedEnv, NODE_COMPILE_CACHE } from '../child-env.fixture.ts'
import type { ToolContext } from '../define/tool.ts'
import { connectMcp, type Mcp, type McpOptions } from './connect-mcp.ts'
import type { McpStdio } from './endpoint.ts'

const fileOf = (name: string) => new URL(`${name}.fixture.ts`, import.meta.url).pathname

/** The error of a promise; `none` if it resolves. */
export const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    error => error,
  )

/** The server that uses the SDK, over stdio. */
export const sdkServer: McpStdio = {
  command: process.execPath,
  args: [fileOf('mcp-server'), 'stdio'],
  env: { NODE_COMPILE_CACHE },
}

/** The server that violates the protocol. */
export const brokenServer = (mode = 'plain'): McpStdio => ({
  command: process.execPath,
  args: [fileOf('broken-mcp-server'), mode],
  stderr: 'ignore',
})

/** The child processes that this test starts from now on. */
export function startedProcesses(): readonly ChildProcess[] {
  const started: ChildProcess[] = []
  const listener = (message: unknown) => void started.push((message as { process: ChildProcess }).process)
  subscribe('child_process', listener)
  onTestFinished(() => void unsubscribe('child_process', listener))
  return started
}

/** A connection that is closed when the test is over. */
export async function connect(options: McpOptions): Promise<Mcp> {
  const mcp = await connectMcp({ logger: quiet, ...options })
  onTestFinished(() => mcp.close())
  return mcp
}

export interface HttpServer {
  readonly url: string
  /** URL of the same server with the newer protocol, which has no sessions. */
  readonly modernUrl: string
  /** Kills it with SIGKILL and waits for its exit. */
  kill(): Promise<void>
  /** Starts it again on the same port. */
  restart(): Promise<void>
}

/** Starts the server that uses the SDK, over streamable HTTP on loopback, until the test is over. */
export async function overHttp(): Promise<HttpServer> {
  const server = await startHttpServer()
  onTestFinished(() => server.kill())
  return server
}

/** As `overHttp`, but the caller kills the server. */
export async function startHttpServer(): Promise<HttpServer> {
  let child: ChildProcess | undefined
  let port = 0
  const kill = async () => {
    const dying = child
    child = undefined
    if (dying === undefined) return
    dying.kill('SIGKILL')
    if (dying.exitCode === null && dying.signalCode === null) await once(dying, 'exit')
  }
  const restart = async () => {
    const args = [fileOf('mcp-server'), 'http', `${port}`]
    const started = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env: cachedEnv() })
    child = started
    const [line] = await once(createInterface({ input: started.stdout }), 'line')
    port = Number(line)
  }
  await restart()
  return { url: `http://127.0.0.1:${port}/mcp`, modernUrl: `http://127.0.0.1:${port}/modern`, kill, restart }
}

/** A call of a tool. */
export interface ToolCall {
  /** Resolves to its output, or rejects with its error. */
  readonly output: Promise<unknown>
  /** The values that it has yielded so far. */
  readonly progress: readonly unknown[]
  /** Resolves with the first yielded value. */
  readonly hasYielded: Promise<void>
}

/** Calls a tool by its name, as the runtime would. */
export function call(mcp: Mcp, name: string, input: unknown = {}, context: Partial<ToolContext> = {}): ToolCall {
  const tool = mcp.tools.find(each => each.name === name)
  if (tool === undefined) throw new Error(`there is no tool ${name}`)
  const { promise: hasYielded, resolve } = Promise.withResolvers<void>()
  const progress: unknown[] = []
  const run = async () => {
    const defaults = { abortSignal: new AbortController().signal, idempotencyKey: 'key', ...context } as ToolContext
    const execution = tool.execute(input, defaults) as AsyncGenerator
    for (;;) {
      const { done, value } = await execution.next()
      if (done) return value
      progress.push(value)
      resolve()
    }
  }
  const output = run()
  output.catch(() => {})
  return { output, progress, hasYielded }
}
