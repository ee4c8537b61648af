// @vitest-environment jsdom

import { createChat } from '@millrace/client'
import { kortyx } from '@millrace/dialects/kortyx'
import { expect, onTestFinished, test } from 'vitest'
import { openBackend } from '../backend.fixture.ts'
import { Page } from '../peers/peer-page.fixture.tsx'
import { openKortyx } from './kortyx-server.fixture.ts'

test('our page works with a Kortyx server: text, a second turn, calls, errors', async () => {
  const server = await openKortyx()
  const page = new Page({ connection: kortyx({ api: server.url, workflowId: 'chat' }) })
  await page.chat.sendMessage('hi')
  await page.shows('ready', 'user sent: hi', 'assistant sent: You said: hi')
  await page.chat.sendMessage('call')
  const called = 'assistant sent: [weigh output-available {"what":"rye"} {"kilos":4}]Four.'
  await page.shows('ready', 'user sent: hi', 'assistant sent: You said: hi', 'user sent: call', called)
  await page.chat.sendMessage('fail')
  await expect.poll(() => page.status).toBe('error')
  expect(server.requests.map(({ workflowId, messages }) => [workflowId, messages.length])).toEqual([
    ['chat', 1],
    ['chat', 3],
    ['chat', 5],
  ])
  expect(server.requests[1]?.messages).toEqual([
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'You said: hi' },
    { role: 'user', content: 'call' },
  ])
})

test('decodes structured objects of a Kortyx server', async () => {
  const server = await openKortyx()
  const chat = createChat({ connection: kortyx({ api: server.url }) })
  onTestFinished(chat.start())
  await chat.sendMessage('draft')
  await expect
    .poll(() => chat.store.structured('draft'))
    .toMatchObject({
      status: 'done',
      data: { subject: 'Flour', body: 'Two sacks' },
    })
})

test('answers an interrupt of a Kortyx server with its token', async () => {
  const server = await openKortyx()
  const page = new Page({ connection: kortyx({ api: server.url }) })
  await page.chat.sendMessage('ask')
  await expect.poll(() => page.status).toBe('paused')
  const [pending] = page.pending.pendings
  await page.chat.answer({ kind: 'interrupt', id: pending?.id ?? '', response: 'rye' })
  await page.shows('ready', 'user sent: ask', 'assistant sent: You chose rye.')
  expect(server.requests.at(-1)?.messages.at(-1)?.metadata).toEqual({
    resume: { token: 'token-1', requestId: 'human-1', selected: ['rye'] },
  })
})

test('our page over our Kortyx endpoint loses nothing: reasoning, approvals, interrupts, client tools', async () => {
  const backend = await openBackend()
  const open = (program: string, props: object = {}) =>
    new Page({ connection: kortyx({ api: `${backend.url}/api/kortyx/${program}` }), session: program, ...props })
  const teller = open('teller')
  await teller.chat.sendMessage('hi')
  await teller.shows('ready', 'user sent: hi', 'assistant sent: (What did they say?)You said: hi')
  const seller = open('seller')
  await seller.chat.sendMessage('sell')
  await expect.poll(() => seller.status).toBe('paused')
  const [approval] = seller.pending.pendings
  await seller.chat.answer({ kind: 'approval', id: approval?.id ?? '', approved: true })
  await expect.poll(() => seller.status).toBe('ready')
  const guide = open('guide', { tools: { locate: () => ({ city: 'Ulm' }) } })
  await guide.chat.sendMessage('where?')
  await expect.poll(() => guide.status).toBe('ready')
  const asker = open('asker')
  await asker.chat.sendMessage('ask')
  await expect.poll(() => asker.status).toBe('paused')
  const [question] = asker.pending.pendings
  await asker.chat.answer({ kind: 'interrupt', id: question?.id ?? '', response: 'oats' })
  await asker.shows('ready', 'user sent: ask', 'assistant sent: You chose "oats".')
  for (const [page, session] of [
    [teller, 'teller'],
    [seller, 'seller'],
    [guide, 'guide'],
    [asker, 'asker'],
  ] as const) {
    const theirs = (await backend.view(session)).messages.map(({ role, parts }) => [role, parts.length])
    expect(page.chat.messages.map(({ role, parts }) => [role, parts.length])).toEqual(theirs)
  }
})
