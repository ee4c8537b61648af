import { RequestError } from '@millrace/dialects/foreign-server'
import type { Chunk, Message } from '@millrace/protocol'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { ChatFinish } from './callbacks.ts'
import type { Chat } from './chat.ts'
import { type Script, ScriptedForeignServer, type ServerScript, text } from './foreign-server.fixture.ts'
import { type ChatOptions, createChat } from './http-chat.ts'

const textOf = (message: Message | undefined): string | undefined =>
  message?.parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('|')

const textsOf = (chat: Chat) => chat.store.messages.map(textOf)

const until = (chat: Chat, status: Chat['state']['status']) =>
  new Promise<void>(resolve => {
    const check = () => {
      if (chat.state.status !== status) return
      unsubscribe()
      chat.store.flush()
      resolve()
    }
    const unsubscribe = chat.subscribe(check)
    check()
  })

function open(script: ServerScript | Script, options: Partial<ChatOptions> = {}) {
  const server = new ScriptedForeignServer(script)
  const chat = createChat({ connection: server.connection, ...options })
  onTestFinished(chat.start())
  return { server, chat }
}

/** Sends a message, and waits until the chat has the status. */
async function talk(chat: Chat, input: string, status: Chat['state']['status'] = 'ready') {
  const result = await chat.sendMessage(input)
  await until(chat, status)
  return result
}

const CALL: Chunk[] = [
  { type: 'start' },
  { type: 'step-start' },
  { type: 'tool-input-start', toolCallId: 'call-1', toolName: 'locate' },
  { type: 'tool-input-available', toolCallId: 'call-1', toolName: 'locate', input: { precise: true } },
]

const APPROVAL_REQUEST: Chunk = {
  type: 'tool-approval-request',
  toolCallId: 'call-1',
  approvalId: 'a-1',
  input: { precise: true },
}

test('keeps two turns with equal part ids apart', async () => {
  const finished: ChatFinish[] = []
  const { server, chat } = open(({ messages }) => ({
    steps: text('You said: ', textOf(messages.at(-1)) ?? ''),
    status: 'completed',
  }))
  chat.callbacks = { onFinish: finish => finished.push(finish) }
  await talk(chat, 'hi')
  await talk(chat, 'again')
  expect(textsOf(chat)).toEqual(['hi', 'You said: hi', 'again', 'You said: again'])
  expect(chat.store.messages.map(({ status }) => status)).toEqual(['sent', 'sent', 'sent', 'sent'])
  expect(server.requests.map(({ kind }) => kind)).toEqual(['say', 'say'])
  expect(finished.map(({ finishReason, isError }) => ({ finishReason, isError }))).toEqual([
    { finishReason: 'stop', isError: false },
    { finishReason: 'stop', isError: false },
  ])
})

test('runs a client tool that the server leaves open, and continues in the same message', async () => {
  const seen: unknown[] = []
  const { server, chat } = open(
    ({ kind, messages }) =>
      kind === 'say'
        ? { steps: [...CALL, { type: 'finish', finishReason: 'tool-calls' }], status: 'paused', messageId: 'm-1' }
        : {
            steps: text(JSON.stringify(messages.at(-1)?.parts.flatMap(p => ('output' in p ? [p.output] : [])))),
            status: 'completed',
          },
    {
      tools: {
        locate: ((input: unknown) => {
          seen.push(input)
          return { city: 'Delft' }
        }) as never,
      },
    },
  )
  await talk(chat, 'where?')
  expect(seen).toEqual([{ precise: true }])
  expect(textsOf(chat)).toEqual(['where?', '[{"city":"Delft"}]'])
  expect(server.requests.map(({ kind }) => kind)).toEqual(['say', 'continue'])
  expect(server.requests[1]?.answers).toEqual([{ kind: 'tool-result', id: 'call-1', output: { city: 'Delft' } }])
  expect([...(server.requests[1]?.foreignIds.values() ?? [])]).toEqual(['m-1'])
})

test('keeps calls with one id in two turns apart', async () => {
  const { server, chat } = open(
    ({ kind }) => (kind === 'say' ? { steps: CALL, status: 'paused' } : { steps: text('thanks'), status: 'completed' }),
    { tools: { locate: (() => 'here') as never } },
  )
  await talk(chat, 'one')
  await talk(chat, 'two')
  expect(textsOf(chat)).toEqual(['one', 'thanks', 'two', 'thanks'])
  // The server gets the ids that it sent.
  expect(server.requests.at(-1)?.answers).toEqual([{ kind: 'tool-result', id: 'call-1', output: 'here' }])
  const calls = server.requests
    .at(-1)
    ?.messages.flatMap(({ parts }) => parts.flatMap(p => ('toolCallId' in p ? [p.toolCallId] : [])))
  expect(calls).toEqual(['call-1', 'call-1'])
})

test.each([true, false])('sends an approval: %s', async approved => {
  const { server, chat } = open(({ kind }) =>
    kind === 'say'
      ? { steps: [...CALL, APPROVAL_REQUEST], status: 'paused' }
      : {
          steps: approved
            ? [{ type: 'tool-output-available', toolCallId: 'call-1', output: 'sold' }, ...text('done')]
            : text('never mind'),
          status: 'completed',
        },
  )
  await talk(chat, 'sell', 'paused')
  const [pending] = chat.store.pendings
  expect(pending).toMatchObject({ kind: 'approval', id: 'a-1' })
  await chat.answer({ kind: 'approval', id: 'a-1', approved, reason: 'so' })
  await until(chat, 'ready')
  expect(server.requests[1]?.answers).toMatchObject([{ kind: 'approval', id: 'a-1', approved, reason: 'so' }])
  const part = chat.store.messages[1]?.parts.find(part => part.type === 'tool')
  expect(part).toMatchObject({ state: approved ? 'output-available' : 'output-denied' })
  expect(chat.store.messages.length).toBe(2)
})

test('answers an interrupt, and rejects an answer without one', async () => {
  const { server, chat } = open(({ kind, answers }) =>
    kind === 'say'
      ? {
          steps: [{ type: 'interrupt', interruptId: 'q', input: { kind: 'text', question: 'Why?' } } as Chunk],
          status: 'paused',
        }
      : { steps: text(JSON.stringify(answers)), status: 'completed' },
  )
  await talk(chat, 'ask me', 'paused')
  await expect(chat.answer({ kind: 'interrupt', id: 'other', response: 1 })).rejects.toMatchObject({
    code: 'answer_unknown',
  })
  chat.clearError()
  await chat.answer({ kind: 'interrupt', id: 'q', response: 'because' })
  await until(chat, 'ready')
  expect(server.requests[1]?.answers).toEqual([{ kind: 'interrupt', id: 'q', response: 'because' }])
})

test('law 7: fails the run of a dropped reply as retryable', async () => {
  const finished: ChatFinish[] = []
  const { chat } = open((_, nth) =>
    nth === 1
      ? { steps: [...text('half').slice(0, 4), new TypeError('terminated')] }
      : { steps: text('whole'), status: 'completed' },
  )
  chat.callbacks = { onFinish: finish => finished.push(finish) }
  await talk(chat, 'hi', 'error')
  expect(chat.state.error).toMatchObject({ code: 'connection_lost', retryable: true, source: 'stream' })
  expect(finished).toMatchObject([{ isError: true }])
  expect(textsOf(chat)).toEqual(['hi', 'half'])
  expect(chat.store.messages[1]).toMatchObject({ status: 'error' })
  await chat.retry()
  await until(chat, 'ready')
  expect(textsOf(chat)).toEqual(['hi', 'whole'])
})

test('law 7: treats a clean close without an end as dropped', async () => {
  const { chat } = open(() => ({ steps: text('half').slice(0, 4) }))
  await talk(chat, 'hi', 'error')
  expect(chat.state.error).toMatchObject({ code: 'connection_lost' })
})

test('resumes a dropped reply: by its rest, or by a replay in other pieces', async () => {
  const errors: unknown[] = []
  for (const isReplay of [false, true]) {
    const gate = Promise.withResolvers<void>()
    const { server, chat } = open({
      ask: () => ({ steps: [...text('one ', 'two ').slice(0, 5), gate.promise, new TypeError('terminated')] }),
      resume: () => ({
        steps: isReplay ? text('o', 'ne two three') : text('three').slice(3),
        status: 'completed',
        isReplay,
      }),
    })
    chat.callbacks = { onError: error => errors.push(error) }
    await talk(chat, 'hi', 'streaming')
    gate.resolve()
    await until(chat, 'ready')
    expect(textsOf(chat)).toEqual(['hi', 'one two three'])
    expect(server.resumed).toBe(1)
    expect(server.requests.length).toBe(1)
  }
  expect(errors).toMatchObject([{ code: 'disconnected', details: { recovered: true } }, { code: 'disconnected' }])
})

test('replaces the reply by a replay that differs', async () => {
  const { chat } = open({
    ask: () => ({ steps: [...text('one ', 'two ').slice(0, 5), new TypeError('terminated')] }),
    resume: () => ({ steps: text('Something else.'), status: 'completed', isReplay: true }),
  })
  await talk(chat, 'hi')
  expect(textsOf(chat)).toEqual(['hi', 'Something else.'])
})

test('fails the run if the server cannot resume', async () => {
  const { server, chat } = open({ ask: () => ({ steps: text('half').slice(0, 4) }), resume: () => undefined })
  await talk(chat, 'hi', 'error')
  expect(server.resumed).toBe(1)
  expect(chat.state.error).toMatchObject({ code: 'connection_lost', retryable: true })
})

test('fails the run on a refusal, and sends the message again on retry instead of regenerating', async () => {
  const { server, chat } = open((_, nth) => {
    if (nth === 1) throw new RequestError({ code: 'rate_limited', message: 'Slowly.', retryable: true }, 429)
    return { steps: text('now'), status: 'completed' }
  })
  const { messageId } = await talk(chat, 'hi', 'error')
  expect(chat.state.error).toMatchObject({ code: 'rate_limited', message: 'Slowly.', retryable: true })
  await chat.retry()
  await until(chat, 'ready')
  expect(textsOf(chat)).toEqual(['hi', 'now'])
  expect(server.requests.map(({ kind }) => kind)).toEqual(['say', 'say'])
  expect(server.requests[1]?.messages.map(({ id }) => id)).toEqual([messageId])
})

test('fails the run at an error, and keeps the text', async () => {
  const { chat } = open(() => ({
    steps: [...text('It began').slice(0, 4), { type: 'error', message: 'no more' }],
    status: 'failed',
  }))
  await talk(chat, 'hi', 'error')
  expect(chat.state.error).toMatchObject({ code: 'run_failed', message: 'no more' })
  expect(textsOf(chat)).toEqual(['hi', 'It began'])
})

test('fails the run at an invalid chunk', async () => {
  const { chat } = open(() => ({ steps: [{ type: 'text-delta', id: 5 } as unknown as Chunk], status: 'completed' }))
  await talk(chat, 'hi', 'error')
  expect(chat.state.error).toMatchObject({ code: 'invalid-chunk', retryable: false })
})

test('stop keeps the text, stops the server, and ignores later chunks', async () => {
  const gate = Promise.withResolvers<void>()
  const { server, chat } = open(() => ({
    steps: [...text('one ').slice(0, 4), gate.promise, { type: 'text-delta', id: '0', delta: 'two' }],
    status: 'completed',
  }))
  await chat.sendMessage('go')
  await expect.poll(() => textsOf(chat)).toEqual(['go', 'one '])
  await until(chat, 'streaming')
  await chat.stop()
  await until(chat, 'ready')
  gate.resolve()
  expect(textsOf(chat)).toEqual(['go', 'one '])
  expect(chat.store.messages[1]).toMatchObject({ status: 'cancelled' })
  expect(server.stopped).toEqual([server.requests[0]?.runId])
  expect(server.requests[0]?.signal.aborted).toBe(true)
})

test('queues, rejects or interrupts by whenBusy while a run is open', async () => {
  const gate = Promise.withResolvers<void>()
  const { chat } = open(({ messages }) => {
    const lastText = textOf(messages.at(-1)) ?? ''
    return {
      steps: lastText === 'first' ? [{ type: 'start' }, gate.promise, ...text('first!')] : text(`${lastText}!`),
      status: 'completed',
    }
  })
  await chat.sendMessage('first')
  await chat.sendMessage('second')
  expect((await chat.sendMessage('third', { whenBusy: 'reject' })).error).toMatchObject({ code: 'run_busy' })
  expect(textsOf(chat).slice(0, 1)).toEqual(['first'])
  gate.resolve()
  await expect.poll(() => textsOf(chat)).toEqual(['first', 'first!', 'second', 'second!', 'third'])
  const stuck = open(({ messages }) =>
    textOf(messages.at(-1)) === 'first'
      ? { steps: [{ type: 'start' }, new Promise(() => {})], status: 'completed' }
      : { steps: text('here'), status: 'completed' },
  )
  await stuck.chat.sendMessage('first')
  await stuck.chat.sendMessage('now', { whenBusy: 'interrupt-previous' })
  await until(stuck.chat, 'ready')
  expect(textsOf(stuck.chat).at(-1)).toBe('here')
})

test('regenerate and edit replace the turn', async () => {
  const { server, chat } = open(({ messages }, nth) => ({
    steps: text(`${textOf(messages.at(-1))} ${nth}`),
    status: 'completed',
    messageId: `m-${nth}`,
  }))
  const { messageId } = await talk(chat, 'one')
  await talk(chat, 'two')
  await chat.regenerate()
  await until(chat, 'ready')
  expect(textsOf(chat)).toEqual(['one', 'one 1', 'two', 'two 3'])
  expect(server.requests[2]).toMatchObject({ kind: 'regenerate', replaces: 'm-2' })
  expect(server.requests[2]?.messages.map(textOf)).toEqual(['one', 'one 1', 'two'])
  await chat.regenerate(chat.store.messages[1]?.id)
  await until(chat, 'ready')
  expect(textsOf(chat)).toEqual(['one', 'one 4'])
  const edited = await chat.edit(messageId, 'ONE')
  await until(chat, 'ready')
  expect(textsOf(chat)).toEqual(['ONE', 'ONE 5'])
  expect(chat.store.messages[0]?.id).toBe(edited.messageId)
  expect(server.requests[4]).toMatchObject({ kind: 'say', replaces: messageId })
  expect(server.requests[4]?.messages.map(textOf)).toEqual(['ONE'])
})

test('shows structured data, state, data parts and sub-agents', async () => {
  const data: unknown[] = []
  const { chat } = open(() => ({
    steps: [
      { type: 'start' },
      { type: 'data-scale', id: 's', data: { kilos: 1 } },
      { type: 'data-creak', data: 1, transient: true },
      {
        type: 'structured-data',
        streamId: 'p',
        dataType: 'picture',
        kind: 'set',
        path: 'title',
        value: 'InProcessServer',
      },
      { type: 'state-snapshot', state: { sacks: 3 } },
    ],
    status: 'completed',
  }))
  chat.callbacks = { onData: one => data.push(one) }
  await talk(chat, 'go')
  expect(data).toEqual([
    { type: 'data-scale', id: 's', data: { kilos: 1 } },
    { type: 'data-creak', data: 1, transient: true },
  ])
  expect(chat.store.structured('p')).toMatchObject({ data: { title: 'InProcessServer' } })
  expect(chat.store.state).toEqual({ sacks: 3 })
})

test('sends a file as a data URL in the message', async () => {
  const { server, chat } = open(() => ({ steps: text('ok'), status: 'completed' }))
  await chat.sendMessage({ text: 'look', files: [new File(['abc'], 'a b.txt', { type: 'text/plain' })] })
  await until(chat, 'ready')
  expect(server.requests[0]?.messages[0]?.parts[1]).toMatchObject({
    type: 'file',
    url: 'data:text/plain;base64,YWJj',
    mediaType: 'text/plain',
    filename: 'a b.txt',
  })
})

test('restores the history, pendings and the open run of a session', async () => {
  const history = vi.fn(async () => [
    { chunk: { type: 'message', messageId: 'u', role: 'user', parts: [{ type: 'text', text: 'hello' }] } as Chunk },
    ...text('before').map(chunk => ({ chunk, messageId: 'm-0' })),
  ])
  const { server, chat } = open(
    { history, ask: () => ({ steps: text('after'), status: 'completed' }) },
    { session: 's' },
  )
  await expect.poll(() => textsOf(chat)).toEqual(['hello', 'before'])
  await talk(chat, 'more')
  expect(textsOf(chat)).toEqual(['hello', 'before', 'more', 'after'])
  expect(server.requests[0]?.messages.map(textOf)).toEqual(['hello', 'before', 'more'])
  expect(history).toHaveBeenCalledTimes(1)
  await chat.regenerate('u')
  await until(chat, 'ready')
  expect(textsOf(chat)).toEqual(['hello', 'after'])

  const waiting = open(
    {
      history: async () => [...CALL, APPROVAL_REQUEST].map(chunk => ({ chunk })),
      ask: () => ({ steps: text('went on'), status: 'completed' }),
    },
    { session: 's' },
  )
  await until(waiting.chat, 'paused')
  await waiting.chat.answer({ kind: 'approval', id: 'a-1', approved: false })
  await until(waiting.chat, 'ready')
  expect(waiting.server.requests).toMatchObject([{ kind: 'continue' }])

  const under = open(
    {
      history: async () => (await history()).slice(0, 1),
      resume: () => ({ steps: text('still at it'), status: 'completed', isReplay: true }),
      ask: () => ({ steps: [], status: 'completed' }),
    },
    { session: 's' },
  )
  await expect.poll(() => textsOf(under.chat)).toEqual(['hello', 'still at it'])
})
