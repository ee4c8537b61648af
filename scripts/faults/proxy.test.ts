import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { observe, payload, setUpProxy } from './proxied-connection.fixture.ts'
import { proxy } from './proxy.ts'

test('forwards bytes and the end in both directions', async () => {
  const { gate, open } = await setUpProxy()
  const { link, ends } = await open()
  for (const direction of ['up', 'down'] as const) {
    const [from, to] = ends[direction]
    const bytes = payload(1_000_000)
    from.socket.end(bytes)
    await to.ended
    expect(to.received().equals(bytes)).toBe(true)
    expect(link[direction]).toBe(bytes.length)
  }
  await link.closed
  expect(gate.counts()).toEqual({ connections: 1, refused: 0, up: 1_000_000, down: 1_000_000 })
  expect(gate.links.size).toBe(0)
})

describe('the position of a fault', () => {
  test('counts from the time it is set: cuts the response to the next request in the middle', async () => {
    const { gate, open } = await setUpProxy()
    const { link, ends } = await open()
    const [client, target] = ends.up
    target.socket.on('data', bytes => target.socket.write(bytes))
    client.socket.write('one')
    await client.has(3)
    const cut = gate.event('cut')
    gate.set({ down: { cutAt: 2 } })
    expect(gate.links.size).toBe(1)
    client.socket.write('two')
    expect(await cut).toEqual({ link, direction: 'down' })
    await client.left
    expect(`${target.received()}`).toBe('onetwo')
    expect(`${client.received()}`).toBe('onetw')
  })

  test('set() applies to open and new connections until it is reset', async () => {
    const { gate, open } = await setUpProxy()
    gate.set({ up: { cutAt: 2 } })
    for (const received of ['ab', 'ab']) {
      const { ends } = await open()
      ends.up[0].socket.write('abc')
      await ends.up[1].ended
      expect(`${ends.up[1].received()}`).toBe(received)
    }
    gate.set({ up: { cutAt: Number.POSITIVE_INFINITY } })
    const { ends } = await open()
    ends.up[0].socket.end('abc')
    await ends.up[1].ended
    expect(`${ends.up[1].received()}`).toBe('abc')
  })

  test('next() applies to one connection each, on top of set()', async () => {
    const { gate, open } = await setUpProxy()
    gate.set({ up: { cutAt: 3 } })
    gate.next({ up: { cutAt: 1 } })
    gate.next({ down: { cutAt: 1 } })
    for (const received of ['a', 'abc', 'abc']) {
      const { ends } = await open()
      ends.up[0].socket.write('abcd')
      await ends.up[1].ended
      expect(`${ends.up[1].received()}`).toBe(received)
    }
  })
})

test('a delay applies per direction, keeps the order, and does not add up', async () => {
  const { gate, open } = await setUpProxy()
  gate.set({ up: { delayMs: 40 }, down: { delayMs: 20 } })
  const { ends } = await open()
  const [client, target] = ends.up
  target.socket.on('data', bytes => target.socket.write(bytes))
  const from = performance.now()
  client.socket.write('a')
  await target.has(1)
  const up = performance.now() - from
  await client.has(1)
  const both = performance.now() - from
  expect(up).toBeGreaterThanOrEqual(39)
  expect(both).toBeGreaterThanOrEqual(59)
  // Delays overlap: 5,000 pieces in sequence would take five minutes, longer than a test may run.
  for (let n = 0; n < 5_000; n++) {
    client.socket.write('b')
    await new Promise(setImmediate)
  }
  await client.has(5_001)
  client.socket.end()
  await target.ended
  expect(`${target.received()}`).toBe(`a${'b'.repeat(5_000)}`)
})

test('stall() holds back a close too, and resume() lets it pass', async () => {
  const { gate, open } = await setUpProxy()
  const { link, ends } = await open()
  gate.stall('up')
  const stall = gate.event('stall')
  ends.up[0].socket.end('last words')
  expect(await stall).toEqual({ link, direction: 'up' })
  ends.down[0].socket.write('still here')
  await ends.up[0].has(10)
  expect(link.up).toBe(0)
  expect(link.buffered).toBe(10)
  gate.resume()
  await ends.up[1].ended
  expect(`${ends.up[1].received()}`).toBe('last words')
})

test('stall() holds back an end without bytes', async () => {
  const { gate, open } = await setUpProxy()
  const { link, ends } = await open()
  const stall = gate.event('stall')
  link.stall()
  ends.up[0].socket.end()
  expect(await stall).toEqual({ link, direction: 'up' })
  link.resume()
  await ends.up[1].ended
})

test('a connection that is stalled on arrival forwards no byte', async () => {
  const { gate, open } = await setUpProxy()
  gate.stall()
  const stall = gate.event('stall')
  const { link, ends } = await open()
  ends.up[0].socket.write('hello')
  await stall
  expect(link.up).toBe(0)
  gate.resume('up')
  await ends.up[1].has(5)
})

test('halfClose() ends one direction now', async () => {
  const { gate, open } = await setUpProxy()
  const { ends } = await open()
  const [client, target] = ends.up
  gate.halfClose('down')
  await client.ended
  client.socket.end('goes on')
  await target.ended
  expect(`${target.received()}`).toBe('goes on')
})

test.each([
  ['cut', undefined],
  ['reset', 'ECONNRESET'],
] as const)('%s() affects all open connections and no later ones', async (verb, code) => {
  const { gate, open } = await setUpProxy()
  const all = await Promise.all([open(), open(), open()].map(async opening => (await opening).ends.up))
  gate[verb]()
  for (const [client, target] of all) {
    if (code === undefined) {
      await Promise.all([client.ended, target.ended])
      client.socket.end()
      target.socket.end()
    }
    expect(await Promise.all([client.closed, target.closed])).toEqual([code, code])
  }
  const { ends } = await open()
  ends.up[0].socket.end('new')
  await ends.up[1].ended
  expect(`${ends.up[1].received()}`).toBe('new')
  expect(gate.counts().connections).toBe(4)
})

test('refused connections are reset and never reach the target', async () => {
  const { gate, open, server } = await setUpProxy()
  const refused = async () => {
    const happened = gate.event('refuse')
    const client = observe(connect(gate.port, '127.0.0.1'))
    await happened
    expect(await client.closed).toBe('ECONNRESET')
  }
  const { ends } = await open()
  gate.refuse(true)
  await refused()
  await refused()
  ends.up[0].socket.write('what is open stays')
  await ends.up[1].has(18)
  gate.refuse(false)
  gate.next('refuse')
  await refused()
  await open()
  expect(gate.counts()).toMatchObject({ connections: 2, refused: 3 })
  expect(await new Promise(resolve => server.getConnections((_, count) => resolve(count)))).toBe(2)
})

test('a target that does not listen fails the client', async () => {
  const { gate, server } = await setUpProxy()
  await once(server.close(), 'close')
  expect(await observe(connect(gate.port, '127.0.0.1')).closed).toBe('ECONNRESET')
  server.listen(0)
})

test('a reset passes through as a reset', async () => {
  const { open } = await setUpProxy()
  const { ends } = await open()
  ends.up[0].socket.resetAndDestroy()
  expect(await ends.up[1].closed).toBe('ECONNRESET')
})

test('a reset with a pending end closes the connection', async () => {
  const { gate, open } = await setUpProxy()
  const { link, ends } = await open()
  const [target, client] = ends.down
  client.socket.pause()
  // More than the socket buffers hold without a reader.
  target.socket.write(payload(20_000_000))
  while (link.buffered === 0) await new Promise(setImmediate)
  link.halfClose('down')
  link.reset()
  await Promise.all([link.closed, gate.stop()])
  expect(gate.links.size).toBe(0)
})

test('url() points to the proxy and keeps the rest of the url', async () => {
  const gate = await proxy('redis://user:word@127.0.0.1:6379/2')
  onTestFinished(gate.stop)
  expect(gate.url('redis://user:word@127.0.0.1:6379/2')).toBe(`redis://user:word@127.0.0.1:${gate.port}/2`)
  expect(gate.url('postgres://postgres@[::1]:5432/db?x=1')).toBe(`postgres://postgres@127.0.0.1:${gate.port}/db?x=1`)
  expect(gate.url('http://127.0.0.1/path')).toBe(`http://127.0.0.1:${gate.port}/path`)
  await expect(proxy('redis://localhost')).rejects.toThrow(/expected a target URL with a port/)
})

test('stop() closes the connections and the port', async () => {
  const { gate, open } = await setUpProxy()
  const { ends } = await open()
  gate.stall()
  await gate.stop()
  await ends.up[0].ended
  expect(gate.links.size).toBe(0)
  expect(await observe(connect(gate.port, '127.0.0.1')).closed).toBe('ECONNREFUSED')
})
