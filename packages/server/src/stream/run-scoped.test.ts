// One run on one connection, through the routes, from its start to its end or pause.

import { memoryStore } from '@millrace/log'
import { decodeSseStream, type Entry, type Frame } from '@millrace/protocol'
import { agent, scriptedModel, tool } from '@millrace/runtime'
import { describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import type { App } from '../app/app.ts'
import { echo, request, testApp } from '../app/test-app.fixture.ts'
import { heldAgent } from './held-agent.fixture.ts'
import type { FrameOf } from './slow-client.fixture.ts'
import { eventually, InstrumentedStore } from './stream-server.fixture.ts'

const counter = agent({
  name: 'counter',
  model: scriptedModel(({ lastText }) => ({ text: JSON.stringify({ words: lastText.split(' ').length }) })),
  outputSchema: z.object({ words: z.number() }),
})

const careful = agent({
  name: 'careful',
  model: scriptedModel(({ turnAnswers }) =>
    turnAnswers === 0 ? { calls: [{ name: 'send', input: {}, id: 'call' }] } : { text: 'Sent.' },
  ),
  tools: [tool({ name: 'send', inputSchema: z.object({}), approval: true, execute: () => 'sent' })],
})

const get = (app: App, path: string, headers: HeadersInit = {}) => app.fetch(request(path, undefined, { headers }))

async function all(frames: AsyncIterable<Frame>): Promise<Frame[]> {
  const read: Frame[] = []
  for await (const frame of frames) read.push(frame)
  return read
}

/** The frames of a reply, to its end. */
async function framesOf(response: Response): Promise<Frame[]> {
  expect(response.status).toBe(200)
  return all(decodeSseStream(response.body as ReadableStream<Uint8Array>))
}

const run = async (app: App, body: object, session = 's') =>
  framesOf(await app.fetch(request(`/api/sessions/${session}/runs`, body)))

const follow = async (app: App, runId: string, after?: string) =>
  framesOf(await get(app, `/api/sessions/s/stream?run=${runId}${after === undefined ? '' : `&after=${after}`}`))

const entriesIn = (frames: readonly Frame[]): Entry[] =>
  frames.flatMap(frame => (frame.type === 'entries' ? frame.entries : []))

const typesIn = (frames: readonly Frame[]): string[] => entriesIn(frames).map(({ chunk }) => chunk.type)

const cursorIn = (frames: readonly Frame[]): string =>
  (frames.findLast(({ type }) => type === 'entries') as FrameOf<'entries'>).cursor

/** The first frames of a reply, up to one of them, and a function that reads on. */
async function upTo(response: Response, isLast: (frame: Frame) => boolean) {
  const frames = decodeSseStream(response.body as ReadableStream<Uint8Array>)
  const read: Frame[] = []
  for (let next = await frames.next(); !next.done; next = await frames.next()) {
    read.push(next.value)
    if (isLast(next.value)) break
  }
  return { read, rest: () => all(frames), leave: () => frames.return?.() }
}

const codeOf = async (response: Response) => ({
  status: response.status,
  code: ((await response.json()) as { error: { code: string } }).error.code,
})

describe('a run', () => {
  test('is sent from its start to its end, with its output and its first position', async () => {
    const { app } = testApp({ agents: [echo, counter] })
    await run(app, { agent: 'echo', input: 'before' })
    const frames = await run(app, { agent: 'counter', input: 'one two three', runId: 'r' })
    expect(frames[0]).toMatchObject({ type: 'open', sessionId: 's' })
    expect(typesIn(frames)[0]).toBe('run-started')
    const last = entriesIn(frames).at(-1)
    expect(last?.chunk.type).toBe('run-finished')
    expect(frames.at(-1)).toEqual({
      type: 'end',
      status: 'completed',
      output: { words: 3 },
      sequence: last?.sequence,
    })
    // All that this connection may see, from the start.
    expect(frames[1]).toMatchObject({ type: 'entries', after: 0 })
    expect(entriesIn(frames).every(({ origin }) => origin.runId === 'r')).toBe(true)
  })

  test('is sent completely with its end long after it ended; a client that has all of it gets only the end', async () => {
    const { app } = testApp({ agents: [echo, counter] })
    const first = await run(app, { agent: 'counter', input: 'a b', runId: 'r1' })
    await run(app, { agent: 'echo', input: 'later', runId: 'r2' })
    const frames = await follow(app, 'r1')
    const end = first.at(-1)
    expect(frames.at(-1)).toEqual(end)
    expect(typesIn(frames).at(-1)).toBe('run-finished')
    expect(await follow(app, 'r1', cursorIn(frames))).toEqual([expect.objectContaining({ type: 'open' }), end])
    // A reader that starts in the middle gets the output too.
    const { sequence } = entriesIn(frames)[2] as Entry
    const rest = await follow(app, 'r1', `${sequence}`)
    expect(rest[1]).toMatchObject({ type: 'entries', after: sequence })
    expect(rest.at(-1)).toEqual(end)
  })

  test('is sent when it starts, if it was in the queue', async () => {
    const held = heldAgent()
    const { app } = testApp({ agents: [echo, held.agent] })
    const first = await upTo(
      await app.fetch(request('/api/sessions/s/runs', { agent: 'slow', input: 'x', runId: 'r1' })),
      frame => JSON.stringify(frame).includes('one'),
    )
    const runRequest = { agent: 'echo', input: 'hello', runId: 'r2', whenBusy: 'queue' }
    const second = await upTo(
      await app.fetch(request('/api/sessions/s/runs', runRequest)),
      ({ type }) => type === 'open',
    )
    const third = await upTo(await get(app, '/api/sessions/s/stream?run=r2'), ({ type }) => type === 'open')
    held.release()
    expect((await first.rest()).at(-1)).toMatchObject({ type: 'end', status: 'completed' })
    for (const { rest } of [second, third]) {
      const frames = await rest()
      expect(typesIn(frames)).toContain('run-started')
      expect(frames.at(-1)).toMatchObject({ type: 'end', status: 'completed' })
      expect(entriesIn(frames).every(({ origin }) => origin.runId === 'r2')).toBe(true)
    }
  })

  test('fails for good if its request is removed, and is refused without a stream later', async () => {
    const held = heldAgent()
    const { app } = testApp({ agents: [echo, held.agent] })
    const first = await upTo(
      await app.fetch(request('/api/sessions/s/runs', { agent: 'slow', input: 'x', runId: 'r1' })),
      frame => JSON.stringify(frame).includes('one'),
    )
    const runRequest = { agent: 'echo', input: 'hello', runId: 'r2', whenBusy: 'queue' }
    const second = await upTo(
      await app.fetch(request('/api/sessions/s/runs', runRequest)),
      ({ type }) => type === 'open',
    )
    await app.fetch(request('/api/sessions/s/stop', { runId: 'r2' }))
    expect((await second.rest()).at(-1)).toMatchObject({
      type: 'fail',
      error: { code: 'run_taken_back' },
      recoverable: false,
    })
    const refused = await codeOf(await get(app, '/api/sessions/s/stream?run=r2'))
    expect(refused).toEqual({ status: 409, code: 'run_taken_back' })
    held.release()
    await first.rest()
  })

  test('is sent as written after a later one rewound it', async () => {
    const { app } = testApp()
    const first = await run(app, { agent: 'echo', input: 'hello', runId: 'r1' })
    await framesOf(
      await app.fetch(request('/api/sessions/s/retry', { runId: 'r2' }, { headers: { accept: 'text/event-stream' } })),
    )
    const frames = await follow(app, 'r1')
    expect(typesIn(frames).filter(type => !type.startsWith('text-'))).toEqual(
      typesIn(first).filter(type => !type.startsWith('text-')),
    )
    expect(frames.at(-1)).toEqual(first.at(-1))
  })

  test('ends as paused while it waits for an answer, and resuming from its cursor gets the rest', async () => {
    const { app } = testApp({ agents: [careful] })
    const first = await run(app, { agent: 'careful', input: 'send it', runId: 'r1' })
    const end = first.at(-1) as FrameOf<'end'>
    expect(end).toMatchObject({ type: 'end', status: 'paused' })
    const cursor = cursorIn(first)
    expect(end.sequence).toBe((first.findLast(({ type }) => type === 'entries') as FrameOf<'entries'>).sequence)
    // While it waits there is nothing more.
    expect(await follow(app, 'r1', cursor)).toEqual([expect.objectContaining({ type: 'open' }), end])
    const [id] = entriesIn(first).flatMap(({ chunk }) =>
      chunk.type === 'tool-approval-request' ? [chunk.approvalId] : [],
    )
    const answered = await app.fetch(request('/api/sessions/s/answers', { kind: 'approval', id, approved: true }))
    expect(answered.status).toBe(200)
    const rest = await follow(app, 'r1', cursor)
    expect(rest.at(-1)).toMatchObject({ type: 'end', status: 'completed' })
    const sequences = [...entriesIn(first), ...entriesIn(rest)].map(({ sequence }) => sequence)
    expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b))
    expect(typesIn(rest)).toEqual(expect.arrayContaining(['tool-approval-response', 'run-finished']))
    const whole = await follow(app, 'r1')
    expect(entriesIn(whole).at(-1)).toEqual(entriesIn(rest).at(-1))
  })

  test('is refused without a stream if it does not exist', async () => {
    const { app } = testApp()
    await run(app, { agent: 'echo', input: 'hello' })
    expect(await codeOf(await get(app, '/api/sessions/s/stream?run=nobody'))).toEqual({
      status: 404,
      code: 'run_unknown',
    })
    expect(await codeOf(await get(app, '/api/sessions/t/stream?run=nobody'))).toEqual({
      status: 404,
      code: 'session_unknown',
    })
    expect(await codeOf(await get(app, '/api/sessions/s/stream?run=nobody&live=false'))).toEqual({
      status: 400,
      code: 'request_invalid',
    })
  })

  test('law 2: reports a position that is not in the log', async () => {
    const { app } = testApp()
    await run(app, { agent: 'echo', input: 'hello', runId: 'r1' })
    for (const after of ['99', '1.other.x']) {
      const frames = await follow(app, 'r1', after)
      expect(frames.map(({ type }) => type)).toEqual(['open', 'truncated'])
    }
  })

  test('fails for good if its session is deleted', async () => {
    const held = heldAgent()
    const { app } = testApp({ agents: [held.agent] })
    const { rest } = await upTo(
      await app.fetch(request('/api/sessions/s/runs', { agent: 'slow', input: 'x' })),
      frame => JSON.stringify(frame).includes('one'),
    )
    const { manager } = await app.runtime()
    await manager.deleteStream('s')
    expect((await rest()).at(-1)).toMatchObject({
      type: 'fail',
      error: { code: 'session_unknown' },
      recoverable: false,
    })
    held.release()
  })
})

test('a client that leaves during a run leaves nothing open', async () => {
  const held = heldAgent()
  const tap = new InstrumentedStore(memoryStore())
  const { app } = testApp({ agents: [held.agent], store: tap.store, engine: { pollMs: 20, graceMs: 0 } })
  await app.fetch(
    request(
      '/api/sessions/s/runs',
      { agent: 'slow', input: 'x', runId: 'r1' },
      { headers: { accept: 'application/json' } },
    ),
  )
  const runtime = await app.runtime()
  for await (const { chunk } of runtime.run('s', 'r1').stream()) if (chunk.type === 'text-delta') break
  const { watches } = tap
  const open = ({ type }: Frame) => type === 'open'
  const clients = [
    await upTo(await get(app, '/api/sessions/s/stream?run=r1'), frame => JSON.stringify(frame).includes('one')),
    await upTo(await get(app, '/api/sessions/s/stream?run=r1&after=1'), open),
  ]
  expect(tap.watches).toBeGreaterThan(watches)
  for (const { leave } of clients) await leave()
  await eventually(() => expect(tap.watches).toBe(watches))
  held.release()
})

describe('a client that disconnects', () => {
  const begin = async (onDisconnect: 'stop' | 'continue') => {
    const held = heldAgent()
    const { app } = testApp({ agents: [held.agent], engine: { pollMs: 20, graceMs: 0 } })
    const body = { agent: 'slow', input: 'x', runId: 'r1', onDisconnect }
    const { leave } = await upTo(await app.fetch(request('/api/sessions/s/runs', body)), frame =>
      JSON.stringify(frame).includes('one'),
    )
    const runtime = await app.runtime()
    return { app, held, leave, run: runtime.run('s', 'r1') }
  }

  test('stops its run if onDisconnect is stop', async () => {
    const { leave, run: started } = await begin('stop')
    await leave()
    expect(await started.result()).toMatchObject({ status: 'interrupted' })
  })

  test('does not stop its run by default', async () => {
    const { leave, held, run: started } = await begin('continue')
    await leave()
    held.release()
    expect(await started.result()).toMatchObject({ status: 'completed' })
  })

  test('is not assumed to have left when the server shuts down', async () => {
    const { app } = await begin('stop')
    const runtime = await app.runtime()
    const stop = vi.spyOn(runtime, 'stop')
    await app.close()
    expect(stop).not.toHaveBeenCalled()
  })
})
