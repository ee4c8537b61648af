import type { Snapshot } from '@millrace/protocol'
import { beforeEach, expect, test } from 'vitest'
import type { RequestError } from '../error.ts'
import type { PageConnection, SessionEntry } from './connection.ts'
import { cursorOf, refusal, Server, type Stream, snapshotAt } from './server.fixture.ts'
import { connect, followed } from './told.fixture.ts'

let server: Server
beforeEach(() => {
  server = new Server()
})

/** Reads so many entries, and leaves. */
async function read(connection: PageConnection, count: number): Promise<string[]> {
  const all: string[] = []
  for await (const { sessionId, sequence } of connection) {
    all.push(`${sessionId} ${sequence}`)
    if (all.length === count) break
  }
  return all
}

/** What a loop throws. */
const thrown = async (connection: PageConnection): Promise<RequestError> => {
  try {
    for await (const _ of connection);
  } catch (error) {
    return error as RequestError
  }
  throw new Error('nothing was thrown')
}

test('a plain loop gives the entries of all its sessions, and leaving it closes', async () => {
  const reading = read(connect(server, { session: ['a', 'b'], after: cursorOf(1) }), 3)
  const stream = await server.stream(2)
  expect(stream.places).toEqual([`a ${cursorOf(1)}`, `b ${cursorOf(1)}`])
  for (const name of ['a', 'b']) stream.open(name, 1)
  stream.entries('a', 1, 2)
  stream.entries('b', 1, 3)
  expect(await reading).toEqual(['a 2', 'b 2', 'b 3'])
  expect(stream.signal.aborted).toBe(true)
})

test('law 8: a slow loop holds the reader back', async () => {
  const connection = connect(server, { session: 's' })
  const loop = connection[Symbol.asyncIterator]()
  const first = loop.next()
  const stream = await server.stream(1)
  stream.open('s')
  stream.entries('s', 0, 2)
  expect((await first).value).toMatchObject({ sessionId: 's', sequence: 1 })
  stream.entries('s', 2, 3)
  await new Promise(resolve => setImmediate(resolve))
  // It lies where it came in.
  expect(stream.isTaken).toBe(false)
  expect((await loop.next()).value).toMatchObject({ sequence: 2 })
  expect((await loop.next()).value).toMatchObject({ sequence: 3 })
  expect(stream.isTaken).toBe(true)
  await loop.return()
  expect(stream.signal.aborted).toBe(true)
})

test('who left a loop in the middle of a frame holds nobody up on its line', async () => {
  const connection = connect(server, { session: 'a' })
  const other = followed(connection, 'b')
  const reading = read(connection, 1)
  const first = await server.stream(2)
  for (const name of ['a', 'b']) first.open(name)
  first.entries('a', 0, 2)
  await reading
  first.entries('b', 0, 1)
  await other.told.until(() => other.told.all.length === 1)
})

test('closing the connection ends the loop', async () => {
  const connection = connect(server, { session: 's' })
  const reading = read(connection, 5)
  const stream = await server.stream(1)
  stream.open('s')
  connection.close()
  expect(await reading).toEqual([])
  expect(stream.signal.aborted).toBe(true)
})

test('a session that cannot be followed is thrown', async () => {
  server.replies.push(refusal(403, 'forbidden'))
  expect(await thrown(connect(server, { session: 's' }))).toMatchObject({ code: 'forbidden' })
})

/** Says that the place is gone. */
const truncate = (stream: Stream) => {
  stream.send({ type: 'truncated', sessionId: 's', floor: 0, incarnation: 'b' })
  stream.close()
}

test('where the place is gone it throws, unless somebody takes the snapshot', async () => {
  const throwing = thrown(connect(server, { session: 's', after: cursorOf(4) }))
  truncate(await server.stream(1))
  expect(await throwing).toMatchObject({ code: 'truncated' })
  // Nothing of what follows the gap is asked for.
  expect(server.streams).toHaveLength(1)
})

test('law 2: the snapshot comes in its place, after what lay before it was taken', async () => {
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
  expect(second.places).toEqual([`s ${cursorOf(7, 'b')}`])
  second.open('s', 7)
  second.entries('s', 7, 8)
  await third
  expect(all).toEqual(['1', '2', 'snapshot 7', '8'])
  await loop.return()
})
