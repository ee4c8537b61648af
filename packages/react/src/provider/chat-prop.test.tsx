// @vitest-environment jsdom
import type { Chat, Message } from '@millrace/client'
import { StrictMode, useState } from 'react'
import { flushSync } from 'react-dom'
import { renderToString } from 'react-dom/server'
import { describe, expect, test, vi } from 'vitest'
import { mount, renders } from '../dom.fixture.tsx'
import { ChatProvider, type ChatProviderProps, useChat } from '../index.ts'
import { Lines, Sender } from '../message-lines.fixture.tsx'
import { scriptedChat } from '../scripted-chat.fixture.ts'

const page = (props: ChatProviderProps) => (
  <ChatProvider {...props}>
    <Lines />
    <Sender />
  </ChatProvider>
)

const Count = () => useChat().messages.length

describe('a provider with an existing chat', () => {
  test('keeps the callbacks and tools of the chat, with any number of providers', () => {
    const onError = () => {}
    const { chat } = scriptedChat({ onError })
    const two = (
      <StrictMode>
        {page({ chat })}
        {page({ chat })}
      </StrictMode>
    )
    const mounted = mount(two)
    const callbacks = { onFinish: () => {} }
    const tools = { locate: () => 'Ulm' }
    Object.assign(chat, { callbacks, tools })
    mounted.render(two)
    mounted.unmount()
    expect(chat.callbacks).toBe(callbacks)
    expect(chat.tools).toBe(tools)
  })

  test('throws with instructions if the chat is undefined and no other prop identifies one', () => {
    const absent = { chat: undefined, adapter: undefined }
    expect(() => renderToString(page(absent))).toThrow('The chat of this <ChatProvider> is undefined')
    expect(() => renderToString(page({ adapter: undefined }))).toThrow('The adapter of this')
    expect(renderToString(page({ ...absent, session: 's' }))).toContain('Send')
  })

  test('shows another chat at once', () => {
    const one = scriptedChat({ streamFlushInterval: 0 })
    const two = scriptedChat({ streamFlushInterval: 0 })
    one.turn(1)
    two.turn(2)
    const mounted = mount(page({ chat: one.chat }))
    expect(mounted.text).toContain('Answer 1')
    mounted.render(page({ chat: two.chat }))
    expect(mounted.text).toBe('user sent: Question 2assistant sent: Answer 2Send')
    flushSync(() => two.turn(3))
    expect(mounted.text).toContain('Answer 3')
  })
})

let notifyMessages: ((messages: readonly Message[]) => void) | undefined
const Parent = ({ chat, isKept }: { chat: Chat; isKept: (message: Message) => boolean }) => {
  const [messages, setMessages] = useState<readonly Message[]>([])
  renders.count('parent')
  return (
    <ChatProvider
      chat={chat}
      messages={messages}
      onMessagesChange={next => {
        notifyMessages?.(next)
        setMessages(next.filter(isKept))
      }}
    >
      <Lines />
      <Count />
    </ChatProvider>
  )
}

describe('controlled messages', () => {
  test('shows controlled messages, and reports each change once without a loop', async () => {
    const { chat, turn, write } = scriptedChat({ streamFlushInterval: 0 })
    const reported: number[] = []
    notifyMessages = messages => reported.push(messages.length)
    const mounted = mount(<Parent chat={chat} isKept={({ role }) => role === 'assistant'} />)
    expect(mounted.text).toBe('0')
    flushSync(() => turn(1))
    expect(mounted.text).toBe('assistant sent: Answer 11')
    expect(reported).toEqual([2])
    flushSync(() => write('run-2', { type: 'text-delta', id: 't', delta: 'More' }))
    expect(reported).toEqual([2, 3])
    expect(mounted.text).toContain('assistant streaming: More')
    flushSync(() => write('run-2', { type: 'state-snapshot', state: 1 }))
    // The state is not part of the messages.
    expect(reported).toEqual([2, 3])
    expect(renders.of('parent')).toBe(3)
    notifyMessages = undefined
  })

  test('shows controlled messages until the prop is removed', () => {
    const { chat, turn } = scriptedChat({ streamFlushInterval: 0 })
    turn(1)
    const reported = vi.fn()
    const only = (messages?: readonly Message[]) => page({ chat, messages, onMessagesChange: reported })
    const mounted = mount(only([]))
    expect(mounted.text).toBe('Send')
    mounted.render(only(chat.store.ownMessages.slice(1)))
    expect(mounted.text).toBe('assistant sent: Answer 1Send')
    mounted.render(only())
    expect(mounted.text).toBe('user sent: Question 1assistant sent: Answer 1Send')
    mounted.render(only([]))
    mounted.unmount()
    expect(chat.store.messages).toHaveLength(2)
    // The log has not changed.
    expect(reported).not.toHaveBeenCalled()
  })

  test('shows controlled messages in StrictMode', () => {
    const { chat, turn } = scriptedChat({ streamFlushInterval: 0 })
    const mounted = mount(
      <StrictMode>
        <Parent chat={chat} isKept={() => true} />
      </StrictMode>,
    )
    flushSync(() => turn(1))
    expect(mounted.text).toBe('user sent: Question 1assistant sent: Answer 12')
  })
})
