import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { RequestError } from '../error/chat-error.ts'
import { chatOver, hello } from './chat.fixture.ts'
import { createStream, fetchNdjson, fetchServerSentEvents, fromAsyncIterable } from './streams.ts'

const runs = (n: number) => ({ numRuns: multiplied(n) })

/** A `fetch` that answers with a text in pieces of these sizes, and records whether the body was cancelled. */
function serving(text: string, sizes: readonly number[] = [], status = 200) {
  const bytes = new TextEncoder().encode(text)
  const state = { isCancelled: false, isAborted: false, headers: new Headers() }
  let at = 0
  let piece = 0
  const fetched = (async (_, init) => {
    state.headers = new Headers(init?.headers)
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        init?.signal?.addEventListener('abort', () => {
          state.isAborted = true
          controller.error(init.signal?.reason)
        })
      },
      pull(controller) {
        if (at >= bytes.length) return controller.close()
        const size = sizes[piece++ % Math.max(1, sizes.length)] ?? bytes.length
        controller.enqueue(bytes.slice(at, at + size))
        at += size
      },
      cancel() {
        state.isCancelled = true
      },
    })
    return new Response(body, { status })
  }) as typeof fetch
  return { fetch: fetched, state }
}

async function all<T>(stream: ReadableStream<T>): Promise<T[]> {
  const values: T[] = []
  for await (const value of stream) values.push(value)
  return values
}

const values = [{ type: 'a', text: 'é€😀\n' }, { type: 'b' }, { type: 'c', list: [1, null] }]

describe('createStream', () => {
  test('streams chunks in order, and stops when it is cancelled', async () => {
    expect(await all(createStream([...hello]))).toEqual(hello)
    const stream = createStream([...hello], 1)
    const reader = stream.getReader()
    expect(await reader.read()).toEqual({ done: false, value: hello[0] })
    await reader.cancel()
  })
})

describe('fetchServerSentEvents', () => {
  const sse = `\uFEFF: hello\r\nid: 1\r\nevent: x\r\ndata: ${JSON.stringify(values[0])}\r\n\r\n:\n\ndata:${JSON.stringify(values[1])}\n\ndata: {"type":"c",\rdata: "list":[1,null]}\r\rdata: [DONE]\n\ndata: not read\n\n`

  test('reads events however they are split: all line ends, comments, several data lines, [DONE]', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }), async sizes => {
        const { fetch, state } = serving(sse, sizes)
        expect(await all(await fetchServerSentEvents('/x', { fetch }))).toEqual(values)
        expect(state.isCancelled).toBe(true)
        expect(state.headers.get('accept')).toBe('text/event-stream')
      }),
      runs(60),
    )
  })

  test.each([
    ['data: {"type":"a"}\n\ndata: {"type":', 'expected the rest of an event'],
    ['data: {"type":"a"}\n\ndata: {"type":"b"}', 'expected the rest of an event'],
    ['data: {"type":"a"}\n\ndata: {"type":"b"}\n', 'expected the rest of an event'],
    ['data: {"type":"a"}\n\ndata: {oops\n\ndata: {"type":"b"}\n\n', 'expected JSON, found "{oops"'],
  ])('delivers values before an error: %j', async (text, problem) => {
    for (const size of [1, 1000]) {
      const reader = (await fetchServerSentEvents('/x', { fetch: serving(text, [size]).fetch })).getReader()
      expect(await reader.read()).toEqual({ done: false, value: { type: 'a' } })
      await expect(reader.read()).rejects.toThrow(problem)
    }
  })

  test('accepts an end without [DONE], and [DONE] without a blank line', async () => {
    for (const end of ['', 'data: [DONE]', ': bye\n', 'id: 7'])
      expect(await all(await fetchServerSentEvents('/x', serving(`data: {"a":1}\n\n${end}`)))).toEqual([{ a: 1 }])
  })

  test('law 8: bounds an event, in one line or many', async () => {
    for (const text of [`data: "${'x'.repeat(200)}`, 'data: x\n'.repeat(100)]) {
      const stream = await fetchServerSentEvents('/x', { ...serving(text, [50]), maxLength: 100 })
      await expect(all(stream)).rejects.toMatchObject({ code: 'line-too-long' })
    }
  })

  test('throws a RequestError with the code of a refusal', async () => {
    const typed = JSON.stringify({ error: { code: 'busy', message: 'Later.', retryable: true } })
    await expect(fetchServerSentEvents('/x', serving(typed, [], 409))).rejects.toMatchObject({
      name: 'RequestError',
      code: 'busy',
      status: 409,
      retryable: true,
    })
    await expect(fetchServerSentEvents('/x', serving('oops', [], 500))).rejects.toMatchObject({ code: 'http_500' })
    const down = (() => Promise.reject(new TypeError('fetch failed'))) as typeof fetch
    await expect(fetchServerSentEvents('/x', { fetch: down })).rejects.toBeInstanceOf(RequestError)
  })

  test('aborts at once, and cancels the body', async () => {
    const endless = () => serving('data: {"a":1}\n\n'.repeat(1000), [15])
    const controller = new AbortController()
    const first = endless()
    const reader = (await fetchServerSentEvents('/x', { ...first, signal: controller.signal })).getReader()
    await reader.read()
    controller.abort(new Error('enough'))
    await expect(reader.read()).rejects.toThrow('enough')
    const second = endless()
    const stream = await fetchServerSentEvents('/x', second)
    await stream.cancel()
    expect(second.state.isCancelled).toBe(true)
  })

  test('serves an adapter, and reports a body that is cut off as dropped', async () => {
    const text = hello.map(chunk => `data: ${JSON.stringify(chunk)}\n\n`).join('')
    const whole = chatOver({ sendMessage: () => fetchServerSentEvents('/x', serving(text, [7])) })
    await whole.turn()
    expect(whole.textOf('a1')).toEqual(['Hello world'])
    const cut = chatOver({ sendMessage: () => fetchServerSentEvents('/x', serving(text.slice(0, 150), [7])) })
    await cut.turn()
    expect(cut.log).toEqual(['error STREAM_ERROR', 'finish disconnect error'])
    const refused = chatOver({ sendMessage: () => fetchServerSentEvents('/x', serving('', [], 429)) })
    expect((await refused.turn()).error).toMatchObject({
      code: 'SEND_ERROR',
      retryable: true,
      details: { cause: 'http_429', status: 429 },
    })
  })
})

describe('fetchNdjson', () => {
  test('reads lines however they are split, skips blank ones, and needs no line end at the end', async () => {
    const text = `${values.map(value => JSON.stringify(value)).join('\r\n\n')}`
    for (const end of ['', '\n', '\r\n\r\n', '\n[DONE]\nnot read'])
      for (const size of [1, 2, 3, 1000]) {
        const { fetch } = serving(text + end, [size])
        expect(await all(await fetchNdjson('/x', { fetch }))).toEqual(values)
      }
  })

  test('throws at a line that is cut off', async () => {
    const reader = (await fetchNdjson('/x', serving('{"a":1}\n{"b":'))).getReader()
    expect(await reader.read()).toEqual({ done: false, value: { a: 1 } })
    await expect(reader.read()).rejects.toMatchObject({ code: 'invalid-json' })
  })
})

describe('fromAsyncIterable', () => {
  test('reads on demand, and ends the iteration when it is cancelled', async () => {
    const log: string[] = []
    async function* source() {
      try {
        for (let i = 0; ; i++) {
          log.push(`made ${i}`)
          yield i
        }
      } finally {
        log.push('ended')
      }
    }
    const stream = fromAsyncIterable(source())
    const reader = stream.getReader()
    expect(log).toEqual([])
    expect(await reader.read()).toEqual({ done: false, value: 0 })
    expect(await reader.read()).toEqual({ done: false, value: 1 })
    expect(log).toEqual(['made 0', 'made 1'])
    await reader.cancel()
    expect(log).toEqual(['made 0', 'made 1', 'ended'])
  })

  test('passes errors on, takes plain iterables, and cancels without waiting', async () => {
    async function* broken() {
      yield 1
      throw new Error('broken')
    }
    const reader = fromAsyncIterable(broken()).getReader()
    await reader.read()
    await expect(reader.read()).rejects.toThrow('broken')
    expect(await all(fromAsyncIterable([1, 2, 3]))).toEqual([1, 2, 3])
    const { promise: never } = Promise.withResolvers<void>()
    async function* stuck() {
      await never
      yield 1
    }
    const waiting = fromAsyncIterable(stuck()).getReader()
    void waiting.read().catch(() => {})
    await waiting.cancel()
  })
})
