// The adapter samples of the streaming page of MUI X Chat, verbatim, and every row of its chunk table.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { ChatAdapter, ChatMessageChunk, ChatMessagePart } from '../index.ts'
import { createStream as exported } from '../index.ts'
import { chatOf, chatOver } from './chat.fixture.ts'
import { toChatMessage } from './chat-message.ts'

function createStream(chunks: ChatMessageChunk[], delayMs = 0): ReadableStream<ChatMessageChunk> {
  return new ReadableStream({
    async start(controller) {
      for (const chunk of chunks) {
        if (delayMs > 0) {
          await new Promise(r => setTimeout(r, delayMs))
        }
        controller.enqueue(chunk)
      }
      controller.close()
    },
  })
}

async function fromSSE(url: string, signal: AbortSignal): Promise<ReadableStream<ChatMessageChunk>> {
  const response = await fetch(url, { signal })
  // biome-ignore lint/style/noNonNullAssertion: the sample has it
  const reader = response.body!.getReader()
  const decoder = new TextDecoder()

  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) {
        controller.close()
        return
      }
      const chunk = JSON.parse(decoder.decode(value))
      controller.enqueue(chunk)
    },
  })
}

const reply: ChatMessageChunk[] = [
  { type: 'start', messageId: 'a1' },
  { type: 'text-start', id: 't1' },
  { type: 'text-delta', id: 't1', delta: 'Hello' },
  { type: 'text-delta', id: 't1', delta: ' world' },
  { type: 'text-end', id: 't1' },
  { type: 'finish', messageId: 'a1' },
]

describe('an adapter from the documentation', () => {
  test.each([
    ['the documented createStream', createStream],
    ['the exported createStream', exported],
  ] as const)('streams a reply with %s, without and with a delay', async (_, helper) => {
    for (const delay of [0, 2]) {
      const adapter: ChatAdapter = { sendMessage: async () => helper(reply, delay) }
      const { turn, messages, log } = chatOver(adapter)
      await turn()
      expect(messages()).toMatchObject([
        { id: 'u1', role: 'user', status: 'sent', parts: [{ type: 'text', text: 'hi' }] },
        { id: 'a1', role: 'assistant', status: 'sent', parts: [{ type: 'text', text: 'Hello world', state: 'done' }] },
      ])
      expect(log).toEqual(['finish'])
    }
  })

  test('streams a reply with the documented fromSSE, where each read is one chunk', async () => {
    const rest = [...reply]
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      const next = () => {
        const chunk = rest.shift()
        if (!chunk) response.end()
        // One packet for each chunk: the sample relies on it.
        else response.write(JSON.stringify(chunk), () => setTimeout(next, 15))
      }
      next()
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const { turn, textOf, log } = chatOver({ sendMessage: ({ signal }) => fromSSE(url, signal) })
      await turn()
      expect(textOf('a1')).toEqual(['Hello world'])
      expect(log).toEqual(['finish'])
    } finally {
      server.close()
      server.closeAllConnections()
    }
  })
})

const partsOf = async (...chunks: unknown[]): Promise<readonly ChatMessagePart[]> => {
  const { turn, messages } = chatOf([
    { type: 'start', messageId: 'a1' },
    ...chunks,
    { type: 'finish', messageId: 'a1' },
  ])
  await turn()
  return messages()[1]?.parts ?? []
}

describe('every row of the chunk table', () => {
  test('start, finish: shows a message, and reports its finish reason in onFinish', async () => {
    const { turn, messages, calls } = chatOf([
      { type: 'start', messageId: 'a1', author: { id: 'bot', displayName: 'Bot' } },
      { type: 'finish', messageId: 'a1', finishReason: 'because' },
    ])
    await turn()
    expect(messages()[1]).toMatchObject({ id: 'a1', status: 'sent', parts: [], author: { id: 'bot' } })
    expect(calls.finishes).toMatchObject([{ finishReason: 'because', message: { id: 'a1', finishReason: 'other' } }])
  })

  test('abort: cancels the message without an error', async () => {
    const { turn, messages, log, chat } = chatOf([
      { type: 'start', messageId: 'a1' },
      { type: 'text-delta', id: 't', delta: 'Hel' },
      { type: 'abort', messageId: 'a1' },
    ])
    await turn()
    expect(messages()).toMatchObject([
      { status: 'cancelled' },
      { status: 'cancelled', parts: [{ text: 'Hel', state: 'done' }] },
    ])
    expect(log).toEqual(['finish abort'])
    expect(chat.state).toMatchObject({ status: 'ready', error: undefined })
  })

  test('text-*, reasoning-*: shows separate parts, also if they interleave', async () => {
    expect(
      await partsOf(
        { type: 'reasoning-start', id: 'x' },
        { type: 'text-start', id: 'x' },
        { type: 'reasoning-delta', id: 'x', delta: 'a' },
        { type: 'text-delta', id: 'x', delta: 'b' },
        { type: 'text-delta', id: 'y', delta: 'c' },
        { type: 'text-delta', id: 'x', delta: 'd' },
        { type: 'reasoning-end', id: 'x' },
        { type: 'text-end', id: 'x' },
      ),
    ).toEqual([
      { type: 'reasoning', text: 'a', state: 'done' },
      { type: 'text', text: 'bd', state: 'done' },
      { type: 'text', text: 'c', state: 'done' },
    ])
  })

  test('starts a new part for an id that ended, and ignores a lone end', async () => {
    expect(
      await partsOf(
        { type: 'text-end', id: 't' },
        { type: 'text-delta', id: 't', delta: 'one' },
        { type: 'text-end', id: 't' },
        { type: 'text-start', id: 't' },
        { type: 'text-start', id: 't' },
        { type: 'text-delta', id: 't', delta: 'two' },
        { type: 'text-end', id: 't' },
        { type: 'text-delta', id: 't', delta: 'three' },
      ),
    ).toEqual(['one', 'two', 'three'].map(text => ({ type: 'text', text, state: 'done' })))
  })

  test('tool-input-start, -delta, -available, tool-output-available: shows one part with a streaming input', async () => {
    const { turn, messages, calls, chat } = chatOf([
      { type: 'start', messageId: 'a1' },
      { type: 'tool-input-start', toolCallId: 'c', toolName: 'search' },
      { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '{"query":"wea' },
      { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: 'ther"}' },
      { type: 'tool-input-available', toolCallId: 'c', toolName: 'search', input: { query: 'weather' } },
      { type: 'tool-output-available', toolCallId: 'c', output: 'some', preliminary: true },
      { type: 'tool-output-available', toolCallId: 'c', output: ['sunny'] },
      { type: 'finish', messageId: 'a1' },
    ])
    const inputs = new Set<string>()
    chat.store.subscribe(['any'], () => {
      const part = chat.store.messages.map(toChatMessage)[1]?.parts[0]
      if (part?.type === 'tool' && 'toolInvocation' in part) inputs.add(JSON.stringify(part.toolInvocation.input))
    })
    await turn()
    expect(messages()[1]?.parts).toEqual([
      {
        type: 'tool',
        toolInvocation: {
          toolCallId: 'c',
          toolName: 'search',
          state: 'output-available',
          input: { query: 'weather' },
          output: ['sunny'],
        },
      },
    ])
    expect(calls.tools).toEqual(['input-streaming', 'input-available', 'output-available'])
    expect([...inputs]).toContain('{"query":"wea"}')
  })

  test('shows a preliminary output as progress', async () => {
    const { chat, until } = chatOver({
      sendMessage: async () =>
        createStream([
          { type: 'start', messageId: 'a1' },
          { type: 'tool-input-available', toolCallId: 'c', toolName: 'search', input: {} },
          { type: 'tool-output-available', toolCallId: 'c', output: 1, preliminary: true },
          { type: 'finish', messageId: 'a1' },
        ]),
    })
    const seen: unknown[] = []
    chat.store.subscribe(['any'], () =>
      seen.push((chat.store.messages.map(toChatMessage)[1]?.parts[0] as never)?.['toolInvocation']),
    )
    await chat.sendMessage('hi')
    await until(() => chat.state.status === 'ready')
    expect(seen).toContainEqual({
      toolCallId: 'c',
      toolName: 'search',
      state: 'output-available',
      input: {},
      output: 1,
      preliminary: true,
    })
  })

  test('tool-input-start with dynamic: shows a dynamic tool', async () => {
    expect(
      await partsOf(
        { type: 'tool-input-start', toolCallId: 'c', toolName: 'any', dynamic: true },
        { type: 'tool-input-available', toolCallId: 'c', toolName: 'any', input: 1, dynamic: true },
        { type: 'tool-output-available', toolCallId: 'c', output: 2 },
      ),
    ).toMatchObject([{ type: 'dynamic-tool', toolInvocation: { state: 'output-available', input: 1, output: 2 } }])
  })

  test('tool-input-error, tool-output-error: fail the call', async () => {
    const parts = await partsOf(
      { type: 'tool-input-start', toolCallId: 'a', toolName: 'x' },
      { type: 'tool-input-error', toolCallId: 'a', errorText: 'bad input' },
      { type: 'tool-input-available', toolCallId: 'b', toolName: 'x', input: {} },
      { type: 'tool-output-error', toolCallId: 'b', errorText: 'broken' },
      { type: 'tool-input-error', toolCallId: 'nobody', errorText: 'nothing' },
    )
    expect(parts).toMatchObject([
      { toolInvocation: { toolCallId: 'a', state: 'output-error', errorText: 'bad input' } },
      { toolInvocation: { toolCallId: 'b', state: 'output-error', errorText: 'broken' } },
    ])
    expect(parts).toHaveLength(2)
  })

  test('tool-approval-request: shows a pending call without a start, also a dynamic one', async () => {
    const [one, two] = await partsOf(
      { type: 'tool-approval-request', toolCallId: 'a', toolName: 'rm', input: { path: '/' } },
      { type: 'tool-approval-request', toolCallId: 'b', toolName: 'rm', input: 1, approvalId: 'p', dynamic: true },
    )
    expect(one).toEqual({
      type: 'tool',
      toolInvocation: { toolCallId: 'a', toolName: 'rm', state: 'approval-requested', input: { path: '/' } },
    })
    expect(two).toMatchObject({ type: 'dynamic-tool', toolInvocation: { approvalId: 'p' } })
  })

  test('tool-output-denied: denies the call with and without a request for approval', async () => {
    expect(
      await partsOf(
        { type: 'tool-approval-request', toolCallId: 'a', toolName: 'rm', input: 1 },
        { type: 'tool-output-denied', toolCallId: 'a', reason: 'no' },
        { type: 'tool-input-start', toolCallId: 'b', toolName: 'rm' },
        { type: 'tool-output-denied', toolCallId: 'b', reason: 'never' },
      ),
    ).toMatchObject([
      { toolInvocation: { state: 'output-denied', approval: { approved: false, reason: 'no' } } },
      { toolInvocation: { state: 'output-denied', approval: { approved: false, reason: 'never' } } },
    ])
  })

  test('tool-output-available: completes a call that was approved elsewhere', async () => {
    expect(
      await partsOf(
        { type: 'tool-approval-request', toolCallId: 'a', toolName: 'rm', input: 1 },
        { type: 'tool-output-available', toolCallId: 'a', output: 2 },
      ),
    ).toMatchObject([{ toolInvocation: { state: 'output-available', output: 2, approval: { approved: true } } }])
  })

  test('source-url, source-document, file: show parts in order, with all fields', async () => {
    const chunks: ChatMessageChunk[] = [
      { type: 'source-url', sourceId: 's', url: 'https://example.org', title: 'Example' },
      { type: 'source-document', sourceId: 's', title: 'Doc', text: 'It says so.' },
      { type: 'file', mediaType: 'image/png', url: 'data:,', filename: 'x.png', id: 'f' },
      { type: 'file', mediaType: 'image/png', url: 'data:,' },
      { type: 'file', mediaType: 'image/png', url: 'data:,' },
    ]
    expect(await partsOf(...chunks)).toEqual(chunks)
  })

  test('data-*: reports each chunk once, keeps no transient one, and replaces parts by id', async () => {
    const { turn, messages, calls } = chatOf([
      { type: 'start', messageId: 'a1' },
      { type: 'data-weather', id: 'w', data: { city: 'Prague' } },
      { type: 'data-progress', data: 1, transient: true },
      { type: 'data-weather', id: 'w', data: { city: 'Brno' } },
      { type: 'finish', messageId: 'a1' },
    ])
    await turn()
    expect(messages()[1]?.parts).toEqual([{ type: 'data-weather', id: 'w', data: { city: 'Brno' } }])
    expect(calls.data).toEqual([
      { type: 'data-weather', id: 'w', data: { city: 'Prague' } },
      { type: 'data-progress', data: 1, transient: true },
      { type: 'data-weather', id: 'w', data: { city: 'Brno' } },
    ])
  })

  test('start-step, finish-step, message-metadata: show the step and merge the metadata', async () => {
    const { turn, messages } = chatOf([
      { type: 'start', messageId: 'a1' },
      { type: 'start-step' },
      { type: 'message-metadata', metadata: { trace: 't', usage: { in: 1 } } },
      { type: 'finish-step' },
      { type: 'start-step' },
      { type: 'message-metadata', metadata: { usage: { out: 2 } } },
      { type: 'finish', messageId: 'a1' },
    ])
    await turn()
    expect(messages()[1]).toMatchObject({
      parts: [{ type: 'step-start' }, { type: 'step-start' }],
      metadata: { trace: 't', usage: { in: 1, out: 2 } },
    })
  })

  test('ignores a chunk of an unknown type', async () => {
    expect(await partsOf({ type: 'telemetry', at: 1 }, { type: 'tool-strange', toolCallId: 'c' })).toEqual([])
  })
})
