import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HttpAgent } from '@ag-ui/client'
import { resumable } from '@millrace/dialects/ag-ui'
import { expect, onTestFinished, test } from 'vitest'
import { proxy } from '../../scripts/faults/proxy.ts'
import { type Backend, openBackend } from '../backend.fixture.ts'
import {
  expectNoWarnings,
  expectViewOf,
  openClient,
  silenceErrors,
  THREAD,
  userMessage,
} from './ag-ui-client.fixture.ts'

const Agent = resumable(HttpAgent)

/** A fault proxy to the backend. */
async function openProxy(backend: Backend) {
  const proxyServer = await proxy(backend.url)
  onTestFinished(() => proxyServer.stop())
  return { proxyServer, backend: { url: proxyServer.url(backend.url) } }
}

/** Collects unhandled rejections in a test that expects some. */
function leftRejections(): unknown[] {
  const left: unknown[] = []
  const listeners = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', reason => void left.push(reason))
  onTestFinished(() => {
    process.removeAllListeners('unhandledRejection')
    for (const listener of listeners) process.on('unhandledRejection', listener)
  })
  return left
}

/** Resolves when the agent's last message has this text. */
function received(agent: HttpAgent, text: string): Promise<void> {
  return new Promise(resolve => {
    const { unsubscribe } = agent.subscribe({
      onMessagesChanged: ({ messages }) => {
        if (!messages.some(({ content }) => content === text)) return
        unsubscribe()
        resolve()
      },
    })
  })
}

test('resumes a connection that was cut in the middle of an answer without repeating text', async () => {
  expectNoWarnings()
  const backend = await openBackend()
  const { proxyServer, backend: proxied } = await openProxy(backend)
  const { agent, events } = openClient(proxied, 'holder', [userMessage('Count')], Agent)
  const half = received(agent, 'one two ')
  const run = agent.runAgent({ runId: 'theirs' })
  await half
  proxyServer.cut()
  await proxyServer.event('connect')
  backend.gate.open()
  await run
  expect(agent.messages.at(-1)?.content).toBe('one two three four')
  expect(events.filter(({ type }) => type === 'RUN_STARTED')).toHaveLength(1)
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', runId: 'theirs', outcome: { type: 'success' } })
  expect(backend.calls['holder']).toBe(1)
  await expectViewOf(backend, agent)
})

test.each([0, 60, 200])('resumes a response that was cut after %i bytes of its head, and runs once', async cutAt => {
  expectNoWarnings()
  const backend = await openBackend()
  const { proxyServer, backend: proxied } = await openProxy(backend)
  const { agent, events } = openClient(proxied, 'seller', [userMessage('Sell it')], Agent)
  proxyServer.next({ down: { cutAt } })
  await agent.runAgent({ runId: 'first' })
  expect(proxyServer.counts().connections).toBe(2)
  const [interrupt] = agent.pendingInterrupts
  proxyServer.cut()
  proxyServer.next({ down: { cutAt } })
  const resume = [{ interruptId: interrupt?.id as string, status: 'resolved' as const, payload: { approved: true } }]
  await agent.runAgent({ runId: 'second', resume })
  expect(events.filter(({ type }) => type === 'RUN_STARTED').map(({ runId }) => runId)).toEqual(['first', 'second'])
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', runId: 'second', outcome: { type: 'success' } })
  expect(backend.calls['seller']).toBe(2)
  await expectViewOf(backend, agent)
})

test('retries an unreachable server a few times', async () => {
  silenceErrors()
  const backend = await openBackend()
  const { proxyServer, backend: proxied } = await openProxy(backend)
  proxyServer.refuse(true)
  const { agent } = openClient(proxied, 'teller', [userMessage('Hello')], resumable(HttpAgent, { retries: 2 }))
  await expect(agent.runAgent()).rejects.toThrow()
  expect(backend.calls['teller']).toBeUndefined()
})

test('AG-UI’s own client does not reconnect: it reports a failed run, which continues on the server', async () => {
  silenceErrors()
  const left = leftRejections()
  const backend = await openBackend()
  const { proxyServer, backend: proxied } = await openProxy(backend)
  const { agent } = openClient(proxied, 'holder', [userMessage('Count')])
  const half = received(agent, 'one two ')
  const run = agent.runAgent()
  await half
  proxyServer.cut()
  await expect(run).rejects.toThrow()
  await expect.poll(() => left, { message: 'it leaves an unhandled rejection' }).toHaveLength(1)
  backend.gate.open()
  const late = openClient(backend, 'holder', [], Agent)
  await late.agent.connectAgent()
  expect(late.agent.messages.at(-1)?.content).toBe('one two three four')
  expect(backend.calls['holder']).toBe(1)
})

test('AG-UI’s own client leaves an unhandled rejection when any server cuts its stream', async () => {
  silenceErrors()
  const left = leftRejections()
  // A server without any code of Millrace.
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n', () => response.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const agent = new HttpAgent({ url: `http://127.0.0.1:${port}` })
  await expect(agent.runAgent()).rejects.toThrow()
  await expect.poll(() => left, { message: 'it leaves an unhandled rejection' }).toHaveLength(1)
})

test('connectAgent follows a run of another client from its start, with the history', async () => {
  expectNoWarnings()
  const backend = await openBackend()
  const first = openClient(backend, 'teller', [userMessage('Hello')])
  await first.agent.runAgent()
  const holder = openClient(backend, 'holder', [...first.agent.messages, userMessage('Count')])
  const half = received(holder.agent, 'one two ')
  const run = holder.agent.runAgent()
  await half
  const other = openClient(backend, 'holder', [], Agent)
  const halfAgain = received(other.agent, 'one two ')
  const following = other.agent.connectAgent()
  await halfAgain
  backend.gate.open()
  await Promise.all([run, following])
  await expectViewOf(backend, other.agent)
  expect(other.agent.messages).toHaveLength(5)
})

test('connectAgent to a paused thread emits its interrupts, and to an unknown one nothing', async () => {
  expectNoWarnings()
  const backend = await openBackend()
  const { agent } = openClient(backend, 'seller', [userMessage('Sell it')])
  await agent.runAgent()
  const other = openClient(backend, 'seller', [], Agent)
  await other.agent.connectAgent()
  expect(other.agent.pendingInterrupts).toEqual(agent.pendingInterrupts)
  const [interrupt] = other.agent.pendingInterrupts
  const resume = [{ interruptId: interrupt?.id as string, status: 'resolved' as const, payload: { approved: true } }]
  await other.agent.runAgent({ resume })
  await expectViewOf(backend, other.agent)
  const unknown = openClient(backend, 'seller', [], Agent)
  unknown.agent.threadId = 'unknown'
  await unknown.agent.connectAgent()
  expect([unknown.agent.messages, unknown.events]).toEqual([[], []])
  const none = openClient(backend, 'seller')
  await none.agent.connectAgent()
  expect(none.events, 'AG-UI’s own client sends no request').toEqual([])
})

test('stopRun stops the run, which ends as cancelled and keeps its text', async () => {
  expectNoWarnings()
  const backend = await openBackend()
  const { agent, events } = openClient(backend, 'holder', [userMessage('Count')], Agent)
  const half = received(agent, 'one two ')
  const run = agent.runAgent()
  await half
  await agent.stopRun()
  await run
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } })
  expect(agent.messages.at(-1)?.content).toBe('one two ')
  expect((await backend.view(THREAD)).runs[0]?.status).toBe('interrupted')
})

test('abortRun disconnects without stopping the run, and a copy of the agent follows it', async () => {
  const backend = await openBackend()
  const { agent } = openClient(backend, 'holder', [userMessage('Count')], Agent)
  const half = received(agent, 'one two ')
  const run = agent.runAgent()
  await half
  const copy = agent.clone()
  copy.addMessage({ id: 'old', role: 'reasoning', content: 'What was that?' })
  agent.abortRun()
  await run
  backend.gate.open()
  await copy.connectAgent()
  expect(copy.messages.at(-1)?.content).toBe('one two three four')
  await expectViewOf(backend, copy)
})

test('fails the run if the connection cannot be restored', async () => {
  expectNoWarnings()
  const backend = await openBackend()
  const { proxyServer, backend: proxied } = await openProxy(backend)
  const { agent, events } = openClient(proxied, 'holder', [userMessage('Count')], resumable(HttpAgent, { retries: 2 }))
  const half = received(agent, 'one two ')
  const run = agent.runAgent()
  await half
  proxyServer.refuse(true)
  proxyServer.cut()
  await run
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'connection_lost' })
  backend.gate.open()
})
