import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { assert, asyncProperty, constantFrom, double, integer, oneof, record } from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { multiplied } from './campaign.ts'
import { MAX_BUFFERED } from './flow.ts'
import { observe, payload, sendInPieces, setUpProxy } from './proxied-connection.fixture.ts'
import type { Direction, FaultProxy } from './proxy.ts'

const runs = (count: number) => ({ numRuns: multiplied(count) })

/** A payload, its split into writes, its direction, and a position in it, often the first or the last byte. */
const scenario = record({
  length: integer({ min: 1, max: 300_000 }),
  size: integer({ min: 1_000, max: 100_000 }),
  share: oneof(constantFrom(0, 1), double({ min: 0, max: 1, noNaN: true })),
  delayMs: constantFrom(0, 0, 2),
  direction: constantFrom<Direction>('up', 'down'),
}).map(({ share, ...rest }) => ({ ...rest, at: Math.floor((rest.length - 1) * share) }))

describe('at any byte of either direction', () => {
  test('a cut forwards exactly the bytes before it and closes both ends', async () => {
    const { gate, open } = await setUpProxy()
    const check = asyncProperty(scenario, async ({ length, size, at, delayMs, direction }) => {
      gate.next({ [direction]: { cutAt: at, delayMs } })
      const cut = gate.event('cut')
      const { link, ends } = await open()
      const [from, to] = ends[direction]
      const bytes = payload(length)
      sendInPieces(from.socket, bytes, size)
      expect(await cut).toEqual({ link, direction })
      await Promise.all([from.left, to.left])
      for (const { socket } of [from, to]) socket.end()
      await Promise.all([from.closed, to.closed, link.closed])
      expect(to.received().equals(bytes.subarray(0, at))).toBe(true)
      expect(link[direction]).toBe(at)
    })
    await assert(check, runs(40))
  })

  test('a reset forwards no byte after it and fails both ends', async () => {
    const { gate, open } = await setUpProxy()
    const check = asyncProperty(scenario, async ({ length, size, at, delayMs, direction }) => {
      gate.next({ [direction]: { resetAt: at, delayMs } })
      const { link, ends } = await open()
      const [from, to] = ends[direction]
      const bytes = payload(length)
      sendInPieces(from.socket, bytes, size)
      expect(await Promise.all([from.closed, to.closed])).toEqual([
        expect.stringMatching(/ECONNRESET|EPIPE/),
        'ECONNRESET',
      ])
      await link.closed
      const received = to.received()
      expect(received.length).toBeLessThanOrEqual(at)
      expect(received.equals(bytes.subarray(0, received.length))).toBe(true)
    })
    await assert(check, runs(40))
  })

  test('a stall forwards exactly the bytes before it, and the rest after resume', async () => {
    const { gate, open } = await setUpProxy()
    const check = asyncProperty(scenario, async ({ length, size, at, delayMs, direction }) => {
      gate.next({ [direction]: { stallAt: at, delayMs } })
      const stall = gate.event('stall')
      const { link, ends } = await open()
      const [from, to] = ends[direction]
      const bytes = payload(length)
      sendInPieces(from.socket, bytes, size)
      expect(await stall).toEqual({ link, direction })
      await to.has(at)
      // The other direction still works. Its bytes arrive after any that were forwarded by mistake.
      to.socket.write('here')
      await from.has(4)
      expect({ passed: link[direction], received: to.received().length }).toEqual({ passed: at, received: at })
      link.resume(direction)
      from.socket.end()
      await to.ended
      expect(to.received().equals(bytes)).toBe(true)
      link.cut()
      await link.closed
    })
    await assert(check, runs(40))
  })

  test('a half-close ends the direction there and drops the rest, while the other direction continues', async () => {
    const { gate, open } = await setUpProxy()
    const check = asyncProperty(scenario, async ({ length, size, at, delayMs, direction }) => {
      gate.next({ [direction]: { endAt: at, delayMs } })
      const end = gate.event('end')
      const { link, ends } = await open()
      const [from, to] = ends[direction]
      const bytes = payload(length)
      sendInPieces(from.socket, bytes, size)
      expect(await end).toEqual({ link, direction })
      await to.ended
      expect(to.received().equals(bytes.subarray(0, at))).toBe(true)
      to.socket.end(bytes)
      await from.ended
      expect(from.received().equals(bytes)).toBe(true)
      from.socket.end()
      await link.closed
      expect(link[direction]).toBe(at)
    })
    await assert(check, runs(40))
  })
})

test('splits one write into pieces without loss', async () => {
  const { gate, open } = await setUpProxy()
  gate.next({ down: { splitAt: 7 } })
  const { ends } = await open()
  const [from, to] = ends.down
  const sizes: number[] = []
  to.socket.on('data', (bytes: Buffer) => sizes.push(bytes.length))
  const bytes = payload(2_000)
  from.socket.end(bytes)
  await to.ended
  expect(to.received().equals(bytes)).toBe(true)
  expect(sizes.length).toBeGreaterThan(1)
})

describe('a slow receiver slows its sender, and the proxy buffers a bounded amount', () => {
  const LENGTH = 48 * 1024 * 1024
  // The buffer can exceed the limit by the piece that was read last and by one piece in flight.
  const BOUND = MAX_BUFFERED + 2 * 65_536

  test.each([
    ['one that does not read', (_: FaultProxy, to: Socket) => void to.pause()],
    ['a stall', (gate: FaultProxy) => gate.stall('up')],
  ])('%s', async (_, hinder) => {
    const { gate, open } = await setUpProxy()
    const { link, ends } = await open()
    const [client, target] = ends.up
    hinder(gate, target.socket)
    const bytes = payload(LENGTH)
    sendInPieces(client.socket, bytes, 1024 * 1024)
    await vi.waitFor(() => expect(link.buffered).toBeGreaterThanOrEqual(MAX_BUFFERED), { timeout: 60_000, interval: 5 })
    // No more bytes move, even after many event loop turns.
    const other = createServer(socket => socket.pipe(socket))
    await once(other.listen(0, '127.0.0.1'), 'listening')
    const echo = observe(connect((other.address() as AddressInfo).port, '127.0.0.1'))
    for (let n = 1; n <= 200; n++) {
      echo.socket.write('x')
      await echo.has(n)
      expect(link.buffered).toBeLessThanOrEqual(BOUND)
    }
    echo.socket.destroy()
    await once(other.close(), 'close')
    let max = 0
    target.socket.on('data', () => {
      max = Math.max(max, link.buffered)
    })
    gate.resume()
    target.socket.resume()
    client.socket.end()
    await target.ended
    expect(max).toBeLessThanOrEqual(BOUND)
    expect(target.received().equals(bytes)).toBe(true)
  })
})
