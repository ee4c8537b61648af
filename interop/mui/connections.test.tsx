// @vitest-environment jsdom
import { expect, onTestFinished, test } from 'vitest'
import { proxy } from '../../scripts/faults/proxy.ts'
import { type Backend, openBackend } from '../backend.fixture.ts'
import { Page } from './mui-page.fixture.tsx'

const open = async (agent: string) => {
  const backend = await openBackend()
  const url = `${backend.url}/api/mui/${agent}`
  return { backend, url, page: new Page({ url, conversationId: 's' }) }
}

const statusOf = async (backend: Backend, session = 's') => (await backend.view(session)).runs.at(-1)?.status

test('resumes a cut connection: one text, one end, one run', async () => {
  const backend = await openBackend()
  const between = await proxy(backend.url)
  onTestFinished(() => between.stop())
  const url = `${between.url(backend.url).replace(/\/$/, '')}/api/mui/holder`
  const page = new Page({ url, conversationId: 's' })
  const sent = page.sendMessage('go')
  await backend.gate.reached
  await expect.poll(() => page.text).toBe('one two ')
  between.cut()
  await expect.poll(() => between.counts().connections).toBeGreaterThan(1)
  between.reset()
  backend.gate.open()
  await sent
  expect(page.last?.parts).toEqual([
    { type: 'step-start' },
    { type: 'text', text: 'one two three four', state: 'done' },
  ])
  expect(page.errors).toEqual([])
  expect(page.finished).toMatchObject([{ isDisconnect: false, isError: false }])
  expect(backend.calls['holder']).toBe(1)
})

test('law 7: an unreachable server results in a disconnect, never in success', async () => {
  const backend = await openBackend()
  const between = await proxy(backend.url)
  onTestFinished(() => between.stop())
  const url = `${between.url(backend.url).replace(/\/$/, '')}/api/mui/holder`
  const page = new Page({ url, conversationId: 's', backoff: { firstMs: 1, longestMs: 2 } })
  const sent = page.sendMessage('go')
  await expect.poll(() => page.text).toBe('one two ')
  between.refuse(true)
  between.cut()
  await sent
  expect(page.last).toMatchObject({ status: 'error', parts: [{}, { type: 'text', text: 'one two ', state: 'done' }] })
  expect(page.errors.length).toBe(1)
  expect(page.finished).toMatchObject([{ isError: true, isDisconnect: true }])
  between.refuse(false)
  backend.gate.open()
  await expect.poll(() => statusOf(backend)).toBe('completed')
})

test('retries a request after a lost response without running twice', async () => {
  const backend = await openBackend()
  const lost = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const reply = await fetch(input, init)
    if (init?.method !== 'POST' || tries++ > 0) return reply
    await reply.body?.cancel()
    throw new TypeError('terminated')
  }
  let tries = 0
  const page = new Page({ url: `${backend.url}/api/mui/teller`, conversationId: 's', fetch: lost })
  await page.sendMessage('hi')
  expect(page.text).toBe('You said: hi')
  expect(tries).toBe(2)
  expect(backend.calls['teller']).toBe(1)
  expect((await backend.view('s')).messages.length).toBe(2)
})

test('stop reaches the server; leaving the conversation or the page does not stop the run', async () => {
  const backend = await openBackend()
  const url = `${backend.url}/api/mui/holder`
  const signals: (AbortSignal | null | undefined)[] = []
  const watched = (input: RequestInfo | URL, init?: RequestInit) => {
    signals.push(init?.signal)
    return fetch(input, init)
  }
  const page = new Page({ url, conversationId: 's', fetch: watched })
  const sent = page.sendMessage('go')
  await backend.gate.reached
  await expect.poll(() => page.text).toBe('one two ')
  const [lastSignal] = signals.slice(-1)
  page.chat.stopStreaming()
  await sent
  // No response body stays open.
  expect(lastSignal?.aborted).toBe(true)
  expect(page.last?.status).toBe('cancelled')
  expect(page.finished).toMatchObject([{ isAbort: true }])
  await expect.poll(() => statusOf(backend)).toBe('interrupted')

  const other = new Page({ url, conversation: 't' })
  void other.sendMessage('go')
  await expect.poll(() => other.text).toBe('one two ')
  await other.chat.setActiveConversation('s')
  expect(other.messages.map(({ status }) => status)).toEqual(['sent', 'cancelled'])
  expect(await statusOf(backend, 't')).toBe('running')
  await other.chat.setActiveConversation('t')
  await expect.poll(() => other.text).toBe('one two ')
  other.leave()
  backend.gate.open()
  await expect.poll(() => statusOf(backend, 't')).toBe('completed')
})

test('after a reload the history is loaded and the streaming answer continues, which the MUI runtime alone cannot do', async () => {
  const { backend, url, page } = await open('holder')
  void page.sendMessage('go')
  await expect.poll(() => page.text).toBe('one two ')
  page.leave()
  const again = new Page({ url, conversation: 's' })
  await expect.poll(() => again.text).toBe('one two ')
  expect(again.last?.status).toBe('streaming')
  backend.gate.open()
  await expect.poll(() => again.last?.status).toBe('sent')
  expect(again.text).toBe('one two three four')
  expect(again.messages.length).toBe(2)
})

test('a pending approval survives a reload and can be answered', async () => {
  const { backend, url, page } = await open('seller')
  void page.sendMessage('sell')
  await page.callIn('sell', 'approval-requested')
  page.leave()
  const again = new Page({ url, conversation: 's' })
  const { approvalId = '' } = await again.callIn('sell', 'approval-requested')
  await again.chat.addToolApprovalResponse({ id: approvalId, approved: true })
  await expect.poll(() => again.text).toBe('May I?|So much for the flour.')
  await expect.poll(() => again.last?.status).toBe('sent')
  expect(again.call('sell')?.output).toEqual({ sold: 'flour' })
  expect(await statusOf(backend)).toBe('completed')
})

test('one page answers and the other continues', async () => {
  const { url, page } = await open('seller')
  const sent = page.sendMessage('sell')
  const { approvalId = '' } = await page.callIn('sell', 'approval-requested')
  const other = new Page({ url, conversation: 's' })
  await other.callIn('sell', 'approval-requested')
  await other.chat.addToolApprovalResponse({ id: approvalId, approved: true })
  await sent
  expect(page.text).toBe('May I?|So much for the flour.')
})

test('regenerate, retry and edit rewind the log, and the page shows it', async () => {
  const { backend, page } = await open('teller')
  await page.chat.sendMessage({ id: 'u1', parts: [{ type: 'text', text: 'one' }] })
  const first = page.last?.id as string
  await page.chat.regenerate(first)
  expect(page.messages.length).toBe(2)
  expect(page.last?.id).not.toBe(first)
  expect(backend.calls['teller']).toBe(2)
  await page.chat.retry('u1')
  expect(page.messages.length).toBe(2)
  expect(backend.calls['teller']).toBe(3)
  await page.chat.sendMessage({ id: 'u2', parts: [{ type: 'text', text: 'two' }] })
  expect(page.messages.length).toBe(4)
  // The MUI runtime keeps later turns, the adapter removes them.
  await page.chat.regenerate(page.messages[1]?.id as string)
  expect(page.text).toBe('You said: one')
  await page.chat.sendMessage({ id: 'u1', parts: [{ type: 'text', text: 'uno' }] })
  expect(page.errors).toEqual([])
  expect(page.text).toBe('You said: uno')
  const { messages } = await backend.view('s')
  expect(page.messages.map(({ id }) => id)).toEqual(messages.map(({ id }) => id))
  expect(messages.length).toBe(2)
})

test('loads history in pages, and lists conversations', async () => {
  const { backend, url, page } = await open('teller')
  for (let i = 0; i < 26; i++) await page.sendMessage(`${i}`)
  const again = new Page({ url, conversation: 's' })
  await expect.poll(() => again.messages.length).toBe(50)
  expect(again.chat.hasMoreHistory).toBe(true)
  await again.chat.loadMoreHistory()
  const { messages } = await backend.view('s')
  expect(again.messages.map(({ id }) => id)).toEqual(messages.map(({ id }) => id))
  expect(again.chat.hasMoreHistory).toBe(false)
  expect(again.chat.conversations).toMatchObject([{ id: 's', subtitle: 'You said: 25' }])
  // A conversation without messages is empty, not an error.
  await again.chat.setActiveConversation('new')
  expect([again.messages, again.errors]).toEqual([[], []])
})

test('works in strict mode, where effects run twice', async () => {
  const { backend, url, page } = await open('flaky')
  page.leave()
  const strict = new Page({ url, conversation: 's', isStrict: true })
  await strict.sendMessage('go')
  expect(strict.errors).toEqual([])
  expect(strict.text).toBe('The wheel turns.')
  expect(backend.calls['flaky']).toBe(2)
})

test('sends a file with a message', async () => {
  const { backend, page } = await open('teller')
  const file = new File(['rye'], 'rye.txt', { type: 'text/plain' })
  await page.chat.sendMessage({
    parts: [{ type: 'text', text: 'see' }],
    attachments: [{ localId: '1', file, status: 'queued' }],
  })
  expect(page.errors).toEqual([])
  const [message] = (await backend.view('s')).messages
  expect(message?.parts).toMatchObject([
    { type: 'text' },
    { type: 'file', mediaType: 'text/plain', filename: 'rye.txt' },
  ])
})
