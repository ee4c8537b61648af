import { beforeEach, describe, expect, test } from 'vitest'
import { createConnection } from '../connection/page-connection.ts'
import type { ChatError } from '../error/chat-error.ts'
import type { ChatFinish } from './callbacks.ts'
import { finished, Mill, shown, until } from './chat-mill.fixture.ts'

let mill: Mill
beforeEach(() => {
  mill = new Mill()
})

describe('a session in which nobody has spoken', () => {
  test('is looked for again, in silence, until somebody has', async () => {
    const one = mill.chat({ session: 's' })
    expect([one.state.status, one.state.isLoading]).toEqual(['ready', true])
    await until(one, () => !one.state.isLoading)
    const statuses: string[] = []
    one.subscribe(() => void statuses.push(one.state.connection.status))
    expect(one.state.connection).toEqual({ status: 'idle', reason: 'nobody has said anything yet' })
    const before = mill.bodies('GET ').length
    await expect.poll(() => mill.bodies('GET ').length).toBeGreaterThanOrEqual(before + 2)
    expect(statuses).toEqual([])
    await mill.chat({ session: 's' }).sendMessage('Hello')
    await until(one, () => shown(one).includes('assistant sent: You said: Hello'))
  })

  test('is there at once when another chat of the page has', async () => {
    const connection = createConnection({ api: 'http://localhost:4400/api', fetch: mill.fetch })
    const one = mill.chat({ session: 's', connection })
    await until(one, () => !one.state.isLoading)
    const looked = mill.bodies('GET ').length
    const other = mill.chat({ connection, session: 's' })
    await until(other, () => !other.state.isLoading)
    await other.sendMessage('Hello')
    const asked = () => mill.asked.map(({ what }) => what)
    // No timer was waited for: it asked before anything else could have come.
    const next = asked().indexOf('POST /runs') + 1
    await until(one, () => shown(one).includes('assistant sent: You said: Hello'))
    expect(looked).toBeGreaterThan(0)
    expect(asked().slice(next, next + 2)).toContain('GET ')
  })
})

test('a session that cannot be followed any more is an error, told once, until it can', async () => {
  const connection = createConnection({ api: 'http://localhost:4400/api', fetch: mill.fetch })
  const chat = mill.chat({ connection })
  const errors: ChatError[] = []
  const finishes: ChatFinish[] = []
  chat.callbacks = { onError: error => void errors.push(error), onFinish: finish => void finishes.push(finish) }
  await chat.sendMessage('Slowly')
  await until(chat, () => chat.state.status === 'streaming' && chat.state.connection.status === 'live')
  const error = { code: 'forbidden', message: 'Not yours.', retryable: false }
  let refused = 0
  mill.meddle = what => {
    if (!what.endsWith('/stream')) return undefined
    refused++
    return Response.json({ error }, { status: 403 })
  }
  mill.cut()
  await until(chat, () => chat.state.error !== undefined)
  expect(chat.state).toMatchObject({
    status: 'error',
    runId: undefined,
    error: { code: 'forbidden', source: 'stream' },
  })
  expect(finishes).toMatchObject([{ isDisconnect: true, isError: true, isAbort: false }])
  // Looking again, as when the tab is looked at, is no other error.
  connection.wake()
  await expect.poll(() => refused >= 2 && chat.state.connection.status === 'offline').toBe(true)
  mill.meddle = () => undefined
  await chat.sendMessage('Next')
  await until(chat, () => chat.state.connection.status === 'live')
  expect([chat.state.error, chat.state.status]).toEqual([undefined, 'streaming'])
  expect(errors).toHaveLength(1)
  const end = finished(chat)
  await chat.stop()
  await end
  await until(chat, () => shown(chat).includes('assistant sent: You said: Next'))
  expect(finishes.map(({ isDisconnect }) => isDisconnect)).toEqual([true, false])
  expect(new Set(finishes.map(({ runId }) => runId)).size).toBe(2)
})
