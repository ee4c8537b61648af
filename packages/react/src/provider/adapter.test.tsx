// @vitest-environment jsdom
import {
  type ChatAdapter,
  type ChatError,
  type ChatFinish,
  type ChatMessage,
  type ChatMessageChunk,
  createStream,
} from '@millrace/client'
import { type Dispatch, type SetStateAction, StrictMode, useEffect, useState } from 'react'
import { flushSync } from 'react-dom'
import { renderToString } from 'react-dom/server'
import { expect, test, vi } from 'vitest'
import { hydrate, mount, renders, waitUntil } from '../dom.fixture.tsx'
import { type ChatHook, ChatProvider, useChat, useMessage, useMessageIds } from '../index.ts'

let chat: ChatHook
const Chat = () => {
  const latest = useChat()
  useEffect(() => {
    chat = latest
  })
  return <b title={latest.connection.status}>{latest.status}</b>
}

const Line = ({ id }: { id: string }) => {
  const message = useMessage(id)
  return (
    <p>{`${message?.role} ${message?.status}: ${message?.parts.map(part => ('text' in part ? part.text : '')).join('|')}`}</p>
  )
}

const Lines = () => useMessageIds().map(id => <Line key={id} id={id} />)

const reply = (messageId: string, text: string): ChatMessageChunk[] => [
  { type: 'start', messageId },
  { type: 'text-start', id: 't' },
  ...[...text].map(delta => ({ type: 'text-delta', id: 't', delta }) as const),
  { type: 'text-end', id: 't' },
  { type: 'finish', messageId },
]

/** An adapter that echoes each message, with the texts of its requests. */
function echoing() {
  const requests: string[][] = []
  const adapter: ChatAdapter = {
    async sendMessage({ message, messages }) {
      requests.push(messages.map(({ parts }) => parts.map(part => (part.type === 'text' ? part.text : '')).join('')))
      const [part] = message.parts
      return createStream(reply(`reply-${requests.length}`, `You said: ${part?.type === 'text' && part.text}`))
    },
  }
  return { adapter, requests }
}

test('calls an adapter once, even in StrictMode, and shows its reply', async () => {
  const { adapter, requests } = echoing()
  const finished: ChatFinish[] = []
  const page = mount(
    <StrictMode>
      <ChatProvider adapter={adapter} onFinish={finish => finished.push(finish)}>
        <Chat />
        <Lines />
      </ChatProvider>
    </StrictMode>,
  )
  flushSync(() => void chat.sendMessage('Hello'))
  expect(page.text).toContain('user sending: Hello')
  await waitUntil(() => page.text === 'readyuser sent: Helloassistant sent: You said: Hello')
  await chat.sendMessage('Again')
  await waitUntil(() => page.text.endsWith('assistant sent: You said: Again'))
  expect(requests).toEqual([['Hello'], ['Hello', 'You said: Hello', 'Again']])
  expect(finished).toMatchObject([{ isError: false }, { isError: false }])
})

test('reports a stream without an end as a disconnect to the latest callbacks, and keeps the text', async () => {
  const adapter: ChatAdapter = { sendMessage: async () => createStream(reply('r', 'Half').slice(0, 4)) }
  const reported: (ChatError | ChatFinish)[] = []
  const app = (isLatest: boolean) => (
    <ChatProvider
      adapter={adapter}
      onError={error => isLatest && reported.push(error)}
      onFinish={finish => isLatest && reported.push(finish)}
    >
      <Chat />
      <Lines />
    </ChatProvider>
  )
  const page = mount(app(false))
  page.render(app(true))
  await chat.sendMessage('Hello')
  await waitUntil(() => page.text.includes('assistant error: Ha'))
  expect(reported).toMatchObject([{ source: 'stream', recoverable: true }, { isDisconnect: true }])
})

test('starts a new chat only for another adapter', async () => {
  const [one, two] = [echoing(), echoing()]
  const app = (adapter: ChatAdapter) => (
    <ChatProvider adapter={adapter} conversationId={adapter === one.adapter ? 'one' : 'two'}>
      <Chat />
      <Lines />
    </ChatProvider>
  )
  const page = mount(app(one.adapter))
  await chat.sendMessage('Hello')
  await waitUntil(() => page.text.endsWith('assistant sent: You said: Hello'))
  page.render(app(one.adapter))
  expect(page.text).toContain('You said: Hello')
  page.render(app(two.adapter))
  expect(page.text).toBe('ready')
  await chat.sendMessage('Here')
  await waitUntil(() => page.text.endsWith('assistant sent: You said: Here'))
  expect(two.requests).toEqual([['Here']])
})

test('stops the reply on unmount', async () => {
  const stopped = Promise.withResolvers<void>()
  const adapter: ChatAdapter = {
    sendMessage: async ({ signal }) => {
      signal.addEventListener('abort', () => stopped.resolve())
      return new ReadableStream({
        start: controller => {
          for (const chunk of reply('r', 'Half').slice(0, 4)) controller.enqueue(chunk)
        },
      })
    },
  }
  const page = mount(
    <ChatProvider adapter={adapter}>
      <Chat />
      <Lines />
    </ChatProvider>,
  )
  void chat.sendMessage('Hello')
  await waitUntil(() => page.text.includes('assistant streaming: Ha'))
  page.unmount()
  await stopped.promise
})

const INITIAL = [
  { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Before' }] },
  { id: 'a', role: 'assistant', parts: [{ type: 'text', text: 'An answer' }] },
] as const

test('renders, hydrates and sends initial messages', async () => {
  const { adapter, requests } = echoing()
  const app = (
    <ChatProvider adapter={adapter} initialMessages={INITIAL}>
      <Chat />
      <Lines />
    </ChatProvider>
  )
  const html = renderToString(app)
  expect(html).toContain('user sent: Before')
  const page = hydrate(html, app)
  await waitUntil(() => page.element.querySelector('b')?.title === 'live')
  await chat.sendMessage('More')
  await waitUntil(() => page.text.endsWith('assistant sent: You said: More'))
  expect(requests).toEqual([['Before', 'An answer', 'More']])
})

let setMessages: Dispatch<SetStateAction<ChatMessage[]>>
let parentMessages: readonly ChatMessage[]
const Parent = ({ adapter, keep = messages => messages }: { adapter: ChatAdapter; keep?: Keep }) => {
  const [messages, set] = useState<ChatMessage[]>([])
  renders.count('parent')
  useEffect(() => {
    setMessages = set
    parentMessages = messages
  })
  return (
    <ChatProvider adapter={adapter} messages={messages} onMessagesChange={next => set(keep(next))}>
      <Chat />
      <Lines />
      <i>{messages.length}</i>
    </ChatProvider>
  )
}
type Keep = (messages: ChatMessage[]) => ChatMessage[]

test('reports controlled messages', async () => {
  const { adapter, requests } = echoing()
  const page = mount(
    <StrictMode>
      <Parent adapter={adapter} />
    </StrictMode>,
  )
  await chat.sendMessage('Hello')
  await waitUntil(() => page.text === 'readyuser sent: Helloassistant sent: You said: Hello2')
  await chat.sendMessage('More')
  await waitUntil(() => page.text.endsWith('assistant sent: You said: More4'))
  expect(requests.at(-1)).toEqual(['Hello', 'You said: Hello', 'More'])
})

test('uses the messages of the parent as the conversation', async () => {
  const { adapter, requests } = echoing()
  const page = mount(<Parent adapter={adapter} />)
  await chat.sendMessage('Hello')
  await waitUntil(() => page.text.endsWith('assistant sent: You said: Hello2'))
  // The page shows the reply before the provider reports it to the parent.
  await expect.poll(() => parentMessages.at(-1)?.status, { timeout: 60_000 }).toBe('sent')
  let before: ChatMessage[] = []
  flushSync(() =>
    setMessages(messages => {
      before = messages
      return [...INITIAL, ...messages.slice(0, 1)]
    }),
  )
  expect(page.text).toBe('readyuser sent: Beforeassistant sent: An answeruser sent: Hello3')
  await chat.sendMessage('More')
  await waitUntil(() => page.text.endsWith('assistant sent: You said: More5'))
  await expect.poll(() => parentMessages.at(-1)?.status, { timeout: 60_000 }).toBe('sent')
  expect(requests.at(-1)).toEqual(['Before', 'An answer', 'Hello', 'More'])
  flushSync(() => setMessages(before))
  expect(page.text).toBe('readyuser sent: Helloassistant sent: You said: Hello2')
})

test('does not loop if the parent recreates or truncates the messages', async () => {
  const { adapter, requests } = echoing()
  const copy: Keep = messages => messages.filter(({ role }) => role === 'user').map(message => ({ ...message }))
  const page = mount(<Parent adapter={adapter} keep={copy} />)
  for (const text of ['One', 'Two', 'Three']) {
    await chat.sendMessage(text)
    await waitUntil(() => page.text.startsWith('ready') && page.text.endsWith(`user sent: ${text}${requests.length}`))
  }
  expect(requests.at(-1)).toEqual(['One', 'Two', 'Three'])
  expect(renders.of('parent')).toBeLessThan(60)
})

test('warns about an adapter that is created during render if messages are lost', async () => {
  const { adapter } = echoing()
  const app = () => (
    <ChatProvider adapter={{ ...adapter }}>
      <Chat />
      <Lines />
    </ChatProvider>
  )
  const page = mount(app())
  page.render(app())
  expect(console.warn).not.toHaveBeenCalled()
  await chat.sendMessage('Hello')
  await waitUntil(() => page.text.endsWith('assistant sent: You said: Hello'))
  page.render(app())
  expect(vi.mocked(console.warn).mock.calls).toEqual([[expect.stringContaining('outside of the component')]])
  vi.mocked(console.warn).mockClear()
})

test('does not loop on a reply of a thousand chunks', async () => {
  const words = 'word '.repeat(200).trim()
  const adapter: ChatAdapter = { sendMessage: async () => createStream(reply('r', words)) }
  const page = mount(
    <ChatProvider adapter={adapter} streamFlushInterval={0}>
      <Chat />
      <Lines />
    </ChatProvider>,
  )
  await chat.sendMessage('Go')
  await waitUntil(() => page.text.endsWith(`assistant sent: ${words}`))
})
