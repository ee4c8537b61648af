import { type Entry, foldLog, type Subscriber, type Subscription } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { finished, InProcessServer, transcript } from '../chat/in-process-server.fixture.ts'
import { cursorOf, FakeStreamServer, refusal, snapshotAt } from '../connection/fake-stream-server.fixture.ts'
import { type ChatConnection, createConnection } from '../connection/page-connection.ts'
import { connect } from '../connection/recording-follower.fixture.ts'
import { ReplayChat } from './replay-chat.ts'
import { SessionLog } from './session-log.ts'

/** Waits until it holds of a log. */
const until = (log: SessionLog, holds: (state: SessionLog['state']) => boolean): Promise<void> =>
  new Promise(resolve => {
    const look = () => {
      if (!holds(log.state)) return
      leave()
      resolve()
    }
    const leave = log.subscribe(look)
    look()
  })

test('each entry comes once, through cuts; and all of them amount to what the chat shows', async () => {
  const server = new InProcessServer()
  const connection = createConnection({
    api: 'http://localhost:4400/api',
    fetch: server.fetch,
    backoff: { first: 1, longest: 5 },
    whole: true,
  })
  const chat = server.chat({ session: 's', connection })
  const said = finished(chat)
  await chat.sendMessage('A long way to the mill')
  await said
  const log = new SessionLog({ sessionId: 's', connection })
  const leave = log.start()
  await until(log, ({ status }) => status === 'live')
  server.cutStreams()
  const again = finished(chat)
  await chat.sendMessage('And back')
  await again
  await until(log, ({ head, status }) => head === chat.store.head && status === 'live')
  const sequences = log.entries.map(({ sequence }) => sequence)
  expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b))
  expect(log.state).toMatchObject({ count: sequences.length, repeated: 0 })
  expect(log.viewAt(log.state.head)).toEqual(foldLog(log.entries).view())

  const replay = new ReplayChat({ sessionId: 's', view: log.viewAt(log.state.head) })
  expect(transcript(replay as never)).toEqual(transcript(chat))
  // Before the second answer: the fold up to there.
  const second = log.entries.findLast(({ chunk }) => chunk.type === 'start')?.sequence ?? 0
  replay.show(log.viewAt(second - 1))
  expect(transcript(replay as never)).toEqual(transcript(chat).slice(0, 3))
  leave()
  await until(log, ({ status }) => status === 'idle')
})

test('who leaves goes on from where it was', async () => {
  const server = new FakeStreamServer()
  const log = new SessionLog({ sessionId: 's', connection: connect(server, { whole: true }) })
  const [one, two] = [log.start(), log.start()]
  const first = await server.stream(1)
  expect(first.url.searchParams.get('whole')).toBe('true')
  first.open('s')
  first.entries('s', 0, 3)
  first.caughtUp('s', 3)
  await until(log, ({ status }) => status === 'live')
  one()
  one()
  expect(log.state.status).toBe('live')
  two()
  await until(log, ({ status }) => status === 'idle')
  log.start()
  const second = await server.stream(2)
  expect(second.places).toEqual([`s ${cursorOf(3)}`])
  second.open('s', 3)
  second.entries('s', 3, 4)
  await until(log, ({ count }) => count === 4)
})

test('where what it held is gone it begins anew, and what came before is its base', async () => {
  const server = new FakeStreamServer()
  const log = new SessionLog({ sessionId: 's', connection: connect(server) })
  server.answer = () => Response.json(snapshotAt(7, 'b'))
  log.start()
  const first = await server.stream(1)
  first.open('s')
  first.entries('s', 0, 2)
  await until(log, ({ count }) => count === 2)
  first.send({ type: 'truncated', sessionId: 's', floor: 5, incarnation: 'b' })
  await until(log, ({ head }) => head === 7)
  expect(log.entries).toEqual([])
  expect(log.base?.head).toBe(7)
  const second = await server.stream(2)
  expect(second.places).toEqual([`s ${cursorOf(7, 'b')}`])
})

test('a log that goes back to before its base takes what the server has', async () => {
  const server = new FakeStreamServer()
  const log = new SessionLog({ sessionId: 's', connection: connect(server), base: snapshotAt(5).view })
  log.start()
  const stream = await server.stream(1)
  stream.open('s')
  const origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'teller', step: 1 }
  const rewind: Entry = { sequence: 6, timestamp: 1, origin, chunk: { type: 'rewind', toSequence: 2, reason: 'edit' } }
  server.answer = () => Response.json(snapshotAt(6))
  stream.send({ type: 'entries', sessionId: 's', after: 0, sequence: 6, entries: [rewind], cursor: cursorOf(6) })
  await until(log, ({ head, count }) => head === 6 && count === 0)
  expect(log.viewAt(6).head).toBe(6)
})

test('what a connection gives twice is counted, and held once', () => {
  const told: Subscriber[] = []
  const following: Subscription = { status: 'live', reason: '', cursor: '0', refresh() {}, wake() {}, close() {} }
  const connection = {
    ...connect(new FakeStreamServer()),
    follow: (_: string, follower: Subscriber) => {
      told.push(follower)
      return following
    },
  } as unknown as ChatConnection
  const log = new SessionLog({ sessionId: 's', connection })
  log.start()
  const origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'teller', step: 1 }
  const entries = [1, 2, 3].map(
    (sequence): Entry => ({ sequence, timestamp: 1, origin, chunk: { type: 'text-delta', id: 't', delta: 'a' } }),
  )
  told[0]?.entries(entries, 3)
  told[0]?.entries(entries.slice(1), 3)
  expect(log.entries).toEqual(entries)
  return until(log, ({ repeated, count }) => repeated === 2 && count === 3)
})

test('what cannot be followed says why', async () => {
  const server = new FakeStreamServer()
  const log = new SessionLog({ sessionId: 's', connection: connect(server) })
  server.replies.push(refusal(403, 'forbidden'))
  log.start()
  await until(log, ({ error }) => error !== undefined)
  expect(log.state).toMatchObject({ error: { code: 'forbidden', retryable: false }, status: 'offline' })
})

test('a recording is there at once, and nothing can be added to it', async () => {
  const log = new SessionLog({ sessionId: 's', entries: [] })
  expect(log).toMatchObject({ isRecording: true, state: { count: 0, status: 'idle', reason: 'a recording' } })
  log.start()()
  const chat = new ReplayChat()
  for (const act of [() => chat.sendMessage(), () => chat.retry(), () => chat.regenerate(), () => chat.edit()]) {
    expect(await act()).toMatchObject({ error: { code: 'read_only' } })
  }
  expect(chat.state.error).toMatchObject({ code: 'read_only' })
  chat.clearError()
  expect(chat.state.error).toBeUndefined()
  await expect(chat.answer()).rejects.toMatchObject({ code: 'read_only' })
  await chat.stop()
  expect(chat.state.error).toMatchObject({ code: 'read_only' })
})
