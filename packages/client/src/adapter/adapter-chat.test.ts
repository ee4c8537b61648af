import { describe, expect, test } from 'vitest'
import { AdapterChat, type ChatAdapter, createStream, toChatMessage } from '../index.ts'

describe('a chat over an adapter', () => {
  test('shows what is said at once, and the reply as it comes', async () => {
    const adapter: ChatAdapter = {
      async sendMessage({ message, messages }) {
        expect(message.status).toBe('sending')
        expect(messages).toEqual([message])
        return createStream([
          { type: 'start', messageId: 'a1' },
          { type: 'text-start', id: 't1' },
          { type: 'text-delta', id: 't1', delta: 'Hel' },
          { type: 'text-delta', id: 't1', delta: 'lo' },
          { type: 'text-end', id: 't1' },
          { type: 'finish', messageId: 'a1' },
        ])
      },
    }
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const chat = new AdapterChat({ adapter, onFinish: resolve })
    const sent = await chat.send('hi', { messageId: 'u1' })
    expect(sent.error).toBeUndefined()
    expect(await promise).toMatchObject({ isAbort: false, isDisconnect: false, isError: false })
    expect(chat.store.messages.map(toChatMessage)).toMatchObject([
      { id: 'u1', role: 'user', status: 'sent', parts: [{ type: 'text', text: 'hi' }] },
      { id: 'a1', role: 'assistant', status: 'sent', parts: [{ type: 'text', text: 'Hello', state: 'done' }] },
    ])
    expect(chat.state).toMatchObject({ status: 'ready', error: undefined, runId: undefined })
  })
})
