import { describe, expect, it, onTestFinished } from 'vitest'
import { isLoopback, isLoopbackAddress } from '../http/loopback-host.ts'
import { ORIGIN, openTwoUserServer } from '../routing/two-user-server.fixture.ts'

describe('a server without authorize', () => {
  const open = { authorize: undefined as never }
  const health = (headers: Record<string, string>, path = '/api/health') => ({ path, headers, user: null })

  it.each([
    [{}],
    [{ host: 'localhost' }],
    [{ host: '127.0.0.1:9000' }],
    [{ host: '[::1]:4400' }],
    [{ origin: ORIGIN }],
    [{ 'sec-fetch-site': 'same-origin' }],
    [{ 'sec-fetch-site': 'none' }],
    // A page of a dev server, whose proxy rewrites the host.
    [{ 'sec-fetch-site': 'same-origin', origin: 'http://localhost:5173' }],
    // The user who follows a link sees the result; the page with the link does not.
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
  ])('accepts local requests: %j', async headers => {
    expect((await openTwoUserServer(open).send(health(headers as Record<string, string>))).status).toBe(200)
  })

  it.each([
    [{ host: 'evil.example' }, 'host_forbidden'],
    [{ host: 'localhost.evil.example' }, 'host_forbidden'],
    [{ host: 'evil.example:4400' }, 'host_forbidden'],
    [{ host: '127.0.0.1.nip.example' }, 'host_forbidden'],
    [{ host: '192.168.1.1' }, 'host_forbidden'],
    [{ host: '[::]' }, 'host_forbidden'],
    [{ host: 'localhost, evil.example' }, 'host_forbidden'],
    [{ origin: 'http://evil.example' }, 'origin_forbidden'],
    [{ origin: 'http://localhost:3000' }, 'origin_forbidden'],
    [{ origin: 'https://localhost:4400' }, 'origin_forbidden'],
    [{ origin: 'http://127.0.0.1:4400' }, 'origin_forbidden'],
    [{ origin: 'http://localhost.evil:4400' }, 'origin_forbidden'],
    [{ origin: 'null' }, 'origin_forbidden'],
    [{ origin: '' }, 'origin_forbidden'],
    [{ origin: 'file://' }, 'origin_forbidden'],
    [{ 'sec-fetch-site': 'cross-site' }, 'origin_forbidden'],
    [{ 'sec-fetch-site': 'same-site' }, 'origin_forbidden'],
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }, 'origin_forbidden'],
    [{ origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' }, 'origin_forbidden'],
  ])('refuses %j', async (headers, code) => {
    const testServer = openTwoUserServer(open)
    const { status, json } = await testServer.send(health(headers as unknown as Record<string, string>))
    expect([status, (json as { error: { code: string } }).error.code]).toEqual([403, code])
  })

  it('checks the host of the URL too, if a framework sets no Host header', async () => {
    const { status } = await openTwoUserServer(open).send(health({}, 'http://evil.example/api/health'))
    expect(status).toBe(403)
  })

  it('refuses a change by navigation', async () => {
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    const { status } = await openTwoUserServer(open).send({ path: '/api/sessions', body: {}, headers, user: null })
    expect(status).toBe(403)
  })

  it('accepts pages of the origins in cors', async () => {
    const testServer = openTwoUserServer({ ...open, cors: { origins: ['http://localhost:3000'] } })
    const { status, headers } = await testServer.send(health({ origin: 'http://localhost:3000' }))
    expect([status, headers.get('access-control-allow-origin')]).toEqual([200, 'http://localhost:3000'])
    expect((await testServer.send(health({ origin: 'http://localhost:3001' }))).status).toBe(403)
  })

  it('warns once about the missing authorize', async () => {
    const testServer = openTwoUserServer(open)
    for (let i = 0; i < 3; i++) await testServer.send(health({}))
    expect(testServer.logged).toEqual([
      { message: expect.stringContaining('no authorize option'), fields: { code: 'authorize_missing' } },
    ])
  })

  it('warns about app.fetch only where it is used', async () => {
    const testServer = openTwoUserServer(open)
    const { url, close } = await testServer.app.listen({ port: 0 })
    onTestFinished(close)
    expect((await fetch(`${url}/api/health`)).status).toBe(200)
    await testServer.send(health({}))
    const messages = testServer.logged.map(({ message }) => message)
    expect(messages.map(message => message.includes('app.fetch'))).toEqual([false, true])
  })

  it('listens only on loopback', async () => {
    const testServer = openTwoUserServer(open)
    for (const host of ['0.0.0.0', '::', '192.168.1.1', 'example.com']) {
      await expect(testServer.app.listen({ port: 0, host })).rejects.toThrow('authorize')
    }
  })
})

it('accepts any host and any origin with authorize', async () => {
  const testServer = openTwoUserServer()
  const { status } = await testServer.send({
    path: '/api/health',
    headers: { host: 'a.example', origin: 'http://b.example' },
  })
  expect([status, testServer.logged]).toEqual([200, []])
})

it('recognizes loopback names and addresses', () => {
  for (const host of ['localhost', 'LocalHost:1', '127.0.0.1', '127.255.1.2:65535', '[::1]'])
    expect(isLoopback(host)).toBe(true)
  for (const host of ['', 'localhost:', 'localhost:123456', 'xlocalhost', '1127.0.0.1', '::1', '[::1', '127.0.0']) {
    expect([host, isLoopback(host)]).toEqual([host, false])
  }
  for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) expect(isLoopbackAddress(address)).toBe(true)
  for (const address of ['10.0.0.1', '::', '::ffff:10.0.0.1', '128.0.0.1', ''])
    expect(isLoopbackAddress(address)).toBe(false)
})
