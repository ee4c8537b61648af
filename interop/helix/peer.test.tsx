// @vitest-environment jsdom

import { helix } from '@millrace/dialects/helix'
import { agent, scriptedModel } from '@millrace/runtime'
import { expect, onTestFinished, test } from 'vitest'
import { proxy } from '../../scripts/faults/proxy.ts'
import { openBackend, sell } from '../backend.fixture.ts'
import { Page } from '../peers/peer-page.fixture.tsx'

test('our page over our Helix endpoint: text, a second turn, approvals, client tools, interrupts', async () => {
  const backend = await openBackend()
  const open = (program: string, props: object = {}) =>
    new Page({ connection: helix({ api: `${backend.url}/api/helix/${program}` }), session: program, ...props })
  const teller = open('teller')
  await teller.chat.sendMessage('hi')
  await teller.shows('ready', 'user sent: hi', 'assistant sent: (What did they say?)You said: hi')
  await teller.chat.sendMessage('more')
  const first = ['user sent: hi', 'assistant sent: (What did they say?)You said: hi']
  await teller.shows('ready', ...first, 'user sent: more', 'assistant sent: (What did they say?)You said: more')
  expect(backend.calls['teller']).toBe(2)
  const seller = open('seller')
  await seller.chat.sendMessage('sell')
  await expect.poll(() => seller.status).toBe('paused')
  const [approval] = seller.pending.pendings
  await seller.chat.answer({ kind: 'approval', id: approval?.id ?? '', approved: true })
  await expect.poll(() => seller.status).toBe('ready')
  expect(backend.calls['seller']).toBe(2)
  const guide = open('guide', { tools: { locate: () => ({ city: 'Ulm' }) } })
  await guide.chat.sendMessage('where?')
  await expect.poll(() => guide.status).toBe('ready')
  expect(backend.calls['guide']).toBe(2)
  const asker = open('asker')
  await asker.chat.sendMessage('ask')
  await expect.poll(() => asker.status).toBe('paused')
  const [question] = asker.pending.pendings
  await asker.chat.answer({ kind: 'interrupt', id: question?.id ?? '', response: 'oats' })
  await asker.shows('ready', 'user sent: ask', 'assistant sent: You chose "oats".')
})

test('resumes a cut response from its position', async () => {
  const backend = await openBackend()
  const faulty = await proxy(backend.url)
  onTestFinished(() => faulty.stop())
  const api = `${faulty.url(backend.url).replace(/\/$/, '')}/api/helix/holder`
  const page = new Page({ connection: helix({ api }) })
  const sent = page.chat.sendMessage('hi')
  await expect.poll(() => page.lines.at(-1)).toContain('one two')
  faulty.cut()
  backend.gate.open()
  await sent
  await page.shows('ready', 'user sent: hi', 'assistant sent: one two three four')
  expect(backend.calls['holder']).toBe(1)
})

test('shows a second pause after the first answer', async () => {
  const model = scriptedModel(({ turnAnswers, key }) =>
    turnAnswers < 2
      ? { calls: [{ name: 'sell', input: { what: `sack ${turnAnswers}` }, id: key }] }
      : { text: 'Sold.' },
  )
  const backend = await openBackend({ agents: [agent({ name: 'miller', model, tools: [sell] })], workflows: [] })
  const page = new Page({ connection: helix({ api: `${backend.url}/api/helix/miller` }) })
  await page.chat.sendMessage('sell')
  const seen = new Set<string>()
  for (let i = 0; i < 2; i++) {
    await expect.poll(() => page.pending.pendings.some(({ id }) => !seen.has(id)) && page.status).toBe('paused')
    const id = page.pending.pendings.find(pending => !seen.has(pending.id))?.id ?? ''
    seen.add(id)
    await page.chat.answer({ kind: 'approval', id, approved: i === 0 })
  }
  await expect.poll(() => page.status).toBe('ready')
  expect(page.lines.at(-1)).toContain('Sold.')
})
