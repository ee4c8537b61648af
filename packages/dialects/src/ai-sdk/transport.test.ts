import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { millraceTransport } from './transport.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** A response that fails after the text. */
function droppingResponse(text: string): Response {
  let isSent = false
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (isSent) return controller.error(new TypeError('terminated'))
      isSent = true
      controller.enqueue(new TextEncoder().encode(text))
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream', 'x-run-id': 'r' } })
}

const delta = (text: string) => `data: {"type":"text-delta","id":"0","delta":"${text}"}\n\n`

/** Sends a message, advances the time, and returns the requests and the received deltas. */
async function sendMessage(serve: (nth: number, request: Request) => Response, ms = 600_000) {
  const requests: string[] = []
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const request = new Request(url as string, init)
    requests.push(`${request.method} ${request.headers.get('last-event-id') ?? ''}`.trim())
    return serve(requests.length, request)
  }
  const transport = millraceTransport({ api: 'http://peer.test/api', fetch })
  const chatRequest = { chatId: 'c', trigger: 'submit-message', messageId: undefined, messages: [] } as const
  const stream: ReadableStream<{ delta?: string }> = await transport.sendMessages(chatRequest)
  const received: (string | undefined)[] = []
  const read = (async () => {
    for await (const chunk of stream) received.push(chunk.delta)
  })()
  const end = read.then(
    () => 'done',
    (error: unknown) => error,
  )
  await vi.advanceTimersByTimeAsync(ms)
  return { requests, received, end: await Promise.race([end, 'open']) }
}

test('gives up on a server that repeats the same mark and drops, and emits repeated chunks once', async () => {
  const { requests, received, end } = await sendMessage(() => droppingResponse(`${delta('x')}id: 5.a.b\n\n`))
  expect(end).toMatchObject({ code: 'connection_lost', retryable: true })
  expect(received).toEqual(['x'])
  expect(requests[0]).toBe('POST')
  expect(new Set(requests.slice(1))).toEqual(new Set(['GET 5.a.b']))
  expect(requests.length).toBeLessThan(12)
})

test('backs off from a server that drops after every mark, and emits every chunk once', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(1)
  const { requests, received, end } = await sendMessage(
    nth => droppingResponse(`${delta(`${nth}`)}id: ${nth}\n\n`),
    10_000,
  )
  expect(end).toBe('open')
  // After delays of 250, 500 and 1,000 ms, one every 2,000 ms.
  expect(requests).toHaveLength(8)
  expect(received).toEqual(Array.from({ length: requests.length }, (_, i) => `${i + 1}`))
})

test('reconnects by run id, even without a mark', async () => {
  const whole = `${delta('x')}id: 1\n\ndata: [DONE]\n\n`
  const { requests, received, end } = await sendMessage(nth => droppingResponse(nth === 1 ? delta('x') : whole))
  expect([end, received]).toEqual(['done', ['x']])
  expect(requests).toEqual(['POST', 'GET'])
})

test.each([
  ['not JSON', 'data: {no\n\n', 'invalid-json'],
  ['longer than the limit', `data: ${'x'.repeat(17 * 1024 * 1024)}`, 'line-too-long'],
])('fails without a retry on data that is %s', async (_, text, code) => {
  const { requests, end } = await sendMessage(() => droppingResponse(`${delta('x')}id: 1\n\n${text}`))
  expect(end).toMatchObject({ name: 'RequestError', code, retryable: false })
  expect(requests).toHaveLength(1)
})
