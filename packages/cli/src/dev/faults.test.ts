import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import {
  appFile,
  devHost,
  fault,
  followEntries,
  HostFollower,
  isEnd,
  openResponse,
  requestRun,
} from './dev-host.fixture.ts'

const SSE = { accept: 'text/event-stream' }

/** The text of a response until `isEnough` or its end. */
async function read(reply: IncomingMessage, isEnough: (text: string) => boolean): Promise<string> {
  let text = ''
  for await (const piece of reply.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    text += piece
    if (isEnough(text)) return text
  }
  return text
}

const caughtUp = (text: string): boolean => text.includes('"caught-up"')
const ended = (text: string): boolean => text.includes('"run-finished"')

test('a drop resets the open replies of its tab only', async () => {
  const { url } = await devHost(appFile())
  await requestRun(url, 's', 'echo', 'Hello')
  await followEntries(url, 's', isEnd)
  const stream = `${url}/api/sessions/s/stream`
  const [sameTab, also, other, nobodys] = await Promise.all([
    openResponse(stream, { ...SSE, 'x-studio-tab': 'mine' }),
    openResponse(`${url}/studio/host`, { 'x-studio-tab': 'mine' }),
    openResponse(stream, { ...SSE, 'x-studio-tab': 'other' }),
    openResponse(stream, SSE),
  ])
  for (const reply of [sameTab, other, nobodys]) await read(reply, caughtUp)
  const cut = Promise.all([sameTab, also].map(reply => once(reply.resume(), 'error')))
  expect((await fault(url, { fault: 'drop', tab: 'mine' })).status).toBe(202)
  // Reset and not ended: a complete chunked response has a last chunk.
  expect((await cut).map(([error]) => error.message)).toEqual(['aborted', 'aborted'])
  // The others continue.
  await requestRun(url, 's', 'echo', 'Again')
  for (const reply of [other, nobodys]) expect(await read(reply, ended)).toContain('Again')
})

test('a delay holds all data of its tab in order, also of open replies', async () => {
  const { url } = await devHost(appFile())
  const host = new HostFollower(url)
  await requestRun(url, 's', 'echo', 'Hello')
  await followEntries(url, 's', isEnd)
  const stream = `${url}/api/sessions/s/stream`
  const [held, free] = await Promise.all(
    ['held', 'free'].map(tab => openResponse(stream, { ...SSE, 'x-studio-tab': tab })),
  )
  if (!held || !free) throw new Error('not opened')
  for (const reply of [held, free]) await read(reply, caughtUp)
  expect((await fault(url, { fault: 'delay', tab: 'held', ms: 5_000 })).status).toBe(202)
  expect((await host.until(({ delays }) => Object.keys(delays).length > 0)).delays).toEqual({ held: 5_000 })

  const order: string[] = []
  const late = read(held, text => {
    if (order.at(-1) !== 'held' && text.includes('"run-requested"')) order.push('held')
    return ended(text)
  })
  await requestRun(url, 's', 'echo', 'Again')
  const soon = await read(free, ended)
  order.push('free')
  const response = await late
  // The free tab got everything before the delayed tab.
  expect(order).toEqual(['free', 'held'])
  const sequences = (text: string) => [...text.matchAll(/\{"sequence":(\d+)/g)].map(([, n]) => Number(n))
  expect(sequences(response)).toEqual(sequences(soon))

  expect((await fault(url, { fault: 'delay', tab: 'held', ms: 0 })).status).toBe(202)
  await host.until(({ delays }) => Object.keys(delays).length === 0)
})

test('delays survive a restart of the server', async () => {
  const { url } = await devHost(appFile())
  const host = new HostFollower(url)
  await fault(url, { fault: 'delay', tab: 't', ms: 1 })
  await fault(url, { fault: 'restart-server' })
  expect((await host.until(({ server }) => server.starts === 2)).delays).toEqual({ t: 1 })
})

/** The status line of the response to a raw request. */
async function raw(url: string, text: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write(text.replaceAll('\n', '\r\n'))
  const [bytes] = await once(socket, 'data')
  return String(bytes).split('\r\n', 1)[0] ?? ''
}

test('refuses faults by a foreign host or origin, or a wrong method, type or body', async () => {
  const { url } = await devHost(appFile("store: 'memory:'"))
  const { host } = new URL(url)
  const drop = { fault: 'drop', tab: 't' }
  const refused: [number, Promise<Response>][] = [
    [403, fault(url, drop, { origin: 'https://evil.example' })],
    [403, fault(url, drop, { origin: 'null' })],
    [403, fault(url, drop, { origin: `https://${host}` })],
    [403, fault(url, drop, { origin: 'http://127.0.0.1:1' })],
    [403, fault(url, drop, { 'sec-fetch-site': 'cross-site' })],
    [403, fault(url, drop, { 'sec-fetch-site': 'same-site' })],
    [415, fault(url, drop, { 'content-type': 'text/plain' })],
    [415, fault(url, drop, { 'content-type': 'application/x-www-form-urlencoded' })],
    [415, fault(url, drop, { 'content-type': 'application/jsonp' })],
    [413, fault(url, `{"fault":"drop","tab":"${'t'.repeat(5_000)}"}`)],
    // Two bytes per character: 3,000 characters, 6,000 bytes.
    [413, fault(url, `{"fault":"drop","tab":"${'é'.repeat(3_000)}"}`)],
    [405, fetch(`${url}/studio/faults`)],
    [405, fetch(`${url}/studio/host`, { method: 'POST' })],
    [404, fetch(`${url}/studio/else`)],
  ]
  for (const [status, response] of refused) {
    const reply = await response
    expect(reply.status).toBe(status)
    expect(await reply.json()).toEqual({
      error: { code: expect.any(String), message: expect.any(String), retryable: false },
    })
  }
  const bad: unknown[] = [
    'no json',
    '',
    null,
    5,
    [],
    {},
    { fault: 'explode' },
    { fault: 'drop' },
    { fault: 'drop', tab: '' },
    { fault: 'drop', tab: 'a b' },
    { fault: 'drop', tab: 't'.repeat(65) },
    { fault: 'drop', tab: 't', ms: 1 },
    { fault: 'drop', tab: 't', more: 1 },
    { fault: 'delay', tab: 't' },
    { fault: 'delay', tab: 't', ms: -1 },
    { fault: 'delay', tab: 't', ms: 10_001 },
    { fault: 'delay', tab: 't', ms: 1.5 },
    { fault: 'delay', tab: 't', ms: '5' },
    { fault: 'kill-worker', tab: 't' },
    { fault: '__proto__' },
  ]
  for (const body of bad) {
    const reply = await fault(url, body)
    expect([body, reply.status]).toEqual([body, 400])
    expect(await reply.json()).toMatchObject({ error: { code: 'body_invalid' } })
  }
  expect(await raw(url, 'GET /studio/host HTTP/1.1\nHost: evil.example\n\n')).toContain('403')
  expect(await raw(url, 'GET /studio/host HTTP/1.1\nHost: localhost.evil.example\n\n')).toContain('403')
  expect(await raw(url, `GET /studio/host HTTP/1.1\nHost: ${host}\nHost: evil.example\n\n`)).toMatch(/40[03]/)
  expect(await raw(url, `GET http://evil.example/studio/host HTTP/1.1\nHost: ${host}\n\n`)).toContain('400')
  // The studio page and local programs are allowed.
  expect((await fault(url, drop, { origin: url, 'sec-fetch-site': 'same-origin' })).status).toBe(202)
  expect((await fault(url, drop)).status).toBe(202)
})
