import { describe, expect, test, vi } from 'vitest'
import { chatOf, chatOver, hello, streamOf } from './chat.fixture.ts'

describe('malformed streams', () => {
  test('generates an id for a reply without a start, or with a start without an id', async () => {
    const { turn, messages } = chatOf([
      { type: 'text-delta', id: 't', delta: 'hi' },
      { type: 'start' },
      { type: 'finish' },
    ])
    await turn('one', 'u1')
    await turn('two', 'u2')
    expect(messages()).toMatchObject([{}, { role: 'assistant', parts: [{ text: 'hi' }] }, {}, { status: 'sent' }])
    expect(new Set(messages().map(({ id }) => id)).size).toBe(4)
  })

  test('uses the id of a late start', async () => {
    const { turn, messages } = chatOf([{ type: 'text-delta', id: 't', delta: 'hi' }, hello[0], hello[5]])
    await turn()
    expect(messages()).toMatchObject([{}, { id: 'a1', status: 'sent', parts: [{ text: 'hi' }] }])
  })

  test('ends the message at a start with another id', async () => {
    const { turn, messages } = chatOf([...hello.slice(0, 3), { type: 'start', messageId: 'a2' }, hello[5]])
    await turn()
    expect(messages()).toMatchObject([{}, { id: 'a1', status: 'sent' }, { id: 'a2', status: 'sent' }])
  })

  test('never writes a reply into a user message', async () => {
    const { turn, messages } = chatOf([{ type: 'start', messageId: 'u1' }, ...hello.slice(1)])
    await turn()
    expect(messages()).toMatchObject([
      { id: 'u1', role: 'user', parts: [{ text: 'hi' }] },
      { role: 'assistant', parts: [{ text: 'Hello world' }] },
    ])
  })

  test('treats one call id in two messages as two calls', async () => {
    let count = 0
    const { turn, messages } = chatOver({
      sendMessage: async () =>
        streamOf([
          { type: 'start', messageId: `a${++count}` },
          { type: 'tool-input-available', toolCallId: 'call-1', toolName: 'x', input: count },
          { type: 'tool-output-available', toolCallId: 'call-1', output: count },
          { type: 'finish', messageId: `a${count}` },
        ]),
    })
    await turn('one', 'u1')
    await turn('two', 'u2')
    for (const [at, output] of [
      [1, 1],
      [3, 2],
    ] as const)
      expect(messages()[at]?.parts).toMatchObject([{ toolInvocation: { toolCallId: 'call-1', input: output, output } }])
  })

  test('ignores late chunks of a call', async () => {
    const { turn, messages, calls } = chatOf([
      hello[0],
      { type: 'tool-input-available', toolCallId: 'c', toolName: 'x', input: 1 },
      { type: 'tool-output-available', toolCallId: 'c', output: 2 },
      { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '{' },
      { type: 'tool-input-start', toolCallId: 'c', toolName: 'y' },
      { type: 'tool-output-error', toolCallId: 'c', errorText: 'no' },
      { type: 'tool-output-available', toolCallId: 'unknown', output: 2 },
      hello[5],
    ])
    await turn()
    expect(messages()[1]?.parts).toEqual([
      {
        type: 'tool',
        toolInvocation: { toolCallId: 'c', toolName: 'x', state: 'output-available', input: 1, output: 2 },
      },
    ])
    expect(calls.tools).toEqual(['input-available', 'output-available'])
  })

  test('ignores chunks of a call before its start', async () => {
    const { turn, messages, calls } = chatOf([
      hello[0],
      { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '{' },
      { type: 'tool-input-start', toolCallId: 'c', toolName: 'x' },
      { type: 'tool-input-available', toolCallId: 'c', toolName: 'x', input: 1 },
      hello[5],
    ])
    await turn()
    expect(messages()[1]?.parts).toMatchObject([{ toolInvocation: { toolName: 'x', input: 1 } }])
    expect(calls.tools).toEqual(['input-streaming', 'input-available'])
  })

  test('ends open calls with the reply, and accepts their output from a later stream', async () => {
    let count = 0
    const { turn, messages } = chatOver({
      sendMessage: async () =>
        streamOf([
          { type: 'start', messageId: 'a1' },
          ++count === 1
            ? { type: 'tool-input-available', toolCallId: 'c', toolName: 'x', input: 1 }
            : { type: 'tool-output-available', toolCallId: 'c', output: 2 },
          { type: 'finish', messageId: 'a1' },
        ]),
    })
    await turn('one', 'u1')
    expect(messages()[1]?.parts).toMatchObject([{ toolInvocation: { state: 'output-error' } }])
    await turn('two', 'u2')
    expect(messages()[1]?.parts).toEqual([
      {
        type: 'tool',
        toolInvocation: { toolCallId: 'c', toolName: 'x', state: 'output-available', input: 1, output: 2 },
      },
    ])
  })

  test('survives a callback that throws', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const fail = () => {
      throw new Error('mine')
    }
    const options = { onData: fail, onToolCall: fail, onFinish: fail, onError: fail }
    const { chat, until, messages } = chatOf(
      [hello[0], { type: 'data-x', data: 1 }, { type: 'tool-input-start', toolCallId: 'c', toolName: 'x' }, hello[5]],
      options,
    )
    await chat.sendMessage('hi')
    await until(() => chat.state.status === 'ready')
    expect(messages()).toMatchObject([{ status: 'sent' }, { status: 'sent' }])
    expect(printed).toHaveBeenCalledTimes(3)
    printed.mockRestore()
  })

  test.each([
    [{ type: 'error', errorText: 'overloaded' }, 'overloaded'],
    [{ type: 'error', message: 'overloaded' }, 'overloaded'],
    [{ type: 'error' }, 'The reply failed.'],
  ])('fails the reply at an error chunk: %j', async (chunk, message) => {
    const reconnectToStream = vi.fn()
    const { turn, log, calls, messages, chat } = chatOver({
      sendMessage: async () => streamOf([...hello.slice(0, 3), chunk, hello[5]]),
      reconnectToStream,
    })
    await turn()
    expect(log).toEqual(['error STREAM_ERROR', 'finish error'])
    expect(calls.errors).toMatchObject([{ message, details: { messageId: 'a1' } }])
    expect(messages()[1]).toMatchObject({ status: 'error', parts: [{ text: 'Hello', state: 'done' }] })
    expect(chat.state).toMatchObject({ status: 'error', connection: { status: 'live' } })
    expect(reconnectToStream).not.toHaveBeenCalled()
  })

  test.each([
    [{ type: 'error', errorText: 'overloaded' }, 'overloaded', 'finish error'],
    [
      { type: 'message-metadata', metadata: 5 },
      'chunk message-metadata.metadata: expected an object',
      'finish disconnect error',
    ],
  ])('law 7: fails the reply at %j although a later finish arrived before it', async (chunk, message, finish) => {
    const chunks = [...hello.slice(0, 3), chunk, hello[3], hello[5]].map((chunk, sequence) => ({ sequence, chunk }))
    // In another order: the missing one comes last.
    const { turn, log, calls, messages } = chatOf([...chunks.filter(received => received.chunk !== chunk), chunks[3]])
    await turn()
    expect(log).toEqual(['error STREAM_ERROR', finish])
    expect(calls.errors).toMatchObject([{ message }])
    expect(messages()[1]).toMatchObject({ status: 'error', parts: [{ text: 'Hello' }] })
  })

  test('shows no reply that fails before its first chunk', async () => {
    const { turn, log, messages } = chatOf([{ type: 'error', errorText: 'overloaded' }])
    await turn()
    expect(log).toEqual(['error STREAM_ERROR', 'finish error'])
    expect(messages()).toMatchObject([{ id: 'u1', status: 'error' }])
  })

  test('rejects a reply id that is not a string', async () => {
    const bad = chatOf([{ type: 'start', messageId: 5 }, hello[5]])
    await bad.turn()
    expect(bad.calls.errors).toMatchObject([{ message: 'chunk start.messageId: expected a string, found number' }])
    const none = chatOf([{ type: 'start', messageId: null }, { type: 'finish' }])
    await none.turn()
    expect(none.messages()).toMatchObject([{}, { id: expect.any(String), status: 'sent' }])
  })

  test('treats an empty stream as dropped', async () => {
    const { turn, log, messages } = chatOf([])
    await turn()
    expect(log).toEqual(['error STREAM_ERROR', 'finish disconnect error'])
    expect(messages()).toMatchObject([{ id: 'u1', status: 'error' }])
  })

  test('law 11: lets the page paint while a source never pauses', async () => {
    let count = 0
    const stream = new ReadableStream({
      pull(controller) {
        controller.enqueue(count++ === 0 ? hello[0] : { type: 'text-delta', id: 't', delta: 'x' })
      },
    })
    const { chat, finished } = chatOver({ sendMessage: async () => stream }, { streamFlushInterval: 16 })
    const end = finished()
    await chat.sendMessage('hi')
    // A timer gets its turn while chunks keep coming: otherwise the stream would never end.
    const click = setInterval(() => {
      if (count > 100) void chat.stop()
    }, 5)
    await end
    clearInterval(click)
    expect(count).toBeGreaterThan(100)
  })
})

test.each(['constructor', '__proto__', 'toString', 'tool-constructor', 'data-'])(
  'ignores a chunk of the type %s',
  async type => {
    const { turn, log, textOf } = chatOf([...hello.slice(0, 3), { type, toolCallId: 'c' }, ...hello.slice(3)])
    await turn()
    expect(log.at(-1)).toBe('finish')
    expect(textOf('a1')).toEqual(['Hello world'])
  },
)

test.each([null, 'text', [1]])('rejects metadata that is not an object: %j', async metadata => {
  const { turn, calls } = chatOf([hello[0], { type: 'message-metadata', metadata }, hello[5]])
  await turn()
  expect(calls.errors).toMatchObject([
    { message: 'chunk message-metadata.metadata: expected an object', details: { cause: 'invalid-chunk' } },
  ])
})

test('lets callbacks send, stop and regenerate, each once', async () => {
  let count = 0
  const talk = chatOver(
    {
      sendMessage: async () =>
        streamOf([{ type: 'start', messageId: `a${++count}` }, { type: 'data-x', data: count }, hello[5]]),
    },
    {
      onFinish: () => {
        if (count === 1) void talk.chat.sendMessage('more', { messageId: 'u2' })
      },
      onData: ({ data }) => {
        if (data === 2) void talk.chat.stop()
      },
    },
  )
  await talk.chat.sendMessage('hi', { messageId: 'u1' })
  await talk.until(() => talk.chat.store.message('a2')?.status === 'cancelled')
  expect(talk.messages().map(({ id, status }) => `${id} ${status}`)).toEqual([
    'u1 sent',
    'a1 sent',
    'u2 cancelled',
    'a2 cancelled',
  ])
})
