import { describe, expect, test } from 'vitest'
import { chatOver, controlled, counting, hello, ids, replyOf, streamOf } from './chat.fixture.ts'
import type { ChatRegenerateInput } from './types.ts'

describe('regenerate, retry and edit', () => {
  test('calls regenerate of the adapter with the messages up to the one to answer', async () => {
    const inputs: ChatRegenerateInput[] = []
    const { chat, turn, messages, finished } = counting({
      async regenerate(input) {
        inputs.push(input)
        return replyOf('a9', 'better')
      },
    })
    await turn('one', 'u1')
    await turn('two', 'u2')
    const end = finished()
    expect(await chat.regenerate('a1')).toMatchObject({ messageId: 'u1' })
    await end
    expect(inputs).toMatchObject([{ messageId: 'a1', message: { id: 'u1' } }])
    expect(ids(inputs[0]?.messages ?? [])).toBe('u1')
    expect(ids(messages())).toBe('u1 a9')
  })

  test('sends the message again without regenerate, by the id of a user message, or without an id', async () => {
    for (const id of ['a2', 'u2', undefined]) {
      const { chat, turn, messages, finished, requests } = counting()
      await turn('one', 'u1')
      await turn('two', 'u2')
      const end = finished()
      await chat.regenerate(id)
      await end
      expect(ids(requests[2]?.messages ?? [])).toBe('u1 a1 u2')
      expect(ids(messages())).toBe('u1 a1 u2 a3')
      expect(messages()[2]?.status).toBe('sent')
    }
  })

  test('accepts a reply with the id of the one that it replaces', async () => {
    let text = 'old'
    const { chat, turn, textOf, messages, finished } = chatOver({ sendMessage: async () => replyOf('a1', text) })
    await turn()
    text = 'new'
    const end = finished()
    await chat.regenerate()
    await end
    expect(textOf('a1')).toEqual(['new'])
    expect(messages()).toHaveLength(2)
  })

  test('restores everything if regenerate is refused', async () => {
    const { chat, turn, messages, log } = counting({ regenerate: () => Promise.reject(new Error('no')) })
    await turn('one', 'u1')
    await turn('two', 'u2')
    const before = messages()
    expect((await chat.regenerate('a1')).error).toMatchObject({ code: 'REGENERATE_ERROR' })
    expect(messages()).toEqual(before)
    expect(log).toEqual(['finish', 'finish', 'error REGENERATE_ERROR'])
    // Continues from there.
    await turn('three', 'u3')
    expect(ids(messages())).toBe('u1 a1 u2 a2 u3 a3')
  })

  test('repeats the turn of a lost reply on retry', async () => {
    let count = 0
    const { chat, turn, messages, finished } = chatOver({
      sendMessage: async () => streamOf(++count === 1 ? hello.slice(0, 3) : hello),
    })
    await turn()
    expect(messages()[1]?.status).toBe('error')
    const end = finished()
    await chat.retry()
    await end
    expect(messages()).toMatchObject([
      { id: 'u1', status: 'sent' },
      { id: 'a1', status: 'sent', parts: [{ text: 'Hello world' }] },
    ])
    expect(chat.store.message('a1')?.error).toBeUndefined()
  })

  test('replaces a message and everything after it on edit', async () => {
    const { chat, turn, messages, finished, requests } = counting()
    await turn('one', 'u1')
    await turn('two', 'u2')
    await turn('three', 'u3')
    const end = finished()
    const { messageId } = await chat.edit('u2', 'two and a half')
    await end
    expect(ids(messages())).toBe(`u1 a1 ${messageId} a4`)
    expect(requests[3]?.messages.map(({ id }) => id)).toEqual(['u1', 'a1', messageId])
    expect(await chat.edit('missing', 'x')).toMatchObject({ error: { code: 'SEND_ERROR' } })
  })

  test('stops the open reply first', async () => {
    const { stream, push } = controlled()
    let count = 0
    const { chat, until, messages, log, finished } = chatOver({
      sendMessage: async () => (++count === 1 ? stream : replyOf('a2', 'new')),
    })
    await chat.sendMessage('one', { messageId: 'u1' })
    push(...hello.slice(0, 3))
    await until(() => chat.state.status === 'streaming')
    const stopped = finished()
    const again = chat.regenerate()
    await stopped
    const end = finished()
    await again
    await end
    expect(ids(messages())).toBe('u1 a2')
    expect(log).toEqual(['finish abort', 'finish'])
  })

  test('keeps the identity of unchanged messages', async () => {
    const { chat, turn, finished } = counting()
    await turn('one', 'u1')
    await turn('two', 'u2')
    // A subscriber reads them at every change.
    chat.store.subscribe(['any'], () => chat.store.messages)
    chat.store.flush()
    const [first, second] = chat.store.messages
    const end = finished()
    await chat.regenerate()
    await end
    expect(chat.store.messages[0]).toBe(first)
    expect(chat.store.messages[1]).toBe(second)
  })
})
