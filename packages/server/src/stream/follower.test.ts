import { encodeCursor } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { SlowClient } from './slow-client.fixture.ts'
import { delta, ID, NO_RESOURCES, StreamServer } from './stream-server.fixture.ts'

const newServer = () => new StreamServer({ manager: { coalesceMs: 0 } })

/** Starts a run that stays open. */
const writing = async ({ manager }: StreamServer, runId = 'r1') => {
  const writer = await manager.createWriter(ID, { runId, agentType: 'assistant' })
  await writer.commit([])
  return writer
}

describe('the frames of a session', () => {
  test.each(['sse', 'ndjson'] as const)('are open, entries, caught-up, status, then live entries: %s', async format => {
    const testServer = newServer()
    await testServer.completeRun('r1', 'hello')
    const client = testServer.follow({}, new SlowClient(format), { format })
    await settled()
    const writer = await writing(testServer, 'r2')
    await writer.write(delta('a')).appended
    await writer.write(delta('b')).appended
    await settled()
    const { head, incarnation } = (await testServer.manager.getInfo(ID)) as { head: number; incarnation: string }
    const first = head - 4
    expect(client.wire.map(({ entries, cursor, ...rest }) => rest)).toEqual([
      { type: 'open', protocol: 1, sessionId: ID, incarnation, head: first, heartbeatMs: 15_000 },
      { type: 'entries', after: 0, sequence: first },
      { type: 'caught-up', sequence: first },
      { type: 'status', status: 'active' },
      { type: 'entries', sequence: first + 2 },
      { type: 'entries', sequence: first + 3 },
      { type: 'entries', sequence: first + 4 },
    ])
    if (format === 'sse') {
      const ids = client.text.split('\n').flatMap(line => /^id: (.*)$/.exec(line)?.[1] ?? [])
      expect(ids).toEqual(client.frames.flatMap(frame => ('cursor' in frame ? [frame.cursor] : [])))
    }
    client.disconnect()
    await writer.close()
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('start after a cursor, and the first frame names its start', async () => {
    const testServer = newServer()
    await testServer.completeRun('r1', 'one two three')
    const all = testServer.follow({ merge: false })
    await settled()
    const { entries = [] } = all.of('entries')[0] ?? {}
    const second = testServer.follow({ after: '2', merge: false })
    await settled()
    expect(second.wire[1]).toMatchObject({ type: 'entries', after: 2 })
    expect(second.sequences).toEqual(entries.map(({ sequence }) => sequence).filter(sequence => sequence > 2))
    const last = testServer.follow({ after: all.cursor })
    await settled()
    expect(last.types).toEqual(['open', 'caught-up', 'status'])
    await testServer.completeRun('r2', 'four')
    await settled()
    // The first frame of a connection names its start.
    expect(last.wire[3]).toMatchObject({ type: 'entries', after: all.of('caught-up')[0]?.sequence })
  })

  test('merge the deltas of a long answer, unless merge is false', async () => {
    const testServer = newServer()
    await testServer.completeRun('r1', Array(300).fill('word').join(' '))
    const merged = testServer.follow()
    const raw = testServer.follow({ merge: false })
    await settled()
    expect(merged.sequences.length).toBeLessThan(10)
    expect(raw.sequences.length).toBeGreaterThan(300)
    expect(merged.cursor).toBe(raw.cursor)
  })

  test('omit discarded entries in the replay, unless includeDiscarded is true', async () => {
    const testServer = newServer()
    const writer = await writing(testServer)
    for (const word of ['never ', 'mind ']) await writer.write(delta(word)).appended
    expect(await writer.main.discard({ reason: 'retry' })).toBe(true)
    await writer.close()
    const late = testServer.follow({ merge: false })
    const inspector = testServer.follow({ merge: false, includeDiscarded: true })
    await settled()
    const shown = await testServer.publicEntries()
    expect(inspector.sequences).toEqual(shown.map(({ sequence }) => sequence))
    const words = shown.filter(({ chunk }) => chunk.type === 'text-delta').map(({ sequence }) => sequence)
    expect(words).toHaveLength(2)
    expect(late.sequences).toEqual(inspector.sequences.filter(sequence => !words.includes(sequence)))
    expect(late.cursor).toBe(inspector.cursor)
  })

  test('contain status paused and active, also for a client that joins during the pause', async () => {
    const testServer = newServer()
    await testServer.manager.createStream(ID)
    const first = testServer.follow()
    await settled()
    const writer = await writing(testServer)
    await testServer.manager.pauseStream(ID)
    await settled()
    const second = testServer.follow()
    await settled()
    await testServer.manager.resumeStream(ID)
    await testServer.manager.pauseStream(ID)
    await settled()
    await writer.close()
    await testServer.manager.resumeStream(ID)
    await settled()
    expect(first.of('status').map(({ status }) => status)).toEqual(['active', 'paused', 'active', 'paused', 'active'])
    expect(second.of('status').map(({ status }) => status)).toEqual(['paused', 'active', 'paused', 'active'])
    // Each status follows the entries that caused it.
    const at = first.types.indexOf('status', first.types.indexOf('status') + 1)
    const { entries = [] } = first.frames[at - 1] as { entries?: { chunk: { type: string } }[] }
    expect(entries.at(-1)?.chunk.type).toBe('run-paused')
  })

  test('end after caught-up if live is false', async () => {
    const testServer = newServer()
    await testServer.completeRun('r1', 'hello')
    const client = testServer.follow({ isLive: false })
    expect(await client.closed).toBe('ended')
    expect(client.types).toEqual(['open', 'entries', 'caught-up', 'status'])
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('are encoded once for all live followers, which share one reader', async () => {
    const testServer = newServer()
    const writer = await writing(testServer)
    const clients = Array.from({ length: 50 }, () => testServer.follow())
    await settled()
    expect(testServer.resources).toMatchObject({ connections: 50, liveStreams: 1 })
    testServer.instrumented.reads = 0
    for (let i = 0; i < 20; i++) await writer.write(delta(`${i}`)).appended
    await settled()
    expect(testServer.instrumented.reads).toBeLessThanOrEqual(20)
    for (const client of clients) {
      expect(client.cursor).toBe(clients[0]?.cursor)
      expect(client.latest).toBe(clients[0]?.latest)
    }
    for (const client of clients) client.disconnect()
    await writer.close()
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })
})

describe('law 2: the end of a stream that cannot continue', () => {
  const cursorOf = async ({ manager }: StreamServer) => {
    const { head, incarnation, mark } = (await manager.getInfo(ID)) as NonNullable<
      Awaited<ReturnType<typeof manager.getInfo>>
    >
    return { sequence: head, incarnation, epoch: mark }
  }

  test.each([
    ['incarnation', (at: Awaited<ReturnType<typeof cursorOf>>) => encodeCursor({ ...at, incarnation: 'other' })],
    ['epoch', (at: Awaited<ReturnType<typeof cursorOf>>) => encodeCursor({ ...at, epoch: 'other' })],
    ['past-head', (at: Awaited<ReturnType<typeof cursorOf>>) => `${at.sequence + 1}`],
    ['past-head', (at: Awaited<ReturnType<typeof cursorOf>>) => encodeCursor({ ...at, sequence: at.sequence + 1 })],
  ] as const)('names the reason for a position that is not in the log: %s', async (reason, tokenOf) => {
    const testServer = newServer()
    await testServer.completeRun('r1', 'hello')
    const at = await cursorOf(testServer)
    const client = testServer.follow({ after: tokenOf(at) })
    expect(await client.closed).toBe('ended')
    expect(client.types).toEqual(['open', 'truncated'])
    const { incarnation, sequence: head } = at
    expect(client.frames[1]).toEqual({ type: 'truncated', floor: 0, incarnation, reason, head })
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('names the floor for a position below it', async () => {
    const testServer = newServer()
    await testServer.completeRun('r1', 'one')
    await testServer.completeRun('r2', 'two')
    const floor = await testServer.manager.trimStream(ID, { maxEntries: 3 })
    expect(floor).toBeGreaterThan(0)
    for (const after of ['0', `${floor - 1}`]) {
      const client = testServer.follow({ after })
      expect(await client.closed).toBe('ended')
      expect(client.frames.at(-1)).toMatchObject({ type: 'truncated', floor, reason: 'below-floor' })
    }
    const client = testServer.follow({ after: `${floor}` })
    await settled()
    expect(client.types).toEqual(['open', 'entries', 'caught-up', 'status'])
  })

  test('names the reason for a log that was restored while it is followed', async () => {
    const testServer = newServer()
    await testServer.completeRun('r1', 'hello')
    const clients = [testServer.follow(), testServer.follow({ isNamed: true })]
    await settled()
    await testServer.instrumented.store.restored()
    const { incarnation } = await cursorOf(testServer)
    for (const client of clients) {
      expect(await client.closed).toBe('ended')
      expect(client.frames.at(-1)).toMatchObject({ type: 'truncated', reason: 'incarnation', incarnation })
    }
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('names the reason for a session that is deleted and created again while it is followed', async () => {
    const testServer = newServer()
    await testServer.completeRun('r1', 'hello')
    const client = testServer.follow()
    await settled()
    // Deletes the session before any follower has read.
    const deleted = testServer.manager.deleteStream(ID)
    const creating = testServer.manager.createStream(ID)
    await Promise.all([deleted, creating])
    expect(await client.closed).toBe('ended')
    expect(client.frames.at(-1)).toMatchObject({
      type: 'truncated',
      incarnation: (await cursorOf(testServer)).incarnation,
    })
  })

  test.each(['with entries', 'without entries'])(
    'is final for a session %s that is deleted while it is followed',
    async kind => {
      const testServer = newServer()
      if (kind === 'without entries') await testServer.manager.createStream(ID)
      else await testServer.completeRun('r1', 'hello')
      const clients = [testServer.follow(), testServer.follow({ after: '0' }), testServer.follow({ isNamed: true })]
      await settled()
      await testServer.manager.deleteStream(ID)
      for (const client of clients) {
        expect(await client.closed).toBe('ended')
        expect(client.frames.at(-1)).toMatchObject({
          type: 'fail',
          error: { code: 'session_unknown', retryable: false },
          recoverable: false,
        })
      }
      await settled()
      expect(testServer.resources).toEqual(NO_RESOURCES)
    },
  )

  test('is final for a session that is deleted before its entries are first read', async () => {
    const testServer = newServer()
    await testServer.manager.createStream(ID)
    const identity = await testServer.identity()
    let calls = 0
    testServer.instrumented.delay = async () => {
      if (++calls === 2) testServer.memory.logs.delete(ID)
    }
    const client = testServer.follow({ identity })
    expect(await client.closed).toBe('ended')
    expect(client.types).toEqual(['open', 'fail'])
  })
})

describe('a store that becomes unavailable', () => {
  test('is retried for a while, and no entry is missed', async () => {
    const testServer = new StreamServer({ manager: { coalesceMs: 0, retryTimeoutMs: 5_000 } })
    await testServer.completeRun('r1', 'hello')
    const client = testServer.follow()
    await settled()
    const other = testServer.otherManager({ coalesceMs: 0 })
    const writer = await other.createWriter(ID, { runId: 'r2', agentType: 'assistant' })
    await writer.commit([])
    await settled()
    testServer.instrumented.isDown = true
    const late = testServer.follow({ after: client.cursor })
    const word = writer.write(delta('later')).appended
    await testServer.clock.advance(2_000)
    expect(client.isClosed || late.isClosed).toBe(false)
    testServer.instrumented.isDown = false
    await testServer.clock.advance(1_500)
    await word
    await settled()
    expect(client.sequences.at(-1)).toBe(late.sequences.at(-1))
    expect(JSON.stringify(late.frames)).toContain('later')
  })

  test('fails recoverably for all followers if the retries end, and leaves nothing open', async () => {
    const testServer = new StreamServer({ manager: { coalesceMs: 0, retryTimeoutMs: 1_000 } })
    await testServer.completeRun('r1', 'hello')
    const clients = [testServer.follow(), testServer.follow(), testServer.follow({ isLive: false, after: '1' })]
    await settled()
    testServer.instrumented.isDown = true
    // Simulates an activity notification.
    testServer.memory.wake(ID)
    const late = testServer.follow()
    await testServer.clock.advance(10_000)
    for (const client of [clients[0], clients[1], late]) {
      expect(client?.isClosed).toBe(true)
      expect(client?.frames.at(-1)).toMatchObject({
        type: 'fail',
        error: { code: 'store_unavailable', retryable: true },
        recoverable: true,
      })
    }
    expect(testServer.logged.map(({ message }) => message)).toEqual(Array(3).fill('a stream failed'))
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })
})
