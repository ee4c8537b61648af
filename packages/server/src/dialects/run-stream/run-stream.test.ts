import type { Entry } from '@millrace/protocol'
import { agent, ProviderError, type Run, scriptedModel, tool } from '@millrace/runtime'
import { describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { Clock, settled } from '../../../../../scripts/clock.ts'
import { PAGE_BYTES } from '../../stream/stream-settings.ts'
import {
  type DialectServer,
  eventsOf,
  eventually,
  newClient,
  openDialectServer,
  type PlainEvent,
  plainFormat,
  requestWith,
  user,
  wordsOf,
} from '../dialect-server.fixture.ts'
import { type EventPosition, eventPositionIn } from './event-position.ts'

const a = user('a', 'u1')

/** A model that writes two words and fails, then succeeds. */
const flaky = agent({
  name: 'flaky',
  model: scriptedModel(({ options }) => {
    const attempt = Number(options.providerOptions?.['millrace']?.['attempt'])
    return attempt === 1
      ? { text: 'one two ', error: new ProviderError('provider_overloaded', 'not now', { retryable: true }) }
      : { text: 'three four five' }
  }),
})

const large = agent({
  name: 'large',
  model: scriptedModel([{ calls: [{ name: 'dump', input: {} }] }, { text: 'There.' }]),
  tools: [tool({ name: 'dump', inputSchema: z.object({}), execute: () => 'x'.repeat(100_000) })],
})

const EMITTED = 2_000

/** An agent with many entries that are never merged. */
const emitter = agent({
  name: 'emitter',
  model: scriptedModel([{ calls: [{ name: 'emit', input: {} }] }, { text: 'There.' }]),
  tools: [
    tool({
      name: 'emit',
      inputSchema: z.object({}),
      execute: (_, context) => {
        for (let i = 0; i < EMITTED; i++) context.emit('count', i)
        return null
      },
    }),
  ],
})

const positionOf = ({ place }: PlainEvent): EventPosition => eventPositionIn('place', String(place)) as EventPosition

/** Reads a run live from start to end. */
async function readEvents(
  at: DialectServer,
  name: string,
  session = 's',
): Promise<{ readonly run: Run; readonly events: PlainEvent[] }> {
  const client = await at.replyWithTurn(session, requestWith(a), { agent: name })
  expect(await client.closed).toBe('ended')
  const { view } = await at.services.runtime.view(session)
  return { run: at.run(session, view.runs.at(-1)?.runId ?? ''), events: eventsOf(client) }
}

describe('a run', () => {
  test('is streamed as it is written, to its end', async () => {
    const at = await openDialectServer()
    const { events } = await readEvents(at, 'teller')
    expect(wordsOf(events)).toBe('You said a')
    expect(events.at(-1)).toMatchObject({ type: 'end', status: 'completed' })
    expect(events.filter(({ type }) => type === 'end')).toHaveLength(1)
  })

  test('is streamed until it pauses, and continues from there after the answers', async () => {
    const at = await openDialectServer()
    const { events } = await readEvents(at, 'seller')
    expect(events.at(-1)).toMatchObject({ type: 'end', status: 'paused' })
    const answers = [
      { kind: 'approval', id: 'sell-0', approved: true },
      { kind: 'tool-result', id: 'locate-0', output: 'here' },
    ] as const
    const posted = { userMessages: [a], endsWithUserMessage: false, answers }
    const next = await at.replyWithTurn('s', posted, { agent: 'seller' })
    expect(await next.closed).toBe('ended')
    const more = eventsOf(next)
    expect(more[0]).toMatchObject({ type: 'resumed' })
    expect([wordsOf(events), wordsOf(more)]).toEqual(['0.', '1.'])
    // A repeated request gets the same events.
    const again = await at.replyWithTurn('s', posted, { agent: 'seller' })
    await again.closed
    expect(eventsOf(again)).toEqual(more)
  })

  test.each(['teller', 'seller', 'flaky'])(
    'of the agent %s resumes after every event, without gaps or duplicates',
    async name => {
      const at = await openDialectServer({
        agents: [...(await agents()), flaky],
        backoff: { firstMs: 1, longestMs: 1 },
      })
      const { run, events } = await readEvents(at, name)
      if (name === 'flaky') expect(events.some(({ type }) => type === 'step-discarded')).toBe(true)
      const endIndex = events.findIndex(({ type }) => type === 'end')
      expect(endIndex).toBeGreaterThan(5)
      for (let i = 0; i < endIndex; i++) {
        const client = await at.streamRun(run, { after: positionOf(events[i] as PlainEvent) })
        await client.closed
        const [first, ...rest] = eventsOf(client)
        expect(first).toMatchObject({ type: 'resumed' })
        expect(rest).toEqual(events.slice(i + 1))
      }
    },
  )

  test('is replayed merged and without discarded entries', async () => {
    const log = { coalesceMs: 0 }
    const at = await openDialectServer({
      agents: [flaky],
      workflows: [],
      backoff: { firstMs: 1, longestMs: 1 },
      log,
    })
    const { run, events } = await readEvents(at, 'flaky')
    const late = await at.streamRun(run)
    await late.closed
    expect(wordsOf(eventsOf(late))).toBe('three four five')
    expect(wordsOf(events)).toBe('one two three four five')
    expect(eventsOf(late).filter(({ type }) => type === 'text-delta')).toHaveLength(2)
    expect(events.filter(({ type }) => type === 'text-delta').length).toBeGreaterThan(4)
  })

  test('resumes after every mark', async () => {
    const at = await openDialectServer({ log: { coalesceMs: 0 } })
    const { run } = await readEvents(at, 'seller')
    const marked = { mark: (cursor: string) => `${JSON.stringify({ type: 'mark', cursor })}\n` }
    const first = await at.streamRun(run, { dialectFormat: marked })
    await first.closed
    const events = eventsOf(first)
    const marks = events.filter(({ type }) => type === 'mark')
    expect(marks.length).toBeGreaterThan(0)
    for (const { cursor } of marks) {
      const client = await at.streamRun(run, {
        after: eventPositionIn('mark', String(cursor)) as EventPosition,
        dialectFormat: marked,
      })
      await client.closed
      const isContent = ({ type }: PlainEvent) => type !== 'mark' && type !== 'resumed'
      const rest = events.slice(events.findIndex(event => event['cursor'] === cursor && event['type'] === 'mark'))
      expect(wordsOf(eventsOf(client))).toBe(wordsOf(rest))
      expect(eventsOf(client).filter(isContent)).toEqual(rest.filter(isContent))
    }
  })

  test('is streamed completely while a later run rewinds it, and replayed completely afterwards', async () => {
    const at = await openDialectServer()
    const first = newClient()
    await at.replyWithTurn('s', requestWith(a), { agent: 'slow' }, first)
    await eventually(() => expect(wordsOf(eventsOf(first))).not.toBe(''))
    const { view } = await at.services.runtime.view('s')
    const run = at.run('s', view.runs[0]?.runId ?? '')
    const second = await at.replyWithTurn('s', requestWith(user('b', 'u1')), { agent: 'slow' })
    expect(await first.closed).toBe('ended')
    expect(eventsOf(first).at(-1)).toMatchObject({ type: 'end', status: 'interrupted' })
    at.held.release()
    expect(await second.closed).toBe('ended')
    expect(eventsOf(second).at(-1)).toMatchObject({ type: 'end', status: 'completed' })
    const late = await at.streamRun(run)
    await late.closed
    expect(wordsOf(eventsOf(late))).toBe(wordsOf(eventsOf(first)))
  })

  test('ends as aborted if it is removed from the queue', async () => {
    const at = await openDialectServer()
    await at.replyWithTurn('s', requestWith(a), { agent: 'slow' })
    const client = await at.replyWithTurn('s', requestWith(a, user('b', 'u2')), { agent: 'slow' })
    const { view } = await at.services.runtime.view('s')
    await at.run('s', view.requests.at(-1)?.runId ?? '').stop()
    expect(await client.closed).toBe('ended')
    expect(eventsOf(client).at(-1)).toMatchObject({ type: 'end', status: 'aborted' })
    at.held.release()
  })

  test('is found by its position, without reading the entire session', async () => {
    const at = await openDialectServer()
    for (let n = 0; n < 10; n++) await at.runToEnd('s', requestWith(user(`m${n}`, `m${n}`)))
    const { run } = await at.takeTurn('s', requestWith(user('last', 'last')))
    await run.result()
    const from = (await at.log('s')).find(({ chunk }) => chunk.type === 'run-requested' && chunk.runId === run.runId)
    const reads = vi.spyOn(at.services.manager, 'readBatches')
    for (const after of [undefined, { sequence: from?.sequence ?? 0 }]) {
      const client = await at.streamRun(at.run('s', run.runId), after ? { after } : {})
      await client.closed
    }
    expect(reads.mock.calls).toHaveLength(2)
    for (const [, options] of reads.mock.calls)
      expect(Number(options?.after)).toBeGreaterThanOrEqual(from?.sequence ?? 0)
  })

  test('has its large values inlined', async () => {
    const at = await openDialectServer({ agents: [large], workflows: [] })
    const { events } = await readEvents(at, 'large')
    const output = events.find(({ type }) => type === 'tool-output-available')
    expect(output?.['output']).toBe('x'.repeat(100_000))
  })

  test('law 10: sends no internal entry', async () => {
    const at = await openDialectServer({ context: () => ({ token: 'a-secret' }) })
    const { run, events } = await readEvents(at, 'teller')
    const isInternal = ({ internal }: Entry) => internal === true
    const hidden = (await at.log('s')).filter(isInternal).map(({ sequence }) => sequence)
    expect(hidden.length).toBeGreaterThan(0)
    const again = await at.streamRun(run, { after: { sequence: 1 } })
    await again.closed
    for (const event of [...events, ...eventsOf(again)]) expect(hidden).not.toContain(positionOf(event).sequence)
    expect(JSON.stringify([events, again.text])).not.toContain('a-secret')
  })
})

describe('a connection', () => {
  test('law 8: buffers a bounded amount while the client reads nothing, and sends everything when it continues', async () => {
    const maxBufferedBytes = 16 * 1024
    const at = await openDialectServer({ agents: [emitter], workflows: [], stream: { maxBufferedBytes } })
    // The events are much larger than the entries.
    const long = 'x'.repeat(2_000)
    const dialectFormat = { write: (event: PlainEvent) => `${JSON.stringify({ ...event, long })}\n` }
    const { run } = await at.takeTurn('s', requestWith(a), { agent: 'emitter' })
    const clients = [newClient(), newClient()] as const
    for (const client of clients) client.isStalled = true
    await at.streamRun(run, { client: clients[0], dialectFormat })
    await run.result()
    await at.streamRun(run, { client: clients[1], dialectFormat })
    for (const client of clients) {
      await eventually(() => expect(client.buffered).toBeGreaterThan(maxBufferedBytes))
      client.receiveAll()
      expect(await client.closed).toBe('ended')
      expect(client.text.length).toBeGreaterThan(8 * PAGE_BYTES)
      const counts = eventsOf(client).flatMap(({ type, data }) => (type === 'data-count' ? [data] : []))
      expect(counts).toEqual(Array.from({ length: EMITTED }, (_, i) => i))
      // The events of a page, on top of the buffer limit.
      expect(client.peakBytes).toBeLessThan(maxBufferedBytes + 2 * PAGE_BYTES)
    }
  })

  test('law 7: breaks on shutdown if an end would look like success, and gets an error otherwise', async () => {
    const at = await openDialectServer()
    const client = await at.replyWithTurn('s', requestWith(a), { agent: 'slow' })
    const { view } = await at.services.runtime.view('s')
    const run = at.run('s', view.requests[0]?.runId ?? '')
    const fail = () => Buffer.from('{"type":"failed"}\n')
    const slowClient = await at.streamRun(run, { dialectFormat: { framing: { ...plainFormat.framing, fail } } })
    await eventually(() => expect(wordsOf(eventsOf(slowClient))).not.toBe(''))
    at.services.connections.drain()
    expect([await client.closed, await slowClient.closed]).toEqual(['destroyed', 'ended'])
    expect(eventsOf(client).some(({ type }) => type === 'end')).toBe(false)
    expect(eventsOf(slowClient).at(-1)).toEqual({ type: 'failed' })
    at.held.release()
  })

  test('breaks if the session is deleted', async () => {
    const at = await openDialectServer()
    const client = await at.replyWithTurn('s', requestWith(a), { agent: 'slow' })
    await eventually(() => expect(wordsOf(eventsOf(client))).not.toBe(''))
    await at.services.manager.deleteStream('s')
    expect(await client.closed).toBe('destroyed')
    at.held.release()
  })

  test('gets heartbeats, and is reauthorized for its action at intervals', async () => {
    const clock = new Clock()
    const permissions = { edit: true }
    const requests: string[] = []
    const at = await openDialectServer({
      timers: clock,
      stream: { heartbeatMs: 10_000, reauthorizeMs: 30_000 },
      authorize: ({ action, sessionId }) => {
        requests.push(`${action} ${sessionId}`)
        return action !== 'edit' || permissions.edit ? 'ann' : { refuse: 'not any more' }
      },
    })
    const idle = async () => {
      for (let i = 0; i < 20; i++) await settled()
    }
    const first = await at.replyWithTurn('s', requestWith(a), { agent: 'slow' })
    await idle()
    const client = await at.replyWithTurn('s', requestWith(user('b', 'u1')), { agent: 'slow' })
    await idle()
    await clock.advance(10_000)
    expect(eventsOf(client).some(({ type }) => type === 'heartbeat')).toBe(true)
    requests.length = 0
    await clock.advance(30_000)
    expect(requests).toContain('edit s')
    expect(client.isClosed).toBe(false)
    permissions.edit = false
    await clock.advance(60_000)
    expect(await client.closed).toBe('destroyed')
    first.disconnect()
    at.held.release()
  })

  test('takes a stream slot before it starts a run, and releases it when the client disconnects', async () => {
    const at = await openDialectServer({ limits: { streams: 1 } })
    const client = await at.replyWithTurn('s', requestWith(a), { agent: 'slow' })
    const full = await at.replyWithTurn('t', requestWith(a)).catch((error: { code: string }) => error.code)
    expect(full).toBe('streams_limit')
    expect(await at.services.manager.getInfo('t')).toBeNull()
    client.disconnect()
    await settled()
    // A refused request takes no slot.
    for (let i = 0; i < 3; i++) {
      const posted = { ...requestWith(a), forbiddenContent: 'nobody’s' }
      expect(await at.replyWithTurn('t', posted).catch((error: { code: string }) => error.code)).toBe(
        'transcript_refused',
      )
    }
    expect(await (await at.replyWithTurn('t', requestWith(a))).closed).toBe('ended')
    at.held.release()
  })
})

/** The agents of the test server. */
async function agents() {
  const { services } = await openDialectServer()
  return services.agents
}
