import { beforeEach, describe, expect, test } from 'vitest'
import { createConnection } from '../connection/page-connection.ts'
import type { ChatError } from '../error/chat-error.ts'
import type { ChatFinish } from './callbacks.ts'
import { finished, InProcessServer, transcript, until } from './in-process-server.fixture.ts'

let server: InProcessServer
beforeEach(() => {
  server = new InProcessServer()
})

describe('a session without messages', () => {
  test('polls a session without messages, without a status change, until it has some', async () => {
    const one = server.chat({ session: 's' })
    expect([one.state.status, one.state.isLoading]).toEqual(['ready', true])
    await until(one, () => !one.state.isLoading)
    const statuses: string[] = []
    one.subscribe(() => void statuses.push(one.state.connection.status))
    expect(one.state.connection).toEqual({ status: 'idle', reason: 'the session has no messages yet' })
    const before = server.bodies('GET ').length
    await expect.poll(() => server.bodies('GET ').length).toBeGreaterThanOrEqual(before + 2)
    expect(statuses).toEqual([])
    await server.chat({ session: 's' }).sendMessage('Hello')
    await until(one, () => transcript(one).includes('assistant sent: You said: Hello'))
  })

  test('follows a session without messages at once when another chat of the page sends one', async () => {
    const connection = createConnection({ api: 'http://localhost:4400/api', fetch: server.fetch })
    const one = server.chat({ session: 's', connection })
    await until(one, () => !one.state.isLoading)
    const polled = server.bodies('GET ').length
    const other = server.chat({ connection, session: 's' })
    await until(other, () => !other.state.isLoading)
    await other.sendMessage('Hello')
    const routes = () => server.requests.map(({ route }) => route)
    // It waited for no timer: its request is one of the next two.
    const next = routes().indexOf('POST /runs') + 1
    await until(one, () => transcript(one).includes('assistant sent: You said: Hello'))
    expect(polled).toBeGreaterThan(0)
    expect(routes().slice(next, next + 2)).toContain('GET ')
  })
})

test('reports once that a session cannot be followed, and recovers', async () => {
  const connection = createConnection({ api: 'http://localhost:4400/api', fetch: server.fetch })
  const chat = server.chat({ connection })
  const errors: ChatError[] = []
  const finishes: ChatFinish[] = []
  chat.callbacks = { onError: error => void errors.push(error), onFinish: finish => void finishes.push(finish) }
  await chat.sendMessage('Slowly')
  await until(chat, () => chat.state.status === 'streaming' && chat.state.connection.status === 'live')
  const error = { code: 'forbidden', message: 'Not yours.', retryable: false }
  let refused = 0
  server.intercept = route => {
    if (!route.endsWith('/stream')) return undefined
    refused++
    return Response.json({ error }, { status: 403 })
  }
  server.cutStreams()
  await until(chat, () => chat.state.error !== undefined)
  expect(chat.state).toMatchObject({
    status: 'error',
    runId: undefined,
    error: { code: 'forbidden', source: 'stream' },
  })
  expect(finishes).toMatchObject([{ isDisconnect: true, isError: true, isAbort: false }])
  // Another refused attempt, as when the tab becomes visible, is not reported again.
  connection.wake()
  await expect.poll(() => refused >= 2 && chat.state.connection.status === 'offline').toBe(true)
  server.intercept = () => undefined
  await chat.sendMessage('Next')
  await until(chat, () => chat.state.connection.status === 'live')
  expect([chat.state.error, chat.state.status]).toEqual([undefined, 'streaming'])
  expect(errors).toHaveLength(1)
  const end = finished(chat)
  await chat.stop()
  await end
  await until(chat, () => transcript(chat).includes('assistant sent: You said: Next'))
  expect(finishes.map(({ isDisconnect }) => isDisconnect)).toEqual([true, false])
  expect(new Set(finishes.map(({ runId }) => runId)).size).toBe(2)
})
