import { expect, test } from 'vitest'
import { chatOver, controlled, counting, ids } from './chat.fixture.ts'
import type { ChatMessage } from './types.ts'

const chatMessage = (id: string, role: 'user' | 'assistant' = 'user', text = `text of ${id}`): ChatMessage => ({
  id,
  role,
  status: 'sent',
  parts: [{ type: 'text', text, state: 'done' }],
})

test('replaces the conversation, in the given order, also for the adapter', async () => {
  const { chat, turn, messages, requests } = counting()
  await turn('hi', 'u1')
  const [u1, a1] = messages()
  chat.setMessages([chatMessage('u0'), chatMessage('a0', 'assistant'), u1, a1] as ChatMessage[])
  expect(ids(messages())).toBe('u0 a0 u1 a1')
  chat.setMessages([u1, chatMessage('u0', 'user', 'another'), chatMessage('u0', 'user', 'the last')] as ChatMessage[])
  expect(messages()).toMatchObject([{ id: 'u1' }, { id: 'u0', parts: [{ text: 'the last' }] }])
  await turn('more', 'u2')
  expect(ids(requests.at(-1)?.messages ?? [])).toBe('u1 u0 u2')
})

test('keeps the identity of the remaining messages when some are left out', async () => {
  const { chat, turn, messages } = counting({}, { streamFlushInterval: 16 })
  await turn('hi', 'u1')
  await turn('more', 'u2')
  const before = chat.store.message('a2')
  chat.setMessages(messages().filter(({ id }) => id !== 'u1' && id !== 'a1'))
  expect(ids(messages())).toBe('u2 a2')
  expect(chat.store.message('a2')).toBe(before)
})

test('keeps a streaming reply, whatever messages the caller sets', async () => {
  const { stream, push } = controlled()
  const { chat, until, finished, messages, textOf } = chatOver({ sendMessage: async () => stream })
  await chat.sendMessage('hi', { messageId: 'u1' })
  push({ type: 'start', messageId: 'a1' }, { type: 'text-delta', id: 't', delta: 'Hel' })
  await until(() => chat.store.messages.at(-1)?.parts.length === 1)
  const late = messages()
  push({ type: 'text-delta', id: 't', delta: 'lo' })
  await until(() => JSON.stringify(chat.store.message('a1')).includes('Hello'))
  chat.setMessages(late)
  expect(textOf('a1')).toEqual(['Hello'])
  chat.setMessages([chatMessage('u0'), chatMessage('a1', 'assistant', 'not that')])
  expect(ids(messages())).toBe('u0 u1 a1')
  const end = finished()
  push({ type: 'text-delta', id: 't', delta: '!' }, { type: 'finish', messageId: 'a1' })
  await end
  expect(textOf('a1')).toEqual(['Hello!'])
  chat.setMessages([])
  expect(messages()).toEqual([])
})
