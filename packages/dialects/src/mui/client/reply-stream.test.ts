import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ReplyStream } from './reply-stream.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const event = (eventId: string, chunk: object): string => `data: ${JSON.stringify({ eventId, chunk })}\n\n`
const delta = (eventId: string, words: string) => event(eventId, { type: 'text-delta', id: '0', delta: words })
const mark = (id: string) => event(id, { type: 'millrace' })

/** Reads a stream for `ms` of fake time. Returns its requests, its deltas, and how it ended: `open` if it did not. */
async function read(serve: (nth: number) => Response, status: () => string | undefined, ms = 600_000) {
  const requests: string[] = []
  const fetch: typeof globalThis.fetch = async url => {
    const { pathname, searchParams } = new URL(url as string)
    requests.push(`${pathname} ${searchParams.get('after') ?? ''}`.trim())
    return serve(requests.length)
  }
  const server = { api: 'http://peer.test/api/mui/a', root: 'http://peer.test/api', fetch }
  const abort = new AbortController()
  const stream = new ReplyStream({ server, sessionId: 's', runId: 'r', signal: abort.signal, status })
  const received: unknown[] = []
  const end = (async () => {
    for await (const piece of stream.events())
      received.push(...piece.map(({ event }) => (event as { delta?: unknown }).delta))
    return 'done'
  })().catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(ms)
  const found = await Promise.race([end, 'open'])
  abort.abort()
  return { requests, received, end: found }
}

test('gives up on a server that repeats the same mark, and emits its events once', async () => {
  const stream = event('0', { type: 'start', millrace: null }) + delta('5.a.b.0', 'x') + mark('5.a.b')
  const { requests, received, end } = await read(
    () => new Response(stream),
    () => undefined,
  )
  expect(end).toMatchObject({ code: 'dropped', retryable: true })
  expect(received.filter(Boolean)).toEqual(['x'])
  expect(new Set(requests)).toEqual(new Set(['/api/mui/a/s/stream', '/api/mui/a/s/stream 5.a.b']))
  expect(requests.length).toBeLessThan(12)
})

test('backs off from a server that resumes and pauses at once', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(1)
  const frames = (nth: number) =>
    [
      {
        type: 'open',
        protocol: 1,
        sessionId: 's',
        incarnation: 'i',
        head: nth,
        heartbeatMs: 1000,
        cursor: `${nth}.i.e`,
      },
      { type: 'entries', after: nth, sequence: nth + 1, entries: [ENTRY(nth + 1)], cursor: `${nth + 1}.i.e` },
    ]
      .map(frame => `data: ${JSON.stringify(frame)}\n\n`)
      .join('')
  const { requests, end } = await read(
    nth => new Response(nth % 2 === 1 ? mark('1.i.e') : frames(nth)),
    () => 'paused',
    10_000,
  )
  expect(end).toBe('open')
  expect(requests.filter(request => request.startsWith('/api/sessions/s/stream ')).length).toBeGreaterThan(5)
  // Each attempt sends two requests. The delays between attempts are 250, 500, 1,000, and then 2,000 ms.
  expect(requests).toHaveLength(16)
})

const ENTRY = (sequence: number) => ({
  sequence,
  timestamp: 1,
  origin: { guest: 'user' },
  chunk: { type: 'stop-requested', runId: 'x' },
})

test('rejects an invalid event', async () => {
  const { end } = await read(
    () => new Response('data: {no\n\n'),
    () => undefined,
  )
  expect(end).toMatchObject({ code: 'invalid-json' })
  const { end: other } = await read(
    () => new Response('data: 5\n\n'),
    () => undefined,
  )
  expect(other).toMatchObject({ code: 'invalid-frame' })
})
