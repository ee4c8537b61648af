import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { millraceTransport } from './transport.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A response that breaks after it has said something. */
function breaking(text: string): Response {
  let isSaid = false
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (isSaid) return controller.error(new TypeError('terminated'))
      isSaid = true
      controller.enqueue(new TextEncoder().encode(text))
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream', 'x-run-id': 'r' } })
}

const delta = (words: string) => `data: {"type":"text-delta","id":"0","delta":"${words}"}\n\n`

/** Sends a message to a server, waits for as long as anybody would, and gives what was heard and asked. */
async function sent(serve: (nth: number, request: Request) => Response, ms = 600_000) {
  const asked: string[] = []
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const request = new Request(url as string, init)
    asked.push(`${request.method} ${request.headers.get('last-event-id') ?? ''}`.trim())
    return serve(asked.length, request)
  }
  const transport = millraceTransport({ api: 'http://peer.test/api', fetch })
  const asking = { chatId: 'c', trigger: 'submit-message', messageId: undefined, messages: [] } as const
  const stream: ReadableStream<{ delta?: string }> = await transport.sendMessages(asking)
  const heard: (string | undefined)[] = []
  const read = (async () => {
    for await (const chunk of stream) heard.push(chunk.delta)
  })()
  const end = read.then(
    () => 'done',
    (error: unknown) => error,
  )
  await vi.advanceTimersByTimeAsync(ms)
  return { asked, heard, end: await Promise.race([end, 'open']) }
}

test('a server that marks the same place again and again, and breaks, is given up; what it says again is said once', async () => {
  const { asked, heard, end } = await sent(() => breaking(`${delta('x')}id: 5.a.b\n\n`))
  expect(end).toMatchObject({ code: 'connection_lost', retryable: true })
  expect(heard).toEqual(['x'])
  expect(asked[0]).toBe('POST')
  expect(new Set(asked.slice(1))).toEqual(new Set(['GET 5.a.b']))
  expect(asked.length).toBeLessThan(12)
})

test('a server that breaks after every place is asked at intervals, and all is said once', async () => {
  const { asked, heard, end } = await sent(nth => breaking(`${delta(`${nth}`)}id: ${nth}\n\n`), 10_000)
  expect(end).toBe('open')
  expect(asked.length).toBeGreaterThan(8)
  expect(asked.length).toBeLessThan(32)
  expect(heard).toEqual(Array.from({ length: asked.length }, (_, i) => `${i + 1}`))
})

test('a run that has a name is asked for once, also where nothing of it was heard', async () => {
  const whole = `${delta('x')}id: 1\n\ndata: [DONE]\n\n`
  const { asked, heard, end } = await sent(nth => breaking(nth === 1 ? delta('x') : whole))
  expect([end, heard]).toEqual(['done', ['x']])
  expect(asked).toEqual(['POST', 'GET'])
})

test.each([
  ['no JSON', 'data: {no\n\n', 'invalid-json'],
  ['longer than any event may be', `data: ${'x'.repeat(17 * 1024 * 1024)}`, 'line-too-long'],
])('what is %s is said to be, and not asked for again', async (_, text, code) => {
  const { asked, end } = await sent(() => breaking(`${delta('x')}id: 1\n\n${text}`))
  expect(end).toMatchObject({ name: 'RequestError', code, retryable: false })
  expect(asked).toHaveLength(1)
})
