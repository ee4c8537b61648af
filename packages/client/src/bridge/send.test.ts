import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test, vi } from 'vitest'
import { chatOver, controlled, counting, hello, ids, replyOf } from './chat.fixture.ts'

describe('sending', () => {
  test('shows a message as sending before it asks the adapter', async () => {
    const { requests, chat, turn } = counting()
    const shown: string[][] = []
    chat.store.subscribe(['any'], () => shown.push(chat.store.messages.map(({ id, status }) => `${id} ${status}`)))
    await turn()
    expect(shown.find(messages => messages.length > 0)).toEqual(['u1 sending'])
    expect(Object.keys(requests[0] ?? {}).sort()).toEqual(['conversationId', 'message', 'messages', 'signal'])
    expect(requests[0]?.message).toMatchObject({ id: 'u1', role: 'user', status: 'sending', parts: [{ text: 'hi' }] })
    expect(requests[0]?.messages).toEqual([requests[0]?.message])
    await turn('more', 'u2')
    expect(ids(requests[1]?.messages ?? [])).toBe('u1 a1 u2')
    expect(requests[1]?.messages.map(({ status }) => status)).toEqual(['sent', 'sent', 'sending'])
  })

  test('passes metadata, parts and files to the adapter', async () => {
    const { requests, chat, finished } = counting()
    const end = finished()
    const file = new File(['x'], 'x.txt', { type: 'text/plain' })
    await chat.sendMessage({ text: 'see', files: [file], metadata: { lang: 'en' } })
    await end
    expect(requests[0]).toMatchObject({ attachments: [{ file }], metadata: { lang: 'en' } })
    expect(requests[0]?.message.parts).toMatchObject([
      { type: 'text', text: 'see' },
      { type: 'file', mediaType: 'text/plain', filename: 'x.txt' },
    ])
  })

  test('creates no object URL for a rejected file, and revokes it for a removed one', async () => {
    const createObjectURL = vi.spyOn(URL, 'createObjectURL')
    const revoked = new Set<string>()
    const revoke = vi.spyOn(URL, 'revokeObjectURL').mockImplementation(url => void revoked.add(url))
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const { chat } = chatOver({ sendMessage: async () => controlled().stream })
    const files = () => [new File(['x'], 'x.txt')]
    await chat.sendMessage({ text: 'see', files: files() }, { messageId: 'u1' })
    await chat.sendMessage({ files: files() }, { whenBusy: 'reject' })
    await chat.sendMessage({ files: files() }, { messageId: 'u1' })
    expect(createObjectURL).toHaveBeenCalledTimes(1)
    const url = createObjectURL.mock.results[0]?.value as string
    await chat.edit('u1', 'no')
    for (let i = 0; i < 100 && !revoked.has(url); i++) {
      collect()
      await setImmediate()
    }
    expect(revoked).toContain(url)
    createObjectURL.mockRestore()
    revoke.mockRestore()
  })

  test('has the status submitted, then streaming, then ready', async () => {
    const { stream, push } = controlled()
    const { chat, until } = chatOver({ sendMessage: async () => stream })
    const sent = chat.sendMessage('hi')
    expect(chat.state).toMatchObject({ status: 'submitted', runId: expect.any(String) })
    await sent
    expect(chat.state.status).toBe('submitted')
    push(hello[0])
    await until(() => chat.state.status === 'streaming')
    expect(chat.state.connection.reason).toBe('a reply is in progress')
    push(hello[5])
    await until(() => chat.state.status === 'ready')
    expect(chat.state.runId).toBeUndefined()
    expect(chat.state.connection).toEqual({ status: 'live', reason: 'the adapter is ready' })
  })

  test('keeps a message that failed to send without onFinish, and sends it again on retry', async () => {
    let isDown = true
    const { chat, turn, messages, log, finished } = chatOver({
      async sendMessage() {
        if (isDown) throw new Error('no network')
        return replyOf('a1', 'there')
      },
    })
    const sent = await turn()
    expect(sent.error).toMatchObject({ code: 'SEND_ERROR', source: 'send', message: 'no network', recoverable: true })
    expect(chat.state).toMatchObject({ status: 'error', error: sent.error })
    expect(messages()).toMatchObject([{ id: 'u1', status: 'error', parts: [{ text: 'hi' }] }])
    expect(chat.store.message('u1')?.error).toMatchObject({ code: 'SEND_ERROR' })
    expect(log).toEqual(['error SEND_ERROR'])
    isDown = false
    const end = finished()
    expect(await chat.retry('u1')).toMatchObject({ messageId: 'u1', runId: expect.any(String) })
    await end
    expect(messages()).toMatchObject([
      { id: 'u1', status: 'sent' },
      { id: 'a1', status: 'sent' },
    ])
    expect(chat.store.message('u1')?.error).toBeUndefined()
    expect(chat.state).toMatchObject({ status: 'ready', error: undefined })
  })

  test('moves a failed message behind later ones on retry, and loses nothing', async () => {
    let count = 0
    const { chat, turn, messages, finished } = chatOver({
      async sendMessage({ message }) {
        if (++count === 1) throw new Error('no network')
        return replyOf(`re-${message.id}`, 'ok')
      },
    })
    await turn('one', 'u1')
    await turn('two', 'u2')
    const end = finished()
    await chat.retry('u1')
    await end
    expect(ids(messages())).toBe('u2 re-u2 u1 re-u1')
  })

  test('reports a synchronous throw and a value that is no stream as refusals', async () => {
    async function* iterable() {
      yield hello[0]
    }
    for (const [sendMessage, words] of [
      [
        () => {
          throw new Error('at once')
        },
        /^at once$/,
      ],
      [async () => undefined as never, /found Undefined/],
      [async () => null as never, /found Null/],
      [async () => new Response('') as never, /found Response: .* fetchServerSentEvents/],
      [async () => iterable() as never, /found AsyncGenerator: .* fromAsyncIterable/],
    ] as const) {
      const { turn, log } = chatOver({ sendMessage })
      expect((await turn()).error).toMatchObject({ code: 'SEND_ERROR', message: expect.stringMatching(words) })
      expect(log).toEqual(['error SEND_ERROR'])
    }
  })

  test.each([
    [{ message: 'no such model' }, 'no such model'],
    [new Response(null, { status: 429 }), 'The server answered with status 429.'],
    [{ reason: 1, at: 2 }, 'Expected an error, found an object: reason,at.'],
    ['just so', 'just so'],
    [undefined, 'undefined'],
  ])('reports an error with a message for a thrown value that is no Error: %j', async (thrown, message) => {
    const { turn } = chatOver({ sendMessage: () => Promise.reject(thrown) })
    expect((await turn()).error).toMatchObject({ code: 'SEND_ERROR', message })
  })

  test('rejects an empty message, also as an edit', async () => {
    const { turn, chat, requests, messages } = counting()
    await turn()
    for (const input of ['', { text: '' }, { parts: [], files: [] }]) {
      expect(await chat.sendMessage(input)).toMatchObject({ error: { code: 'message_empty' } })
      expect(await chat.edit('u1', input)).toMatchObject({ error: { code: 'message_empty' } })
    }
    expect(requests).toHaveLength(1)
    expect(ids(messages())).toBe('u1 a1')
  })

  test('rejects an id that is in use', async () => {
    const { turn, chat, messages } = counting()
    await turn()
    expect(await chat.sendMessage('other', { messageId: 'u1' })).toMatchObject({ error: { code: 'SEND_ERROR' } })
    expect(messages()).toHaveLength(2)
  })

  test('keeps ids with `::`, which the fold uses for messages of agents', async () => {
    const { turn, chat, messages } = chatOver({ sendMessage: async () => replyOf('x::y', 'ok') })
    await turn('hi', 'a::b')
    expect(ids(messages())).toBe('a::b x::y')
    expect(chat.store.message('x::y')?.id).toBe('x::y')
  })
})

describe('while a reply is streaming', () => {
  test('queues a message, and sends it after the reply', async () => {
    const streams = [controlled(), controlled()]
    let at = 0
    const { chat, until, messages, finished } = chatOver({ sendMessage: async () => streams[at++]?.stream as never })
    await chat.sendMessage('one', { messageId: 'u1' })
    const second = chat.sendMessage('two', { messageId: 'u2' })
    expect(messages()).toMatchObject([{ id: 'u1' }, { id: 'u2', status: 'sending' }])
    streams[0]?.push(...hello.slice(0, 3))
    await until(() => chat.store.messageIds.length === 3)
    expect(ids(messages())).toBe('u1 a1 u2')
    streams[0]?.push(hello[5])
    await second
    expect(at).toBe(2)
    const end = finished()
    streams[1]?.push({ type: 'start', messageId: 'a2' }, { type: 'finish', messageId: 'a2' })
    await end
    expect(messages()).toMatchObject([
      { id: 'u1', status: 'sent' },
      { id: 'a1', status: 'sent' },
      { id: 'u2', status: 'sent' },
      { id: 'a2', status: 'sent' },
    ])
  })

  test('rejects a message with whenBusy reject, and shows nothing', async () => {
    const { stream } = controlled()
    const { chat, messages } = chatOver({ sendMessage: async () => stream })
    await chat.sendMessage('one')
    expect(await chat.sendMessage('two', { whenBusy: 'reject' })).toMatchObject({
      error: { code: 'busy', retryable: true },
    })
    expect(messages()).toHaveLength(1)
    await chat.stop()
  })

  test('stops the reply first with whenBusy interrupt-previous', async () => {
    const { stream, push, cancelled } = controlled()
    let count = 0
    const { chat, until, messages, log, finished } = chatOver({
      sendMessage: async () => (++count === 1 ? stream : replyOf('a2', 'new')),
    })
    await chat.sendMessage('one', { messageId: 'u1' })
    push(...hello.slice(0, 3))
    await until(() => chat.state.status === 'streaming')
    const stopped = finished()
    const sent = chat.sendMessage('two', { messageId: 'u2', whenBusy: 'interrupt-previous' })
    await stopped
    const end = finished()
    await sent
    await end
    await cancelled
    expect(log).toEqual(['finish abort', 'finish'])
    expect(messages().map(({ id, status }) => `${id} ${status}`)).toEqual([
      'u1 cancelled',
      'a1 cancelled',
      'u2 sent',
      'a2 sent',
    ])
  })
})
