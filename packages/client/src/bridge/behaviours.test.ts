// Behaviours of docs/reference/behaviours.md that no other test covers.

import { describe, expect, test } from 'vitest'
import { chatOf, chatOver, controlled, hello, streamOf } from './chat.fixture.ts'
import type { ChatMessage } from './types.ts'

/** Freezes a value deeply, so that a mutation throws. */
function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const one of Object.values(Object.freeze(value))) frozen(one)
  return value
}

const chatMessage = (id: string, text: string, role: ChatMessage['role'] = 'user'): ChatMessage => ({
  id,
  role,
  status: 'sent',
  parts: [{ type: 'text', text, state: 'done' }],
})

describe('streams', () => {
  test('shows text, a call with its result, and text as three parts in order', async () => {
    const { turn, messages } = chatOf([
      hello[0],
      { type: 'text-delta', id: 't1', delta: 'Let me see.' },
      { type: 'text-end', id: 't1' },
      { type: 'tool-input-available', toolCallId: 'c', toolName: 'look', input: {} },
      { type: 'tool-output-available', toolCallId: 'c', output: 'flour' },
      { type: 'text-delta', id: 't2', delta: 'Flour.' },
      hello[5],
    ])
    await turn()
    expect(messages()[1]?.parts).toMatchObject([
      { type: 'text', text: 'Let me see.' },
      { type: 'tool', toolInvocation: { output: 'flour' } },
      { type: 'text', text: 'Flour.' },
    ])
  })

  test('keeps interleaved inputs of calls apart, prefers a complete input, and accepts any text as output', async () => {
    const delta = (toolCallId: string, inputTextDelta: string) => ({
      type: 'tool-input-delta',
      toolCallId,
      inputTextDelta,
    })
    const { turn, messages } = chatOf([
      hello[0],
      { type: 'tool-input-start', toolCallId: 'c1', toolName: 'one' },
      { type: 'tool-input-start', toolCallId: 'c2', toolName: 'two' },
      delta('c1', '{"a":'),
      delta('c2', '{"b":'),
      delta('c1', '1}'),
      delta('c2', '2}'),
      { type: 'tool-input-available', toolCallId: 'c1', toolName: 'one', input: { a: 10 } },
      { type: 'tool-input-available', toolCallId: 'c2', toolName: 'two', input: { b: 2 } },
      { type: 'tool-output-available', toolCallId: 'c1', output: 'not { JSON' },
      { type: 'tool-output-available', toolCallId: 'c2', output: null },
      hello[5],
    ])
    await turn()
    expect(messages()[1]?.parts).toMatchObject([
      { toolInvocation: { toolCallId: 'c1', input: { a: 10 }, output: 'not { JSON' } },
      { toolInvocation: { toolCallId: 'c2', input: { b: 2 }, output: null } },
    ])
    expect(messages()[1]?.parts).toHaveLength(2)
  })

  test('shows batched chunks when the reply is stopped', async () => {
    const { stream, push } = controlled()
    const { promise: taken, resolve } = Promise.withResolvers<void>()
    const options = { streamFlushInterval: 60_000, onData: () => resolve() }
    const { chat } = chatOver({ sendMessage: async () => stream }, options)
    await chat.sendMessage('hi')
    push(...hello.slice(0, 4), { type: 'data-x', data: 1, transient: true })
    await taken
    expect(JSON.stringify(chat.store.messages)).not.toContain('Hello world')
    await chat.stop()
    expect(chat.store.message('a1')?.parts).toMatchObject([{ text: 'Hello world' }])
  })
})

describe('messages', () => {
  test('does not change the initial messages or the messages passed to the adapter', async () => {
    const initialMessages = frozen([chatMessage('u0', 'Before'), chatMessage('a0', 'Indeed', 'assistant')])
    const requests: unknown[] = []
    const { turn, messages } = chatOver(
      {
        async sendMessage(input) {
          requests.push(frozen(input.messages))
          return streamOf([
            { type: 'start', messageId: 'a0' },
            { type: 'text-delta', id: 't', delta: 'More' },
            hello[5],
          ])
        },
      },
      { initialMessages },
    )
    await turn()
    expect(initialMessages[1]?.parts).toEqual([{ type: 'text', text: 'Indeed', state: 'done' }])
    expect(requests).toMatchObject([[{ id: 'u0' }, { parts: [{ text: 'Indeed' }] }, { id: 'u1' }]])
    expect(messages()[1]?.parts).toMatchObject([{ text: 'Indeed' }, { text: 'More' }])
  })

  test('shows the first of two initial messages with one id', () => {
    const { messages } = chatOf([], {
      initialMessages: [chatMessage('u', 'one'), chatMessage('v', 'two'), chatMessage('u', 'three')],
    })
    expect(messages().map(({ id, parts }) => [id, parts])).toMatchObject([
      ['u', [{ text: 'one' }]],
      ['v', [{ text: 'two' }]],
    ])
  })

  test('gives every request its own signal', async () => {
    const signals: AbortSignal[] = []
    const { stream } = controlled()
    const { chat, finished } = chatOver({
      async sendMessage({ signal }) {
        signals.push(signal)
        return signals.length === 1 ? stream : streamOf(hello)
      },
    })
    await chat.sendMessage('one')
    await chat.stop()
    const end = finished()
    await chat.sendMessage('two')
    await end
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
  })
})
