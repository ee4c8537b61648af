import { type Entry, foldLog, type Subscriber, type Subscription } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { finished, InProcessServer, transcript } from '../chat/in-process-server.fixture.ts'
import { cursorOf, FakeStreamServer, refusal, snapshotAt } from '../connection/fake-stream-server.fixture.ts'
import { type ChatConnection, createConnection } from '../connection/page-connection.ts'
import { connect } from '../connection/recording-follower.fixture.ts'
import { ReplayChat } from './replay-chat.ts'
import { SessionLog } from './session-log.ts'

/** Resolves when the condition holds for the state of the log. */
const until = (log: SessionLog, condition: (state: SessionLog['state']) => boolean): Promise<void> =>
  new Promise(resolve => {
    const check = () => {
      if (!condition(log.state)) return
      unsubscribe()
      resolve()
    }
    const unsubscribe = log.subscribe(check)
    check()
  })

test('receives each entry once despite cut streams, and folds to the view of the chat', async () => {
  const server = new InProcessServer()
  const connection = createConnection({
    api: 'http://localhost:4400/api',
    fetch: server.fetch,
    backoff: { firstMs: 1, longestMs: 5 },
    includeDiscarded: true,
  })
  const chat = server.chat({ session: 's', connection })
  const firstTurn = finished(chat)
  await chat.sendMessage('A long way to the mill')
  await firstTurn
  const log = new SessionLog({ sessionId: 's', connection })
  const stop = log.start()
  await until(log, ({ status }) => status === 'live')
  server.cutStreams()
  const secondTurn = finished(chat)
  await chat.sendMessage('And back')
  await secondTurn
  await until(log, ({ head, status }) => head === chat.store.head && status === 'live')
  const sequences = log.entries.map(({ sequence }) => sequence)
  expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b))
  expect(log.state).toMatchObject({ count: sequences.length, repeated: 0 })
  expect(log.viewAt(log.state.head)).toEqual(foldLog(log.entries).view())

  const replay = new ReplayChat({ sessionId: 's', view: log.viewAt(log.state.head) })
  expect(transcript(replay as never)).toEqual(transcript(chat))
  // The view before the second answer.
  const second = log.entries.findLast(({ chunk }) => chunk.type === 'start')?.sequence ?? 0
  replay.show(log.viewAt(second - 1))
  expect(transcript(replay as never)).toEqual(transcript(chat).slice(0, 3))
  stop()
  await until(log, ({ status }) => status === 'idle')
})

test('continues from its cursor after a stop', async () => {
  const server = new FakeStreamServer()
  const log = new SessionLog({ sessionId: 's', connection: connect(server, { includeDiscarded: true }) })
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
  expect(second.positions).toEqual([`s ${cursorOf(3)}`])
  second.open('s', 3)
  second.entries('s', 3, 4)
  await until(log, ({ count }) => count === 4)
})

test('starts over from a snapshot as base if the log was trimmed', async () => {
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
  expect(second.positions).toEqual([`s ${cursorOf(7, 'b')}`])
})

test('gets a snapshot after a rewind to before its base', async () => {
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

test('counts and ignores repeated entries', () => {
  const subscribers: Subscriber[] = []
  const subscription: Subscription = { status: 'live', reason: '', cursor: '0', refresh() {}, wake() {}, close() {} }
  const connection = {
    ...connect(new FakeStreamServer()),
    follow: (_: string, follower: Subscriber) => {
      subscribers.push(follower)
      return subscription
    },
  } as unknown as ChatConnection
  const log = new SessionLog({ sessionId: 's', connection })
  log.start()
  const origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'teller', step: 1 }
  const entries = [1, 2, 3].map(
    (sequence): Entry => ({ sequence, timestamp: 1, origin, chunk: { type: 'text-delta', id: 't', delta: 'a' } }),
  )
  subscribers[0]?.entries(entries, 3)
  subscribers[0]?.entries(entries.slice(1), 3)
  expect(log.entries).toEqual(entries)
  return until(log, ({ repeated, count }) => repeated === 2 && count === 3)
})

test('has an error if the session cannot be followed', async () => {
  const server = new FakeStreamServer()
  const log = new SessionLog({ sessionId: 's', connection: connect(server) })
  server.replies.push(refusal(403, 'forbidden'))
  log.start()
  await until(log, ({ error }) => error !== undefined)
  expect(log.state).toMatchObject({ error: { code: 'forbidden', retryable: false }, status: 'offline' })
})

test('a recording is available at once and read-only', async () => {
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
