import { expect, test } from 'vitest'
import { chatOf, hello } from './chat.fixture.ts'
import { toChatMessage } from './chat-message.ts'

test('converts the same message and unchanged parts to identical objects', async () => {
  const { chat, turn } = chatOf([
    ...hello.slice(0, 5),
    { type: 'tool-input-available', toolCallId: 'c', toolName: 'x', input: { a: 1 } },
    { type: 'tool-output-available', toolCallId: 'c', output: 2 },
    hello[5],
  ])
  await turn()
  const message = chat.store.message('a1')
  if (!message) throw new Error('There is no reply.')
  const shape = toChatMessage(message)
  expect(toChatMessage(message)).toBe(shape)
  chat.store.patch('a1', { status: 'error' })
  chat.store.flush()
  const other = chat.store.message('a1')
  expect(other).not.toBe(message)
  const next = toChatMessage(other ?? message)
  expect(next.status).toBe('error')
  next.parts.forEach((part, i) => {
    expect(part).toBe(shape.parts[i])
  })
  expect(JSON.parse(JSON.stringify(next))).toEqual(next)
})

test('law 11: notifies once per frame, however many parts stream', async () => {
  const deltas = Array.from({ length: 4000 }, (_, i) => ({
    type: i % 2 ? 'text-delta' : 'reasoning-delta',
    id: `${i % 3}`,
    delta: 'x',
  }))
  const { chat, turn } = chatOf([hello[0], ...deltas, hello[5]], { streamFlushInterval: 60_000 })
  let notifications = 0
  chat.store.subscribe(['message', 'a1'], () => notifications++)
  await turn()
  // The first at once, and what reads the messages at the beginning and the end.
  expect(notifications).toBeLessThan(8)
  expect(chat.store.message('a1')?.parts).toHaveLength(6)
})
