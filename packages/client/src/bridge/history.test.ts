import { describe, expect, test, vi } from 'vitest'
import { chatOver, controlled, counting, ids, streamOf } from './chat.fixture.ts'
import type { ChatMessage, ChatSendMessageInput } from './types.ts'

describe('history', () => {
  const chatMessage = (
    id: string,
    role: 'user' | 'assistant' = 'user',
    more: Partial<ChatMessage> = {},
  ): ChatMessage => ({
    id,
    role,
    status: 'sent',
    createdAt: '2026-01-02T03:04:05.000Z',
    parts: [{ type: 'text', text: `text of ${id}`, state: 'done' }],
    ...more,
  })

  test('shows initial messages, passes them to the adapter, and continues them', async () => {
    const call: ChatMessage['parts'][number] = {
      type: 'tool',
      toolInvocation: { toolCallId: 'c', toolName: 'x', state: 'input-available', input: { a: 1 } },
    }
    const initialMessages = [
      chatMessage('s', 'user', { role: 'system' }),
      chatMessage('u0', 'user', { author: { id: 'me' }, metadata: { k: 1 } }),
      chatMessage('a0', 'assistant', {
        parts: [call, { type: 'source-url', sourceId: 's', url: 'https://example.org' }],
      }),
    ]
    const requests: ChatSendMessageInput[] = []
    const { turn, messages } = chatOver(
      {
        async sendMessage(input) {
          requests.push(input)
          return streamOf([
            { type: 'start', messageId: 'a0' },
            { type: 'tool-output-available', toolCallId: 'c', output: 2 },
            { type: 'text-delta', id: 't', delta: 'more' },
            { type: 'finish', messageId: 'a0' },
          ])
        },
      },
      { initialMessages },
    )
    expect(messages()).toEqual(initialMessages)
    await turn()
    expect(requests[0]?.messages.slice(0, 3)).toEqual(initialMessages)
    expect(ids(messages())).toBe('s u0 a0 u1')
    expect(messages()[2]?.parts).toMatchObject([
      { toolInvocation: { state: 'output-available', input: { a: 1 }, output: 2 } },
      { type: 'source-url' },
      { type: 'text', text: 'more' },
    ])
  })

  test('loads the newest page on start, and older ones with loadOlder, also while a reply streams', async () => {
    const pages = [
      { messages: [chatMessage('u3'), chatMessage('a3', 'assistant')], cursor: '2', hasMore: true },
      { messages: [chatMessage('u2'), chatMessage('a2', 'assistant'), chatMessage('u3')], cursor: '1', hasMore: true },
      { messages: [chatMessage('u1', 'user'), chatMessage('a1', 'assistant')], hasMore: false },
    ]
    const requests: unknown[] = []
    const { stream, push } = controlled()
    const { chat, until, messages, finished } = chatOver(
      {
        sendMessage: async () => stream,
        async listMessages(input) {
          requests.push(input)
          return pages[requests.length - 1] as never
        },
      },
      { conversationId: 'c1' },
    )
    chat.start()()
    chat.start()
    await until(() => chat.state.hasOlder)
    expect(ids(messages())).toBe('u3 a3')
    await chat.sendMessage('hi', { messageId: 'u4' })
    push({ type: 'start', messageId: 'a4' }, { type: 'text-delta', id: 't', delta: 'Hel' })
    await until(() => chat.store.messages.at(-1)?.parts.length === 1)
    await chat.loadOlder()
    await chat.loadOlder()
    expect(ids(messages())).toBe('u1 a1 u2 a2 u3 a3 u4 a4')
    expect(chat.state).toMatchObject({ hasOlder: false, isLoadingOlder: false })
    await chat.loadOlder()
    expect(requests).toEqual([
      { conversationId: 'c1', cursor: undefined, direction: 'backward' },
      { conversationId: 'c1', cursor: '2', direction: 'backward' },
      { conversationId: 'c1', cursor: '1', direction: 'backward' },
    ])
    const end = finished()
    push({ type: 'text-delta', id: 't', delta: 'lo' }, { type: 'finish', messageId: 'a4' })
    await end
    expect(messages().at(-1)?.parts).toEqual([{ type: 'text', text: 'Hello', state: 'done' }])
  })

  test('reports a page that cannot be loaded', async () => {
    const { chat, until, calls } = counting({ listMessages: () => Promise.reject(new Error('gone')) })
    chat.start()
    await until(() => chat.state.error !== undefined)
    expect(calls.errors).toMatchObject([{ code: 'HISTORY_ERROR', source: 'history', message: 'gone' }])
  })

  test.each(['start', 'loadOlder'] as const)('loads a failed first page again with %s', async by => {
    let count = 0
    const { chat, until, messages } = counting({
      listMessages: async () => {
        if (++count === 1) throw new Error('gone')
        return { messages: [chatMessage('u0')] }
      },
    })
    chat.start()
    await until(() => chat.state.error !== undefined && !chat.state.isLoadingOlder)
    await chat[by]()
    await until(() => chat.store.messageIds.length > 0)
    chat.start()
    await chat.loadOlder()
    expect(count).toBe(2)
    expect(ids(messages())).toBe('u0')
  })

  test('has the initial messages in the first snapshot, without a later notification', () => {
    vi.useFakeTimers()
    const { chat } = counting({}, { initialMessages: [chatMessage('u0')], streamFlushInterval: 16 })
    const listener = vi.fn()
    chat.store.subscribe(['any'], listener)
    expect(chat.store.messageIds).toEqual(['u0'])
    vi.runAllTimers()
    vi.useRealTimers()
    expect(listener).not.toHaveBeenCalled()
  })
})
