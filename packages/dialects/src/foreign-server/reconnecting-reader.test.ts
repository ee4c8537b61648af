// Servers that drop every connection: how often the reader reconnects, and what the view shows.

import type { View } from '@millrace/protocol'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { aiSdk } from '../ai-sdk/server.ts'
import { helix } from '../helix/server.ts'
import { tanstack } from '../tanstack/server.ts'
import type { ForeignConnection } from './foreign-connection.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

type Serve = (request: Request, nth: number) => Response

/** A `fetch` that records its requests. */
function serving(serve: Serve) {
  const requests: string[] = []
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const request = new Request(url as string, init)
    requests.push(`${request.method} ${new URL(request.url).pathname}`)
    return serve(request, requests.length)
  }
  return { requests, options: { api: 'http://peer.test/api', fetch } }
}

const sse = (...events: readonly (object | string)[]): Response =>
  new Response(events.map(one => (typeof one === 'string' ? one : `data: ${JSON.stringify(one)}\n\n`)).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  })

/** Sends a message, waits, and returns the view. */
async function viewAfter(connection: ForeignConnection, ms = 600_000): Promise<View> {
  const input = { parts: [{ type: 'text', text: 'Hi' }] }
  await connection.api.ask('POST', '/sessions/s/runs', { runId: 'r', messageId: 'm', input })
  await vi.advanceTimersByTimeAsync(ms)
  return new Promise(resolve => {
    connection.follow('s', { snapshot: ({ view }) => resolve(view), entries: () => {} })
  })
}

const endOf = ({ runs, messages }: View) => ({
  status: runs.at(-1)?.status,
  code: runs.at(-1)?.error?.code,
  text: messages
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ parts }) => parts.flatMap(part => (part.type === 'text' ? [part.text] : [])))
    .join('|'),
})

const LOST = { status: 'failed', code: 'connection_lost' }

const helixDelta = (delta: string, sequence?: number) => ({
  type: 'chunk',
  ...(sequence !== undefined && { sequence }),
  chunk: { type: 'text_delta', delta, agentId: 'a', agentType: 'a', timestamp: 1 },
})

test('Helix: does not resume without a sequence, since that would start another run', async () => {
  const { requests, options } = serving(() => sse(helixDelta('x')))
  expect(endOf(await viewAfter(helix(options)))).toEqual({ ...LOST, text: 'x' })
  expect(requests).toEqual(['POST /api/start'])
})

test('Helix: does not resume a reply without events', async () => {
  const { requests, options } = serving(() => sse())
  expect(endOf(await viewAfter(helix(options)))).toEqual({ ...LOST, text: '' })
  expect(requests).toEqual(['POST /api/start'])
})

test('Helix: resumes after the sequence of the last event', async () => {
  const sequences: (string | null)[] = []
  const { requests, options } = serving(({ headers }, nth) => {
    sequences.push(headers.get('x-resume-from-sequence'))
    return nth === 1 ? sse(helixDelta('one ', 1)) : sse(helixDelta('two', 2), { type: 'end' })
  })
  expect(endOf(await viewAfter(helix(options)))).toMatchObject({ status: 'completed', text: 'one two' })
  expect(requests).toEqual(['POST /api/start', 'GET /api/sse'])
  expect(sequences).toEqual([null, '1'])
})

test('Helix: gives up on a server that restarts each time, and shows its text once', async () => {
  const { requests, options } = serving(() => sse(helixDelta('one '), helixDelta('two', 1)))
  expect(endOf(await viewAfter(helix(options)))).toEqual({ ...LOST, text: 'one two' })
  expect(requests.length).toBeLessThan(12)
  expect(requests.filter(one => one.startsWith('POST'))).toHaveLength(1)
})

/** AG-UI events up to a text, each with an id. */
const agUiEvents = (words: string, id: (i: number) => string): string =>
  [
    { type: 'RUN_STARTED', threadId: 't', runId: 'r' },
    { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
    ...words.split(/(?<= )/).map(delta => ({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta })),
  ]
    .map((event, i) => `${id(i)}data: ${JSON.stringify(event)}\n\n`)
    .join('')

test('TanStack AI: does not resume without ids', async () => {
  const { requests, options } = serving(() => sse(agUiEvents('x', () => '')))
  expect(endOf(await viewAfter(tanstack(options)))).toEqual({ ...LOST, text: 'x' })
  expect(requests).toHaveLength(1)
})

test.each([
  ['the same text and ids', () => 'x y', (i: number) => `id: a${i}\n`, 'x y'],
  ['another text and the same ids', (nth: number) => `try ${nth}`, (i: number) => `id: a${i}\n`, 'try 2'],
  ['the same text and other ids', () => 'x y', (i: number, nth: number) => `id: ${nth}-${i}\n`, 'x y'],
])(
  'TanStack AI: reconnects once to a server that restarts with %s, and shows no text twice',
  async (_, words, id, text) => {
    const { requests, options } = serving((_, nth) => sse(agUiEvents(words(nth), i => id(i, nth))))
    expect(endOf(await viewAfter(tanstack(options)))).toEqual({ ...LOST, text })
    expect(requests).toHaveLength(2)
  },
)

test('TanStack AI: shows events once that the server repeats before the position', async () => {
  const all = agUiEvents('one two three', i => `id: a${i}\n`).split(/(?<=\n\n)/)
  const end = `id: z\ndata: ${JSON.stringify({ type: 'RUN_FINISHED', threadId: 't', runId: 'r' })}\n\n`
  const { requests, options } = serving((_, nth) => sse(...(nth === 1 ? all.slice(0, 4) : [...all.slice(2), end])))
  expect(endOf(await viewAfter(tanstack(options)))).toMatchObject({ status: 'completed', text: 'one two three' })
  expect(requests).toHaveLength(2)
})

test('AI SDK: gives up on a server that sends another text each time', async () => {
  const { requests, options } = serving((_, nth) =>
    sse({ type: 'start' }, { type: 'text-start', id: '0' }, { type: 'text-delta', id: '0', delta: `try ${nth}` }),
  )
  expect(endOf(await viewAfter(aiSdk({ ...options, resume: true })))).toMatchObject(LOST)
  expect(requests.filter(one => one.startsWith('POST'))).toHaveLength(1)
  expect(requests.length).toBeLessThan(25)
})

// Delays of 250, 500, 1,000 and then 2,000 ms each, as a server that makes progress gets them; jitter halves them at most.
test.each([
  { jitter: 'the longest', random: 1, count: 8 },
  { jitter: 'the shortest', random: 0, count: 13 },
])(
  'AI SDK: reconnects after $jitter delays to a server that sends one word more each time',
  async ({ random, count }) => {
    vi.spyOn(Math, 'random').mockReturnValue(random)
    const { requests, options } = serving((_, nth) =>
      sse(
        { type: 'start' },
        { type: 'text-start', id: '0' },
        ...Array.from({ length: nth }, (_, i) => ({ type: 'text-delta', id: '0', delta: `${i} ` })),
      ),
    )
    const view = await viewAfter(aiSdk({ ...options, resume: true }), 10_000)
    expect(requests).toHaveLength(count)
    expect(endOf(view).text).toBe(Array.from({ length: count }, (_, i) => `${i} `).join(''))
  },
)
