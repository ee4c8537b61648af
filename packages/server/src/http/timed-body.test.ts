// Clients that send their bodies slowly, or stop.

import { connect } from 'node:net'
import { agent, scriptedModel } from '@millrace/runtime'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { MillraceOptions } from '../app/options.ts'
import { listen, ORIGIN, testApp } from '../app/test-app.fixture.ts'
import { replyIn } from './raw.fixture.ts'

const UPLOAD = '/api/sessions/s/uploads'
const START = '/api/sessions/s/runs'
const JSON_TYPE = 'application/json'

/** Sends the head of a request and some bytes of its body. If `isTrickle`, continues byte by byte. */
async function sendSlowly(options: MillraceOptions, path: string, type: string, body: string, isTrickle = false) {
  const { app, logged } = testApp(options)
  const { port } = await listen(app)
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const head = [`POST ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, `Content-Type: ${type}`, 'Content-Length: 1000000']
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  const trickle = () => socket.writable && socket.write(' ', () => setTimeout(trickle, 1))
  if (isTrickle) trickle()
  let received = ''
  socket.on('data', data => {
    received += data.toString('latin1')
  })
  socket.on('error', () => {})
  await new Promise<void>(resolve => socket.on('close', () => resolve()))
  return { reply: replyIn(received), received, app, logged }
}

describe.each([
  ['an upload', UPLOAD, 'image/png'],
  ['a JSON body', START, JSON_TYPE],
])('%s', (_, path, type) => {
  test.each([
    ['before its first byte', ''],
    ['in the middle', '{"agent":'],
  ])('is refused if its client stops %s, and the connection is closed', async (_when, body) => {
    const { reply, received, logged } = await sendSlowly({ limits: { bodyIdleMs: 20 } }, path, type, body)
    expect(reply).toMatchObject({ status: 408, code: 'body_timeout', count: 1 })
    expect(received).toContain('expected the next bytes within 20 ms')
    expect(received).toContain('"retryable":true')
    expect(logged.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('is refused after bodyMs, also if its client sends byte after byte', async () => {
    const { reply, received } = await sendSlowly({ limits: { bodyMs: 50 } }, path, type, '', true)
    expect(reply).toMatchObject({ status: 408, code: 'body_timeout' })
    expect(received).toContain('expected all of it within 50 ms')
  })

  test('has the same limits if authorize reads it', async () => {
    const authorize: MillraceOptions['authorize'] = async ({ request }) => {
      await request.text()
      return 'ann'
    }
    const { reply } = await sendSlowly({ limits: { bodyIdleMs: 20 }, authorize }, path, type, '{')
    expect(reply).toMatchObject({ status: 408, code: 'body_timeout' })
  })

  test('has the same limits without a socket', async () => {
    const { app } = testApp({ limits: { bodyIdleMs: 20 } })
    const body = new ReadableStream({ start: controller => controller.enqueue(new TextEncoder().encode('{')) })
    const init = { method: 'POST', headers: { 'content-type': type }, body, duplex: 'half' } as RequestInit
    const reply = await app.fetch(new Request(`${ORIGIN}${path}`, init))
    expect(reply.status).toBe(408)
    expect(await reply.json()).toMatchObject({ error: { code: 'body_timeout', retryable: true } })
  })
})

test('the bytes of a timed out body no longer count as in flight', async () => {
  const { app } = await sendSlowly(
    { limits: { bodyIdleMs: 20, inFlightBytes: 40 } },
    UPLOAD,
    'image/png',
    'x'.repeat(30),
  )
  const init = { method: 'POST', headers: { 'content-type': 'image/png' }, body: 'x'.repeat(30) }
  expect((await app.fetch(new Request(`${ORIGIN}${UPLOAD}`, init))).status).toBe(201)
})

test('does not count the time in which nothing reads the body', async () => {
  const slow = agent({ name: 'slow', model: scriptedModel([{ text: 'ok' }]) })
  const authorize: MillraceOptions['authorize'] = async () => {
    await new Promise(resolve => setTimeout(resolve, 60))
    return 'ann'
  }
  const { app } = testApp({ agents: [slow], authorize, limits: { bodyIdleMs: 20, bodyMs: 30 } })
  const body = JSON.stringify({ agent: 'slow', input: 'hello' })
  const init = { method: 'POST', headers: { 'content-type': JSON_TYPE }, body }
  expect((await app.fetch(new Request(`${ORIGIN}${START}`, init))).status).toBeLessThan(300)
})
