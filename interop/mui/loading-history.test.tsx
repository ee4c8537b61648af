// @vitest-environment jsdom
// Actions before a page has loaded its history, and answers that come too late.
import { expect, test } from 'vitest'
import { Gate, openBackend } from '../backend.fixture.ts'
import { Page } from './mui-page.fixture.tsx'

/** A server that delays its histories. */
const open = async (agent: string, conversation = 's') => {
  const backend = await openBackend()
  const gate = new Gate()
  const held = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const reply = await fetch(input, init)
    if (String(input).includes(`/${conversation}/messages`)) await gate.pass()
    return reply
  }
  const url = `${backend.url}/api/mui/${agent}`
  return { backend, gate, url, held }
}

const rolesOf = (page: Page) => page.messages.map(({ role }) => role)

test('a message that is sent before the history is loaded stays after it and is answered', async () => {
  const { backend, gate, url, held } = await open('teller')
  const before = new Page({ url, conversationId: 's' })
  await before.sendMessage('first')
  const page = new Page({ url, conversation: 's', fetch: held })
  await gate.reached
  const sent = page.sendMessage('second')
  await expect.poll(() => rolesOf(page)).toEqual(['user'])
  gate.open()
  await sent
  expect(page.errors).toEqual([])
  expect(page.messages.map(({ id }) => id)).toEqual((await backend.view('s')).messages.map(({ id }) => id))
  expect(page.messages.map(({ status }) => status)).toEqual(['sent', 'sent', 'sent', 'sent'])
  expect(page.text).toBe('You said: second')
})

test('stop before sending cancels the message; switching conversations does not', async () => {
  const { backend, gate, url, held } = await open('teller')
  const page = new Page({ url, conversation: 's', fetch: held })
  await gate.reached
  const stopped = page.sendMessage('not this')
  page.chat.stopStreaming()
  await stopped
  const abandoned = page.sendMessage('but this')
  await page.chat.setActiveConversation('t')
  await abandoned
  await expect.poll(async () => (await backend.view('s')).runs.at(-1)?.status).toBe('completed')
  expect(JSON.stringify((await backend.view('s')).messages)).not.toContain('not this')
  expect(page.messages).toEqual([])
  // A message goes to the current conversation.
  await page.sendMessage('here')
  expect((await backend.view('t')).messages.length).toBe(2)
  gate.open()
})

test('stop resolves a pending approval, and a later answer is rejected and reverted', async () => {
  const { backend, url } = await open('seller')
  const page = new Page({ url, conversationId: 's' })
  const sent = page.sendMessage('sell')
  const { toolCallId, approvalId } = await page.callIn('sell', 'approval-requested')
  page.chat.stopStreaming()
  await sent
  await page.callIn('sell', 'output-error')
  expect(page.last?.status).toBe('cancelled')
  expect(page.text).toBe('May I?')
  for (const id of [toolCallId, approvalId ?? '']) {
    await page.chat.addToolApprovalResponse({ id, approved: true })
    expect(page.call('sell')?.state).toBe('output-error')
  }
  expect(page.errors.map(({ code }) => code)).toEqual(['SEND_ERROR', 'SEND_ERROR'])
  expect((await backend.view('s')).runs).toMatchObject([{ status: 'interrupted' }])
  // The stopped response does not overwrite the one that replaced it.
  void page.chat.retry(page.messages[0]?.id ?? '')
  await page.callIn('sell', 'approval-requested')
  expect(page.messages.length).toBe(2)
})

test('rejects a different second answer by either id, and accepts the same one', async () => {
  const { url } = await open('seller')
  const page = new Page({ url, conversationId: 's' })
  const sent = page.sendMessage('sell')
  const { toolCallId, approvalId = '' } = await page.callIn('sell', 'approval-requested')
  const other = new Page({ url, conversation: 's' })
  await other.callIn('sell', 'approval-requested')
  await page.adapter.answer({ kind: 'approval', id: toolCallId, approved: false })
  await sent
  await page.adapter.answer({ kind: 'approval', id: toolCallId, approved: false })
  for (const adapter of [page.adapter, other.adapter])
    for (const id of [toolCallId, approvalId])
      await expect(adapter.answer({ kind: 'approval', id, approved: true })).rejects.toMatchObject({
        code: 'answer_already_settled',
      })
})
