// A reopened page over our AI SDK dialect shows the history and continues it.

import { type Chat, createChat } from '@millrace/client'
import { aiSdk } from '@millrace/dialects/ai-sdk'
import { expect, onTestFinished, test } from 'vitest'
import { openBackend } from '../backend.fixture.ts'

const visible = ({ store }: Chat): unknown =>
  store.messages.map(({ role, parts }) => [
    role,
    ...parts.flatMap(part => {
      if (part.type === 'text' || part.type === 'reasoning') return [`${part.type} ${part.text}`]
      return 'toolCallId' in part ? [`${part.toolName} ${part.state} ${JSON.stringify(part.output)}`] : []
    }),
  ])

function open(api: string): Chat {
  const connection = aiSdk({ api, resume: true, history: true })
  const chat = createChat({ connection, session: 's' })
  onTestFinished(chat.start())
  return chat
}

test.each(['teller', 'weigher', 'seller', 'guide', 'searcher', 'asker'])('%s', async agent => {
  const backend = await openBackend()
  const api = `${backend.url}/api/ai-sdk/${agent}`
  const first = open(api)
  await first.sendMessage('well?')
  await expect.poll(() => first.state.status).toMatch(/ready|paused|waiting/)
  await expect.poll(() => first.store.messages.length).toBe(2)
  const again = open(api)
  await expect.poll(() => visible(again)).toEqual(visible(first))
  const pendingKinds = ({ store }: Chat) => store.pendings.map(({ kind }) => kind)
  await expect.poll(() => pendingKinds(again)).toEqual(pendingKinds(first))
  expect(backend.calls[agent] ?? 0).toBeLessThan(3)
})

test('shows an answer that ended without readers', async () => {
  const backend = await openBackend()
  const api = `${backend.url}/api/ai-sdk/holder`
  const cut = Promise.withResolvers<void>()
  let isFirst = true
  const fetching: typeof fetch = async (url, init) => {
    if (!isFirst) await expect.poll(async () => (await backend.view('s')).runs[0]?.status).toBe('completed')
    const response = await fetch(url as string, init)
    if (!isFirst || !response.body) return response
    isFirst = false
    const reader = response.body.getReader()
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      const { value } = await Promise.race([reader.read(), cut.promise.then(() => ({ value: undefined }))])
      if (value) controller.enqueue(value)
      else controller.error(new TypeError('terminated'))
    }
    return new Response(new ReadableStream({ pull }), response)
  }
  const chat = createChat({ connection: aiSdk({ api, resume: true, fetch: fetching }), session: 's' })
  onTestFinished(chat.start())
  await chat.sendMessage('hold')
  await backend.gate.reached
  await expect
    .poll(() => visible(chat))
    .toEqual([
      ['user', 'text hold'],
      ['assistant', 'text one two '],
    ])
  backend.gate.open()
  cut.resolve()
  await expect
    .poll(() => visible(chat))
    .toEqual([
      ['user', 'text hold'],
      ['assistant', 'text one two three four'],
    ])
  await expect.poll(() => chat.state.status).toBe('ready')
  expect(backend.calls['holder']).toBe(1)
})

test('an unknown session is empty', async () => {
  const backend = await openBackend()
  const chat = open(`${backend.url}/api/ai-sdk/teller`)
  await chat.sendMessage('hello')
  await expect
    .poll(() => visible(chat))
    .toEqual([
      ['user', 'text hello'],
      ['assistant', expect.stringContaining('reasoning'), 'text You said: hello'],
    ])
})
