// @vitest-environment jsdom
import type { ChatFinish } from '@millrace/client'
import { agent, scriptedModel } from '@millrace/runtime'
import { StrictMode, useEffect } from 'react'
import { flushSync } from 'react-dom'
import { renderToString } from 'react-dom/server'
import { describe, expect, test } from 'vitest'
import { mount, renders, waitUntil } from '../dom.fixture.tsx'
import { echo, serve } from '../in-process-server.fixture.ts'
import { type ChatActions, ChatProvider, type ChatProviderProps, useChat, useChatActions } from '../index.ts'
import { Lines, Sender } from '../message-lines.fixture.tsx'

/** Latest actions of the chat. */
let actions: ChatActions
const Actions = () => {
  const latest = useChatActions()
  useEffect(() => {
    actions = latest
  })
  return null
}

const page = (props: ChatProviderProps) => (
  <ChatProvider {...props}>
    <Lines />
    <Actions />
    <Sender />
  </ChatProvider>
)

const ECHOED = 'user sent: Helloassistant sent: You said: HelloSend'

describe('a provider with a server', () => {
  test('shows a sent message at once and the reply as it streams', async () => {
    const { api, fetch } = serve(echo)
    const { element, ...mounted } = mount(page({ api, fetch, agent: 'echo' }))
    flushSync(() => element.querySelector('button')?.click())
    expect(element.textContent).toBe('user sending: HelloSend')
    await waitUntil(() => element.textContent === ECHOED)
    mounted.unmount()
  })

  test('sends and follows once in StrictMode', async () => {
    const { api, fetch, count } = serve(echo)
    const { element } = mount(<StrictMode>{page({ api, fetch, agent: 'echo' })}</StrictMode>)
    element.querySelector('button')?.click()
    await waitUntil(() => element.textContent === ECHOED)
    expect(count('POST')).toBe(1)
    expect(count('GET', /stream/)).toBe(1)
  })

  test('reads and follows an existing session once in StrictMode', async () => {
    const { api, fetch, requests } = serve(echo)
    const first = mount(page({ api, fetch, agent: 'echo', session: 's' }))
    first.element.querySelector('button')?.click()
    await waitUntil(() => first.element.textContent === ECHOED)
    first.unmount()
    requests.length = 0
    const { element } = mount(
      <StrictMode>
        <ChatProvider api={api} fetch={fetch} agent="echo" session="s">
          <Lines />
          <Named />
        </ChatProvider>
      </StrictMode>,
    )
    await waitUntil(() => element.querySelector('i')?.lang === 'live')
    expect(element.textContent).toBe(ECHOED.replace('Send', ''))
    expect(requests).toEqual(['GET /sessions/s', 'GET /stream'])
  })

  test('sends a message from an effect of the first render', async () => {
    const { api, fetch, count } = serve(echo)
    const { element } = mount(
      <ChatProvider api={api} fetch={fetch} agent="echo">
        <Lines />
        <AtOnce />
      </ChatProvider>,
    )
    await waitUntil(() => element.textContent === 'user sent: At onceassistant sent: You said: At once')
    expect(count('POST')).toBe(1)
  })

  test('shows only the new session after the session prop changes', async () => {
    const { api, fetch } = serve(echo)
    const props = { api, fetch, agent: 'echo' }
    const mounted = mount(page({ ...props, session: 'a' }))
    const { sendMessage } = actions
    mounted.element.querySelector('button')?.click()
    await waitUntil(() => mounted.text === ECHOED)
    mounted.render(page({ ...props, session: 'b' }))
    expect(mounted.text).toBe('Send')
    expect(actions.sendMessage).not.toBe(sendMessage)
    await actions.sendMessage('In b')
    await waitUntil(() => mounted.text === 'user sent: In bassistant sent: You said: In bSend')
    // Actions of the first chat still act on the first chat.
    await sendMessage('Once more')
    mounted.render(page({ ...props, session: 'a' }))
    await waitUntil(() => mounted.text.endsWith('You said: Once moreSend'))
    expect(mounted.text).toContain('You said: Hello')
    expect(mounted.text).not.toContain('In b')
  })

  test('starts a new chat for another agent', () => {
    const { api, fetch } = serve(echo)
    const mounted = mount(page({ api, fetch, agent: 'echo' }))
    const { sendMessage } = actions
    mounted.render(page({ api, fetch, agent: 'other' }))
    expect(actions.sendMessage).not.toBe(sendMessage)
  })

  test('keeps the actions stable and calls the latest callbacks', async () => {
    const { api, fetch } = serve(echo)
    const called: string[] = []
    const props = { api, fetch, agent: 'echo' }
    const mounted = mount(page({ ...props, onFinish: () => called.push('first') }))
    const before = actions
    mounted.render(page({ ...props, onFinish: () => called.push('second'), whenBusy: 'reject' }))
    expect(actions).toBe(before)
    mounted.element.querySelector('button')?.click()
    await waitUntil(() => mounted.text === ECHOED)
    expect(called).toEqual(['second'])
  })

  /** A server that records the token and data of each run. */
  const guarded = () => {
    const requests: { token: string | null; data: unknown }[] = []
    const followed: string[][] = []
    const served = serve(echo)
    const spying: typeof fetch = async (input, init) => {
      const request = new Request(input, init)
      if (request.method === 'POST') {
        const { data } = (await request.clone().json()) as { data?: unknown }
        requests.push({ token: request.headers.get('x-token'), data })
      }
      const { pathname, searchParams } = new URL(request.url)
      if (pathname.endsWith('/stream')) followed.push(searchParams.getAll('session'))
      return served.fetch(request)
    }
    return { ...served, fetch: spying, runs: requests, followed }
  }

  test('sends the latest computed headers and the latest data', async () => {
    const { api, fetch, runs } = guarded()
    const props = { api, fetch, agent: 'echo' }
    const app = (token: string) => page({ ...props, headers: () => ({ 'x-token': token }), data: { token } })
    const mounted = mount(app('one'))
    const before = actions
    mounted.render(app('two'))
    expect(actions).toBe(before)
    mounted.element.querySelector('button')?.click()
    await waitUntil(() => mounted.text === ECHOED)
    expect(runs).toEqual([{ token: 'two', data: { token: 'two' } }])
  })

  test('shares a connection between providers with equal headers only', async () => {
    const { api, fetch, runs, followed } = guarded()
    const two = (first: string, second: string) => {
      const props = { api, fetch, agent: 'echo' }
      return (
        <>
          {page({ ...props, session: 'a', headers: { 'x-token': first } })}
          {page({ ...props, session: 'b', headers: { 'x-token': second } })}
        </>
      )
    }
    const mounted = mount(two('one', 'one'))
    for (const button of mounted.element.querySelectorAll('button')) button.click()
    await waitUntil(() => mounted.text === ECHOED + ECHOED)
    expect(followed.at(-1)).toEqual(['a', 'b'])
    mounted.render(two('two', 'one'))
    await waitUntil(() => mounted.text === ECHOED + ECHOED)
    for (const button of mounted.element.querySelectorAll('button')) button.click()
    await waitUntil(() => mounted.text.split('You said: Hello').length === 5)
    expect(runs.map(({ token }) => token).sort()).toEqual(['one', 'one', 'one', 'two'])
  })

  test('renders and reports nothing after unmount, while the run continues', async () => {
    const { promise: isGone, resolve: go } = Promise.withResolvers<void>()
    const model = scriptedModel(async () => {
      await isGone
      return { text: 'Done.' }
    })
    const { api, fetch } = serve(agent({ name: 'slow', model }))
    const finished: ChatFinish[] = []
    const props = { api, fetch, agent: 'slow', session: 's' }
    const first = mount(
      <ChatProvider {...props} onFinish={finish => finished.push(finish)}>
        <Actions />
        <Counting />
      </ChatProvider>,
    )
    await actions.sendMessage('Go')
    await waitUntil(() => first.text !== '0')
    first.unmount()
    const count = renders.of('counting')
    const second = mount(page(props))
    go()
    await waitUntil(() => second.text.includes('assistant sent: Done.'))
    expect(renders.of('counting')).toBe(count)
    expect(finished).toEqual([])
  })

  test('restores an unnamed session of the tab', async () => {
    const { api, fetch } = serve(echo)
    const first = mount(page({ api, fetch, agent: 'echo' }))
    first.element.querySelector('button')?.click()
    await waitUntil(() => first.text === ECHOED)
    first.unmount()
    const second = mount(page({ api, fetch, agent: 'echo' }))
    await waitUntil(() => second.text === ECHOED)
    // A session with an id is not stored.
    const third = mount(page({ api, fetch, agent: 'echo', session: 'new' }))
    expect(third.text).toBe('Send')
  })

  test('keeps two chats on a page separate, even after a reload', async () => {
    const { api, fetch } = serve(echo)
    const one = page({ api, fetch, agent: 'echo' })
    const both = mount([<section key="a">{one}</section>, <section key="b">{one}</section>])
    const texts = () => [...both.element.querySelectorAll('section')].map(({ textContent }) => textContent)
    both.element.querySelector('button')?.click()
    await waitUntil(() => texts()[0] === ECHOED)
    expect(texts()[1]).toBe('Send')
    both.unmount()
    const again = mount(one)
    expect(again.text).toBe('Send')
    // A provider that mounts later gets no stored session either.
    again.element.querySelector('button')?.click()
    await waitUntil(() => again.text === ECHOED)
    expect(mount(one).text).toBe('Send')
  })

  test('gives a stored session to only one of two providers', async () => {
    const { api, fetch } = serve(echo)
    const one = page({ api, fetch, agent: 'echo' })
    const alone = mount(one)
    alone.element.querySelector('button')?.click()
    await waitUntil(() => alone.text === ECHOED)
    alone.unmount()
    const both = mount([<section key="a">{one}</section>, <section key="b">{one}</section>])
    await waitUntil(() => both.text === `${ECHOED}Send`)
  })

  test.each([404, 403])('replaces a stored session that is refused with %s', async status => {
    const { api, fetch } = serve(echo)
    const refusing: typeof fetch = (input, init) => {
      if (!new Request(input, init).url.includes('/not-theirs')) return fetch(input, init)
      const error = { code: status === 404 ? 'session_unknown' : 'forbidden', message: 'No.' }
      return Promise.resolve(Response.json({ error }, { status }))
    }
    const storageKey = `millrace ${api} echo`
    sessionStorage.setItem(storageKey, 'not-theirs')
    const mounted = mount(
      <ChatProvider api={api} fetch={refusing} agent="echo">
        <Lines />
        <Sender />
        <Named />
      </ChatProvider>,
    )
    expect(mounted.element.querySelector('i')?.title).toBe('not-theirs')
    await waitUntil(() => mounted.element.querySelector('i')?.title !== 'not-theirs')
    expect(sessionStorage.getItem(storageKey)).toBeNull()
    mounted.element.querySelector('button')?.click()
    await waitUntil(() => mounted.text === ECHOED)
    expect(sessionStorage.getItem(storageKey)).toBe(mounted.element.querySelector('i')?.title)
  })

  test('shows a long reply completely in few renders', async () => {
    const words = Array.from({ length: 2000 }, (_, n) => `w${n}`).join(' ')
    const long = agent({ name: 'long', model: scriptedModel([{ text: words }]) })
    const { api, fetch } = serve(long)
    const mounted = mount(
      <ChatProvider api={api} fetch={fetch} agent="long">
        <Actions />
        <Counting />
        <Lines />
      </ChatProvider>,
    )
    await actions.sendMessage('Go')
    await waitUntil(() => mounted.text.endsWith(`assistant sent: ${words}`))
    expect(renders.of('counting')).toBeLessThan(1000)
  })
})

const Named = () => {
  const { sessionId, connection } = useChat()
  return <i title={sessionId} lang={connection.status} />
}

const AtOnce = () => {
  const { sendMessage } = useChatActions()
  useEffect(() => void sendMessage('At once'), [sendMessage])
  return null
}

const Counting = () => {
  renders.count('counting')
  return useChat().messages.length
}

test('throws with instructions for hooks outside of a provider', () => {
  expect(() => renderToString(<Lines />)).toThrow('put a <ChatProvider> around this component')
})
