// Servers of providers that send without end, reached through the packages of the providers.

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { describe, expect, test } from 'vitest'
import { boundedFetch } from '../../model/bounded-fetch.ts'
import { AgentHarness, chunksOf, type TestAgentOptions } from '../../model/model-run.fixture.ts'
import { type Handle, hangingServer } from './hanging-server.fixture.ts'
import { anthropicWire, openaiWire } from './raw-server.fixture.ts'

const apiKey = 'sk-key-of-a-test'
const fetch = boundedFetch({ maxBytes: 100_000 })
const WORDS = ['It ', 'is ', 'warm.']

const PROVIDERS = [
  {
    name: '@ai-sdk/openai-compatible',
    wire: openaiWire,
    model: (baseURL: string) => createOpenAICompatible({ name: 'maker', baseURL, apiKey, fetch })('gpt-test'),
    /** One more event with text. */
    event: 'data: {"choices":[{"index":0,"delta":{"content":"so "}}]}\n\n',
  },
  {
    name: '@ai-sdk/anthropic',
    wire: anthropicWire,
    model: (baseURL: string) => createAnthropic({ baseURL, apiKey, fetch })('claude-sonnet-4-5'),
    event:
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"so "}}\n\n',
  },
]

/** Sends the start of a body, then a text again and again for as long as the client reads. */
const endless =
  (start: string, again: string, type = 'text/event-stream', status = 200): Handle =>
  response => {
    response.writeHead(status, { 'content-type': type }).write(start)
    const send = () => {
      if (!response.destroyed) response.write(again, () => setImmediate(send))
    }
    send()
  }

describe.each(PROVIDERS)('$name', ({ wire, model, event }) => {
  const body = wire.text(WORDS)
  /** The body up to the last event with text. */
  const start = body.slice(0, body.indexOf('\n\n', body.indexOf('warm.')) + 2)

  async function runAgainst(handle: Handle, options: TestAgentOptions = {}) {
    const server = await hangingServer(handle)
    const harness = new AgentHarness(model(server.url), { maxRetries: 0, ...options })
    const { result, entries } = await harness.run()
    await Promise.all(server.closed)
    await harness.close()
    const text = chunksOf(entries, 'text-delta')
      .map(({ delta }) => delta)
      .join('')
    return { result, text }
  }

  test('cuts off an answer without end, keeps its text, and closes the connection', async () => {
    const { result, text } = await runAgainst(endless(start, event), { modelLimits: { answerBytes: 20_000 } })
    expect(result).toMatchObject({ status: 'failed', error: { code: 'budget_answer' } })
    expect(text).toMatch(/^It is warm\.(so )+$/)
  })

  test.each([
    ['a line', `data: "`, 'x'.repeat(10_000)],
    ['lines', '', `data: ${'x'.repeat(1000)}\r\n`],
  ])('cuts off an event that has %s without end', async (_, head, again) => {
    const { result } = await runAgainst(endless(start + head, again))
    expect(result).toMatchObject({ status: 'failed', error: { code: 'provider_error' } })
  })

  test('cuts off a refusal without end', async () => {
    const { result } = await runAgainst(endless('{"error":"', 'x'.repeat(10_000), 'application/json', 400))
    expect(result.status).toBe('failed')
  })
})

describe('a response below its limit is not changed', () => {
  const event = `data: ${'x'.repeat(40)}`
  /** Sends a text in pieces of this length. */
  const inPieces = (text: string, length: number): Response => {
    const bytes = Buffer.from(text)
    let at = 0
    const pull = (controller: ReadableStreamDefaultController) => {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.subarray(at, at + length))
      at += length
    }
    return new Response(new ReadableStream({ pull }), {
      headers: { 'content-type': 'text/event-stream; charset=utf-8' },
    })
  }

  test.each([
    ['\n\n', 1],
    ['\n\n', 7],
    ['\n\n', 1000],
    ['\r\n\r\n', 1],
    ['\r\n\r\n', 2],
    ['\r\n\r\n', 7],
    ['\r\n\r\n', 1000],
  ])('events that end with %j, in pieces of %i bytes', async (end, length) => {
    const text = `${event}${end}`.repeat(20)
    const get = boundedFetch({ maxBytes: length < 1000 ? 64 : 1000, fetch: async () => inPieces(text, length) })
    expect(await (await get('http://maker.example')).text()).toBe(text)
  })

  test('a response without a body', async () => {
    const get = boundedFetch({ fetch: async () => new Response(null, { status: 204 }) })
    expect((await get('http://maker.example')).status).toBe(204)
  })
})

test('rejects a limit that is not valid', () => {
  expect(() => boundedFetch({ maxBytes: 0 })).toThrow('boundedFetch: maxBytes: expected a number above 0, found 0')
})
