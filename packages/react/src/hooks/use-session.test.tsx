// @vitest-environment jsdom
import { agent, scriptedModel, tool } from '@millrace/runtime'
import { StrictMode, useEffect } from 'react'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { mount, renders, waitUntil } from '../dom.fixture.tsx'
import { echo, serve } from '../in-process-server.fixture.ts'
import { type ChatActions, ChatProvider, useAgentState, useChat, useConnection, usePending } from '../index.ts'

let chat: ChatActions & { readonly status: string }
const Chat = () => {
  const latest = useChat()
  useEffect(() => {
    chat = latest
  })
  return <b>{latest.status}</b>
}

const refund = tool({
  name: 'refund',
  inputSchema: z.object({ euros: z.number() }),
  approval: true,
  execute: ({ euros }, { updateState }) => {
    updateState(() => ({ paid: euros }))
    return `${euros} euros`
  },
})

const clerk = agent({
  name: 'clerk',
  model: scriptedModel([{ calls: [{ name: 'refund', input: { euros: 40 } }] }, { text: 'It is paid back.' }]),
  tools: [refund],
})

const Approvals = () => {
  const { pendings, answer } = usePending('approval')
  return pendings.map(({ kind, id, part }) => (
    <button type="button" key={id} onClick={() => answer({ kind, id, approved: true })}>
      {part.toolName} {JSON.stringify(part.input)}
    </button>
  ))
}

const Interrupts = () => {
  renders.count('interrupts')
  return usePending('interrupt').pendings.length
}

const Paid = () => <i>{useAgentState<{ paid: number }>()?.paid ?? 'nothing'}</i>

test('shows an open request, and continues in both pages after one answers', async () => {
  const { api, fetch } = serve(clerk)
  const page = (
    <ChatProvider api={api} fetch={fetch} agent="clerk" session="shop">
      <Chat />
      <Approvals />
      <Interrupts />
      <Paid />
    </ChatProvider>
  )
  const first = mount(page)
  await chat.sendMessage('My money, please.')
  const second = mount(page)
  const pausedText = 'pausedrefund {"euros":40}0nothing'
  await waitUntil(() => first.text === pausedText && second.text === pausedText)
  // There is no interrupt.
  expect(renders.of('interrupts')).toBe(2)
  second.element.querySelector('button')?.click()
  await waitUntil(() => first.text === 'ready040' && second.text === 'ready040')
})

test('runs the latest client tool once, even if the pendings are checked twice', async () => {
  const locate = tool({
    name: 'locate',
    inputSchema: z.object({}),
    outputSchema: z.object({ city: z.string() }),
    client: true,
  })
  const model = scriptedModel([{ calls: [{ name: 'locate', input: {} }] }, { text: 'Welcome.' }])
  const { api, fetch } = serve(agent({ name: 'guide', model, tools: [locate] }))
  const ran: string[] = []
  const page = (name: string) => (
    <StrictMode>
      <ChatProvider
        api={api}
        fetch={fetch}
        agent="guide"
        tools={{
          locate: () => {
            ran.push(name)
            return { city: 'Ulm' }
          },
        }}
      >
        <Chat />
        <Said />
      </ChatProvider>
    </StrictMode>
  )
  const mounted = mount(page('old'))
  mounted.render(page('new'))
  await chat.sendMessage('Where am I?')
  await waitUntil(() => mounted.text === 'readyWelcome.')
  expect(ran).toEqual(['new'])
})

const Said = () =>
  useChat().messages.flatMap(({ role, parts }) =>
    parts.map(part => (role === 'assistant' && 'text' in part ? part.text : '')),
  )

const Connection = () => {
  renders.count('connection')
  return useConnection().status
}

test('reports a live connection when up to date, and idle without subscribers', async () => {
  const { api, fetch } = serve(echo)
  const mounted = mount(
    <ChatProvider api={api} fetch={fetch} agent="echo">
      <Chat />
      <Connection />
    </ChatProvider>,
  )
  expect(mounted.text).toBe('readyidle')
  await chat.sendMessage('Hello')
  await waitUntil(() => mounted.text === 'readylive')
  // Idle, perhaps connecting and catching up, live. The status of the run causes no rerender.
  expect(renders.of('connection')).toBeLessThanOrEqual(4)
})

test('keeps message and error of a failed send, and sends again on retry', async () => {
  const { api, fetch } = serve(echo)
  let isRefused = true
  const failing: typeof fetch = (input, init) =>
    isRefused && init?.method === 'POST'
      ? Promise.resolve(Response.json({ error: { code: 'full', message: 'Not now.' } }, { status: 403 }))
      : fetch(input, init)
  const mounted = mount(
    <ChatProvider api={api} fetch={failing} agent="echo">
      <Chat />
      <Failure />
    </ChatProvider>,
  )
  const { error, messageId } = await chat.sendMessage('Hello')
  expect(error).toMatchObject({ code: 'full', source: 'send' })
  await waitUntil(() => mounted.text === 'errorfull error')
  isRefused = false
  await chat.retry(messageId)
  await waitUntil(() => mounted.text === 'readynone sent sent')
})

const Failure = () => {
  const { error, messages } = useChat()
  return [error?.code ?? 'none', ...messages.map(({ status }) => status)].join(' ')
}
