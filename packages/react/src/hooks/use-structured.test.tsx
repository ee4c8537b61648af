// @vitest-environment jsdom
import { StrictMode, useEffect } from 'react'
import { flushSync } from 'react-dom'
import { expect, test } from 'vitest'
import { mount, renders, waitUntil } from '../dom.fixture.tsx'
import { ChatProvider, type StructuredHook, useChat, useStructured, useStructuredStreams } from '../index.ts'
import { scriptedChat } from '../scripted-chat.fixture.ts'

const set = (streamId: string, value: number) =>
  ({ type: 'structured-data', streamId, dataType: 'number', kind: 'set', path: 'n', value }) as const

let hook: StructuredHook
const functions = new Set<unknown>()
const Streams = () => {
  renders.count('streams')
  const streams = useStructuredStreams()
  useEffect(() => {
    hook = streams
    functions.add(streams.get).add(streams.clear).add(streams.apply).add(streams.consume)
  })
  return streams.items.map(({ streamId, status, data }) => (
    <p key={streamId}>
      {streamId} {status} {JSON.stringify(data)}
    </p>
  ))
}

test('applies single chunks without a chat', async () => {
  functions.clear()
  const page = mount(<Streams />)
  hook.apply(set('a', 1))
  hook.apply({ type: 'text-delta', id: 't', delta: 'no object' })
  hook.apply(set('b', 2))
  hook.apply(set('a', 3))
  await waitUntil(() => page.text === 'a streaming {"n":3}b streaming {"n":2}')
  expect(hook.byStreamId['b']?.data).toEqual({ n: 2 })
  expect(hook.get('a')).toBe(hook.items[0])
  expect(hook.get('toString')).toBeUndefined()
  const before = hook.get('b')
  hook.apply({ type: 'structured-data', streamId: 'a', dataType: 'number', kind: 'final', data: { n: 4 } })
  await waitUntil(() => page.text === 'a done {"n":4}b streaming {"n":2}')
  // Unchanged items and the functions keep their identity.
  expect(hook.get('b')).toBe(before)
  expect(functions.size).toBe(4)
  expect(() => hook.apply(set('a', 5))).toThrow()
  flushSync(() => hook.clear())
  expect(page.text).toBe('')
  hook.apply(set('a', 6))
  await waitUntil(() => page.text === 'a streaming {"n":6}')
})

test('shows array items that are written out of order', async () => {
  const page = mount(<Streams />)
  const title = (index: number, value: string) => ({ ...set('a', 0), path: `rows.${index}.title`, value })
  hook.apply(title(1, 'second'))
  await waitUntil(() => page.text === 'a streaming {"rows":[null,{"title":"second"}]}')
  hook.apply(title(0, 'first'))
  await waitUntil(() => page.text === 'a streaming {"rows":[{"title":"first"},{"title":"second"}]}')
})

test('consumes a stream of chunks, entries and envelopes without a chat', async () => {
  const page = mount(
    <StrictMode>
      <Streams />
    </StrictMode>,
  )
  const chunks = async function* () {
    yield set('a', 1)
    yield { type: 'text-delta', id: 't', delta: 'x' }
    yield { sequence: 2, timestamp: 1, origin: {}, chunk: set('a', 2) }
    yield { eventId: 'e', chunk: set('b', 3) }
  }
  await hook.consume(chunks())
  await waitUntil(() => page.text === 'a streaming {"n":2}b streaming {"n":3}')
})

test('stops consuming on unmount and on abort', async () => {
  const page = mount(
    <StrictMode>
      <Streams />
    </StrictMode>,
  )
  const ended = { a: Promise.withResolvers<void>(), b: Promise.withResolvers<void>() }
  const endless = async function* (id: 'a' | 'b', more: Promise<void>) {
    try {
      for (let n = 0; ; n++) {
        yield set(id, n)
        await more
      }
    } finally {
      ended[id].resolve()
    }
  }
  const leaving = new AbortController()
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const consumed = hook.consume(endless('a', first.promise), leaving.signal)
  const other = hook.consume(endless('b', second.promise))
  await waitUntil(() => page.text === 'a streaming {"n":0}b streaming {"n":0}')
  leaving.abort()
  await consumed
  page.unmount()
  await other
  first.resolve()
  second.resolve()
  await Promise.all([ended.a.promise, ended.b.promise])
  expect(hook.get('a')?.data).toEqual({ n: 0 })
})

const One = () => {
  renders.count('one')
  return <b>{JSON.stringify(useStructured('a')?.data)}</b>
}

const Text = () => useChat().messages.flatMap(({ parts }) => parts.map(part => ('text' in part ? part.text : '')))

test('shows text and objects of a chat, and does not rerender objects for text', async () => {
  const { chat, write } = scriptedChat({ streamFlushInterval: 0 })
  const page = mount(
    <ChatProvider chat={chat}>
      <Text />
      <Streams />
      <One />
    </ChatProvider>,
  )
  flushSync(() => write('run', set('a', 1)))
  flushSync(() => write('run', set('b', 2)))
  for (let n = 0; n < 20; n++) flushSync(() => write('run', { type: 'text-delta', id: 't', delta: 'x' }))
  expect(page.text).toBe(`${'x'.repeat(20)}a streaming {"n":1}b streaming {"n":2}{"n":1}`)
  expect(renders.of('streams')).toBe(3)
  expect(renders.of('one')).toBe(2)
  flushSync(() => write('run', set('b', 3)))
  expect(renders.of('streams')).toBe(4)
  expect(renders.of('one')).toBe(2)
  // Objects of `apply` follow those of the chat.
  hook.apply(set('c', 4))
  await waitUntil(() => page.text.includes('c streaming'))
  flushSync(() => hook.clear())
  expect(page.text).toBe(`${'x'.repeat(20)}{"n":1}`)
  flushSync(() => write('run', set('d', 5)))
  expect(page.text).toContain('d streaming {"n":5}')
  expect(page.text).not.toContain('b streaming')
})

test('shows only the objects of the new chat', () => {
  const [one, two] = [scriptedChat({ streamFlushInterval: 0 }), scriptedChat({ streamFlushInterval: 0 })]
  one.write('run', set('a', 1))
  two.write('run', set('b', 2))
  const page = mount(
    <ChatProvider chat={one.chat}>
      <Streams />
    </ChatProvider>,
  )
  expect(page.text).toBe('a streaming {"n":1}')
  page.render(
    <ChatProvider chat={two.chat}>
      <Streams />
    </ChatProvider>,
  )
  expect(page.text).toBe('b streaming {"n":2}')
  flushSync(() => one.write('run', set('a', 9)))
  flushSync(() => two.write('run', set('b', 3)))
  expect(page.text).toBe('b streaming {"n":3}')
})
