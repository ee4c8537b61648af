import { describe, expect, test, vi } from 'vitest'
import { chatOf, chatOver, hello, streamOf } from './chat.fixture.ts'

describe('odd streams', () => {
  test('no start, or one without an id: the reply has an id of its own, each another', async () => {
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

  test('a start that comes late names the reply', async () => {
    const { turn, messages } = chatOf([{ type: 'text-delta', id: 't', delta: 'hi' }, hello[0], hello[5]])
    await turn()
    expect(messages()).toMatchObject([{}, { id: 'a1', status: 'sent', parts: [{ text: 'hi' }] }])
  })

  test('a second start with another id is another message; the first is whole', async () => {
    const { turn, messages } = chatOf([...hello.slice(0, 3), { type: 'start', messageId: 'a2' }, hello[5]])
    await turn()
    expect(messages()).toMatchObject([{}, { id: 'a1', status: 'sent' }, { id: 'a2', status: 'sent' }])
  })

  test('a reply never goes where a person spoke', async () => {
    const { turn, messages } = chatOf([{ type: 'start', messageId: 'u1' }, ...hello.slice(1)])
    await turn()
    expect(messages()).toMatchObject([
      { id: 'u1', role: 'user', parts: [{ text: 'hi' }] },
      { role: 'assistant', parts: [{ text: 'Hello world' }] },
    ])
  })

  test('the same call id in another message is another call', async () => {
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

  test('a call only goes forward: what comes late changes nothing', async () => {
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

  test('what comes of a call before it begins is nothing: its beginning names it', async () => {
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

  test('an open call of a reply that is over looks ended, and a later stream may still bring its output', async () => {
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

  test('a callback that throws harms nothing', async () => {
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
  ])('a reply that says that it failed has: %j', async (chunk, message) => {
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

  test('one that fails before it began is none', async () => {
    const { turn, log, messages } = chatOf([{ type: 'error', errorText: 'overloaded' }])
    await turn()
    expect(log).toEqual(['error STREAM_ERROR', 'finish error'])
    expect(messages()).toMatchObject([{ id: 'u1', status: 'error' }])
  })

  test('the id of a reply is a string, or is none', async () => {
    const bad = chatOf([{ type: 'start', messageId: 5 }, hello[5]])
    await bad.turn()
    expect(bad.calls.errors).toMatchObject([{ message: 'chunk start.messageId: expected a string, found number' }])
    const none = chatOf([{ type: 'start', messageId: null }, { type: 'finish' }])
    await none.turn()
    expect(none.messages()).toMatchObject([{}, { id: expect.any(String), status: 'sent' }])
  })

  test('an empty stream is a break like any other', async () => {
    const { turn, log, messages } = chatOf([])
    await turn()
    expect(log).toEqual(['error STREAM_ERROR', 'finish disconnect error'])
    expect(messages()).toMatchObject([{ id: 'u1', status: 'error' }])
  })

  test('law 11: a source that never rests keeps neither the screen nor a click waiting', async () => {
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
  'a chunk of the type %s is no trap',
  async type => {
    const { turn, log, textOf } = chatOf([...hello.slice(0, 3), { type, toolCallId: 'c' }, ...hello.slice(3)])
    await turn()
    expect(log.at(-1)).toBe('finish')
    expect(textOf('a1')).toEqual(['Hello world'])
  },
)

test.each([null, 'text', [1]])('metadata that is no object is an error that says so: %j', async metadata => {
  const { turn, calls } = chatOf([hello[0], { type: 'message-metadata', metadata }, hello[5]])
  await turn()
  expect(calls.errors).toMatchObject([
    { message: 'chunk message-metadata.metadata: expected an object', details: { cause: 'invalid-chunk' } },
  ])
})

test('a callback may send, stop or ask again: each is done once', async () => {
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
