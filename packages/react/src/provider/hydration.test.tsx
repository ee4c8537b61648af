// @vitest-environment jsdom
import type { Snapshot } from '@millrace/client'
import { lazy, StrictMode, Suspense } from 'react'
import { renderToString } from 'react-dom/server'
import { expect, test } from 'vitest'
import { hydrate, mount, waitUntil } from '../dom.fixture.tsx'
import { echo, serve, type TestServer } from '../in-process-server.fixture.ts'
import {
  ChatProvider,
  useAgentState,
  useChat,
  useChatActions,
  useConnection,
  useMessage,
  useMessageIds,
  usePending,
  useSelector,
  useStructuredStreams,
} from '../index.ts'

const Line = ({ id }: { id: string }) => {
  const message = useMessage(id)
  return <p>{message?.parts.map(part => ('text' in part ? part.text : ''))}</p>
}

const Everything = () => {
  const { status, sessionId, messages } = useChat()
  const { status: connection } = useConnection()
  const count = useSelector(({ store }) => ({ messages: store.messages.length }))
  const { items } = useStructuredStreams()
  const { pendings } = usePending()
  const state = useAgentState()
  return (
    <section>
      {useMessageIds().map(id => (
        <Line key={id} id={id} />
      ))}
      {[status, sessionId, messages.length, connection, count.messages, items.length, pendings.length, `${state}`].join(
        ' ',
      )}
    </section>
  )
}

const Sender = () => {
  const { sendMessage } = useChatActions()
  return (
    <button type="button" onClick={() => sendMessage('More')}>
      Send
    </button>
  )
}

/** A session with a question and its answer. */
async function serverSnapshot({ api, fetch }: TestServer): Promise<Snapshot> {
  const page = mount(
    <ChatProvider api={api} fetch={fetch} agent="echo" session="s">
      <Everything />
      <Sender />
    </ChatProvider>,
  )
  page.element.querySelector('button')?.click()
  await waitUntil(() => page.text.includes('You said: More') && page.text.includes('ready'))
  page.unmount()
  return (await fetch(`${api}/sessions/s`)).json() as Promise<Snapshot>
}

test('hydrates a rendered snapshot and continues without reading it again', async () => {
  const served = serve(echo)
  const snapshot = await serverSnapshot(served)
  served.requests.length = 0
  const { api, fetch } = served
  const app = (
    <StrictMode>
      <ChatProvider api={api} fetch={fetch} agent="echo" session="s" snapshot={snapshot}>
        <Everything />
        <Sender />
      </ChatProvider>
    </StrictMode>
  )
  const html = renderToString(app)
  expect(html).toContain('<p>More</p><p>You said: More</p>')
  expect(served.requests).toEqual([])
  const page = hydrate(html, app)
  await waitUntil(() => page.text.includes('live'))
  page.element.querySelector('button')?.click()
  await waitUntil(() => page.text.includes('MoreYou said: MoreMoreYou said: Moreready s 4 live 4 0 0'))
  expect(served.requests).toEqual(['GET /stream', 'POST /sessions/s/runs'])
})

test('has no session id on the server or during hydration of an unnamed session', async () => {
  const { api, fetch } = serve(echo)
  const app = (
    <ChatProvider api={api} fetch={fetch} agent="echo">
      <Everything />
    </ChatProvider>
  )
  const html = renderToString(app)
  expect(html).toBe('<section>ready  0 idle 0 0 0 undefined</section>')
  sessionStorage.setItem(`millrace ${api} echo`, 'remembered')
  const page = hydrate(html, app)
  await waitUntil(() => page.text.includes('ready remembered 0'))
})

const { promise: loaded, resolve: load } = Promise.withResolvers<{ default: typeof Everything }>()
const Late = lazy(() => loaded)

test('hydrates a late part of the page as rendered, and then updates it', async () => {
  const served = serve(echo)
  const snapshot = await serverSnapshot(served)
  const { api, fetch } = served
  const app = (inner: React.ReactNode) => (
    <ChatProvider api={api} fetch={fetch} agent="echo" session="s" snapshot={snapshot}>
      <Sender />
      <Suspense>{inner}</Suspense>
      <Count />
    </ChatProvider>
  )
  const html = renderToString(app(<Everything />))
  const page = hydrate(html, app(<Late />))
  await waitUntil(() => page.element.querySelector('i')?.textContent === 'live')
  page.element.querySelector('button')?.click()
  await waitUntil(() => page.element.querySelector('b')?.textContent === '4')
  // It is still what the server rendered.
  expect(page.element.querySelectorAll('p')).toHaveLength(2)
  load({ default: Everything })
  await waitUntil(() => page.element.querySelectorAll('p').length === 4)
})

const Count = () => (
  <>
    <b>{useChat().messages.length}</b>
    <i>{useConnection().status}</i>
  </>
)

test('renders controlled messages on the server', () => {
  const message = {
    id: 'm',
    role: 'user',
    status: 'sent',
    at: 1,
    createdAt: 1,
    parts: [{ type: 'text', key: '#0', id: '#0', at: 1, text: 'Kept', state: 'done' }],
  } as const
  const html = renderToString(
    <ChatProvider agent="echo" messages={[message]}>
      <Everything />
    </ChatProvider>,
  )
  expect(html).toContain('<p>Kept</p>')
})
