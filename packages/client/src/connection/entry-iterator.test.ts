import type { Snapshot } from '@millrace/protocol'
import { beforeEach, expect, test } from 'vitest'
import { RequestError } from '../error/chat-error.ts'
import { cursorOf, FakeStreamServer, refusal, type Stream, snapshotAt } from './fake-stream-server.fixture.ts'
import type { PageConnection, SessionEntry } from './page-connection.ts'
import { connect, followed } from './recording-follower.fixture.ts'

let server: FakeStreamServer
beforeEach(() => {
  server = new FakeStreamServer()
})

/** Reads `count` entries, and breaks the loop. */
async function read(connection: PageConnection, count: number): Promise<string[]> {
  const all: string[] = []
  for await (const { sessionId, sequence } of connection) {
    all.push(`${sessionId} ${sequence}`)
    if (all.length === count) break
  }
  return all
}

/** The error of a loop. */
const thrown = async (connection: PageConnection): Promise<RequestError> => {
  try {
    for await (const _ of connection);
  } catch (error) {
    return error as RequestError
  }
  throw new Error('nothing was thrown')
}

test('yields the entries of all its sessions, and closes on break', async () => {
  const reading = read(connect(server, { session: ['a', 'b'], after: cursorOf(1) }), 3)
  const stream = await server.stream(2)
  expect(stream.positions).toEqual([`a ${cursorOf(1)}`, `b ${cursorOf(1)}`])
  for (const name of ['a', 'b']) stream.open(name, 1)
  stream.entries('a', 1, 2)
  stream.entries('b', 1, 3)
  expect(await reading).toEqual(['a 2', 'b 2', 'b 3'])
  expect(stream.signal.aborted).toBe(true)
})

test('law 8: reads no further while the loop is slow', async () => {
  const connection = connect(server, { session: 's' })
  const loop = connection[Symbol.asyncIterator]()
  const first = loop.next()
  const stream = await server.stream(1)
  stream.open('s')
  stream.entries('s', 0, 2)
  expect((await first).value).toMatchObject({ sessionId: 's', sequence: 1 })
  stream.entries('s', 2, 3)
  await new Promise(resolve => setImmediate(resolve))
  // It stays in the buffer of the stream.
  expect(stream.isDrained).toBe(false)
  expect((await loop.next()).value).toMatchObject({ sequence: 2 })
  expect((await loop.next()).value).toMatchObject({ sequence: 3 })
  expect(stream.isDrained).toBe(true)
  await loop.return()
  expect(stream.signal.aborted).toBe(true)
})

test('does not delay other followers while the loop is slow', async () => {
  const connection = connect(server, { session: 's' })
  const loop = connection[Symbol.asyncIterator]()
  const first = loop.next()
  const other = followed(connection, 'other')
  const streams = [await server.stream(1), await server.stream(2)]
  expect(streams.map(({ positions }) => positions)).toEqual([['s 0'], ['other 0']])
  for (const [n, stream] of streams.entries()) {
    const name = n === 0 ? 's' : 'other'
    stream.open(name)
    stream.entries(name, 0, 2)
    stream.entries(name, 2, 3)
  }
  await first
  await other.follower.until(() => other.follower.all.length === 2)
  expect(streams.map(({ isDrained }) => isDrained)).toEqual([false, true])
  await loop.return()
  expect(streams.map(({ signal }) => signal.aborted)).toEqual([true, false])
})

test('returns at once, also during a pending next', async () => {
  const loop = connect(server, { session: 's' })[Symbol.asyncIterator]()
  const waiting = [loop.next(), loop.next()]
  const stream = await server.stream(1)
  stream.open('s')
  expect(await loop.return()).toEqual({ done: true, value: undefined })
  for (const next of waiting) expect(await next).toEqual({ done: true, value: undefined })
  expect(stream.signal.aborted).toBe(true)
  expect(await loop.next()).toEqual({ done: true, value: undefined })
  const never = connect(server, { session: 's' })[Symbol.asyncIterator]()
  await never.return()
  expect(await never.next()).toEqual({ done: true, value: undefined })
  expect(server.requests).toHaveLength(1)
})

test('law 2: has a cursor at the end of a frame, from which another loop continues', async () => {
  const cursors: Record<string, string> = {}
  const reading = async () => {
    const seen: string[] = []
    for await (const { sessionId, sequence, cursor } of connect(server, { session: ['a', 'b'], after: cursors })) {
      seen.push(`${sessionId} ${sequence}`)
      if (cursor !== undefined) cursors[sessionId] = cursor
      if (seen.length === 4) break
    }
    return seen
  }
  const first = reading()
  const stream = await server.stream(2)
  for (const name of ['a', 'b']) stream.open(name)
  stream.entries('a', 0, 3)
  stream.entries('b', 0, 2)
  expect(await first).toEqual(['a 1', 'a 2', 'a 3', 'b 1'])
  expect(cursors).toEqual({ a: cursorOf(3) })
  const second = reading()
  const next = await server.stream(4)
  // The frame that was left in the middle is read again.
  expect(next.positions).toEqual([`a ${cursorOf(3)}`, 'b 0'])
  for (const name of ['a', 'b']) next.open(name)
  next.entries('a', 3, 4)
  next.entries('b', 0, 3)
  expect(await second).toEqual(['a 4', 'b 1', 'b 2', 'b 3'])
  expect(cursors).toEqual({ a: cursorOf(4), b: cursorOf(3) })
})

test('ends when the connection closes', async () => {
  const connection = connect(server, { session: 's' })
  const reading = read(connection, 5)
  const stream = await server.stream(1)
  stream.open('s')
  connection.close()
  expect(await reading).toEqual([])
  expect(stream.signal.aborted).toBe(true)
})

test('throws if a session cannot be followed', async () => {
  server.replies.push(refusal(403, 'forbidden'))
  const error = await thrown(connect(server, { session: 's' }))
  expect(error).toBeInstanceOf(RequestError)
  expect(error).toMatchObject({ code: 'forbidden' })
})

/** Reports that the position was trimmed. */
const truncate = (stream: Stream) => {
  stream.send({ type: 'truncated', sessionId: 's', floor: 0, incarnation: 'b' })
  stream.close()
}

test('throws if its position was trimmed, without onSnapshot', async () => {
  const throwing = thrown(connect(server, { session: 's', after: cursorOf(4) }))
  truncate(await server.stream(1))
  expect(await throwing).toMatchObject({ code: 'truncated' })
  // It does not continue after the gap.
  expect(server.streams).toHaveLength(1)
})

test('law 2: calls onSnapshot after the loop has consumed the frames before it', async () => {
  server.answer = () => Response.json(snapshotAt(7, 'b'))
  const all: string[] = []
  const onSnapshot = ({ sequence }: Snapshot) => void all.push(`snapshot ${sequence}`)
  const loop = connect(server, { session: 's', onSnapshot })[Symbol.asyncIterator]()
  const next = async () => void all.push(`${((await loop.next()).value as SessionEntry).sequence}`)
  const first = next()
  const stream = await server.stream(1)
  stream.open('s')
  stream.entries('s', 0, 2)
  await first
  truncate(stream)
  await next()
  const third = next()
  const second = await server.stream(2)
  expect(second.positions).toEqual([`s ${cursorOf(7, 'b')}`])
  second.open('s', 7)
  second.entries('s', 7, 8)
  await third
  expect(all).toEqual(['1', '2', 'snapshot 7', '8'])
  await loop.return()
})
