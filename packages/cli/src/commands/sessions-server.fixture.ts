// A server on a SQLite file, with agents that fill its sessions.

import { agent, ProviderError, scriptedModel, tool } from '@millrace/runtime'
import { type Listening, millrace } from '@millrace/server'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { workFolder } from '../millrace-command.fixture.ts'

const echo = agent({ name: 'echo', model: scriptedModel(({ lastText }) => ({ text: `You said: ${lastText}` })) })
const look = tool({ name: 'look', inputSchema: z.object({ at: z.string() }), execute: ({ at }) => `a mill, at ${at}` })
const send = tool({ name: 'send', inputSchema: z.object({ to: z.string() }), approval: true, execute: () => 'sent' })
const guide = agent({
  name: 'guide',
  model: scriptedModel([
    { reasoning: 'Let me see.', calls: [{ name: 'look', input: { at: 'the river' } }] },
    { text: 'There is a mill.' },
  ]),
  tools: [look],
})
const clerk = agent({
  name: 'clerk',
  model: scriptedModel([{ calls: [{ name: 'send', input: { to: 'ann' } }] }]),
  tools: [send],
})
let isFirst = true
const flaky = agent({
  name: 'flaky',
  model: scriptedModel(
    () => {
      if (!isFirst) return { text: 'It was the wind.' }
      isFirst = false
      const error = new ProviderError('provider_overloaded', 'the provider is overloaded', { retryable: true })
      return { text: 'It was the', error }
    },
    // Slow enough that words are written before the discard.
    { paceMs: 50 },
  ),
})

export interface SessionsServer {
  readonly cwd: string
  readonly server: Listening
  /** The value of `--store`. */
  readonly store: string
  /** Runs an agent in a session until the run ends or pauses. */
  runAgent(sessionId: string, agent: string, input: string): Promise<void>
  /** Restarts the server on the same port. */
  restart(): Promise<void>
}

/** A server with its own store file, closed after the test. */
export async function serveSessions(): Promise<SessionsServer> {
  const cwd = workFolder({})
  const store = `sqlite:${cwd}/mill.db`
  isFirst = true
  const serve = (port: number) =>
    millrace({
      store,
      agents: [echo, guide, clerk, flaky],
      backoff: { firstMs: 1 },
      logger: { warn() {}, error() {} },
    }).listen({ port })
  let server = await serve(0)
  onTestFinished(() => server.close())
  return {
    cwd,
    store: 'sqlite:mill.db',
    get server() {
      return server
    },
    async runAgent(sessionId, agent, input) {
      const reply = await fetch(`${server.url}/api/sessions/${encodeURIComponent(sessionId)}/runs`, {
        method: 'POST',
        // A kept-alive socket would belong to the old server after a restart.
        headers: { 'content-type': 'application/json', connection: 'close' },
        body: JSON.stringify({ agent, input }),
      })
      const text = await reply.text()
      if (!text.includes('"type":"end"')) throw new Error(`${agent} did not end or pause: ${text}`)
    },
    async restart() {
      const { port } = server
      await server.close()
      server = await serve(port)
    },
  }
}
