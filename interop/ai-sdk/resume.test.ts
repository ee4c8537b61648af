import { Chat } from '@ai-sdk/react'
import { millraceTransport } from '@millrace/dialects/ai-sdk'
import { type UIMessage, validateUIMessages } from 'ai'
import { expect, onTestFinished, test } from 'vitest'
import { proxy } from '../../scripts/faults/proxy.ts'
import { type Backend, openBackend } from '../backend.fixture.ts'
import { approvalIn, chatWith, partsOf, textOf } from './ai-sdk-chat.fixture.ts'

const messagesOf = async (backend: Backend, agent = 'teller', query = ''): Promise<UIMessage[]> =>
  (await fetch(`${backend.url}/api/ai-sdk/${agent}/s/messages${query}`)).json() as Promise<UIMessage[]>

/** A chat over our resuming transport. */
const lastingChat = (backend: Backend, agent: string, more: Partial<Parameters<typeof millraceTransport>[0]> = {}) => {
  const transport = millraceTransport({ api: `${backend.url}/api/ai-sdk/${agent}`, ...more })
  return new Chat<UIMessage>({ id: 's', transport })
}

test('a reloaded page has its messages and resumes the streaming answer', async () => {
  const backend = await openBackend()
  const first = chatWith(backend, 'holder')
  const sent = first.sendMessage({ text: 'hold' })
  await backend.gate.reached
  await expect.poll(() => textOf(first.lastMessage)).toBe('one two ')
  const messages = await messagesOf(backend, 'holder')
  await validateUIMessages({ messages })
  const second = chatWith(backend, 'holder', { messages })
  const resumed = second.resumeStream()
  await expect.poll(() => second.status).toBe('streaming')
  backend.gate.open()
  await Promise.all([sent, resumed])
  for (const chat of [first, second]) expect(chat.messages.map(textOf)).toEqual(['hold', 'one two three four'])
  expect(second.messages.map(({ id }) => id)).toEqual(first.messages.map(({ id }) => id))
  await second.resumeStream()
  expect(second.status).toBe('ready')
  expect(backend.calls['holder']).toBe(1)
})

test('a paused run is replayed from its start, and the chat is ready to answer', async () => {
  const backend = await openBackend()
  await chatWith(backend, 'seller').sendMessage({ text: 'sell' })
  const chat = chatWith(backend, 'seller', { messages: await messagesOf(backend, 'seller') })
  const before = chat.messages.map(({ id }) => id)
  await chat.resumeStream()
  expect(chat.status).toBe('ready')
  expect(chat.messages.map(({ id }) => id)).toEqual(before)
  await chat.addToolApprovalResponse({ id: approvalIn(chat.lastMessage, 'tool-sell'), approved: true })
  await chat.sendMessage()
  expect(textOf(chat.lastMessage)).toBe('May I?|So much for the flour.')
})

test('a reloaded page does not run a completed client tool again', async () => {
  const backend = await openBackend()
  const chat = chatWith(backend, 'guide')
  await chat.sendMessage({ text: 'where?' })
  const requestUrls: string[] = []
  const onToolCall = ({ toolCall }: { toolCall: { toolName: string } }) => void requestUrls.push(toolCall.toolName)
  await chatWith(backend, 'guide', { onToolCall }).resumeStream()
  expect(requestUrls).toEqual(['locate'])
  const { runId = '' } = (await backend.view('s')).runs[0] ?? {}
  const toolCallId = String(partsOf(chat.lastMessage, 'tool-locate')[0]?.toolCallId)
  await chat.addToolOutput({ tool: 'locate', toolCallId, output: { city: 'Ulm' } })
  await chat.sendMessage()
  expect(textOf(chat.lastMessage)).toBe('Where are you?|Now I know.')
  const reply = await fetch(`${backend.url}/api/ai-sdk/guide/s/stream?run=${runId}`)
  const dataLines = (await reply.text()).split('\n').filter(line => line.startsWith('data: {'))
  const types = dataLines.map(line => (JSON.parse(line.slice('data: '.length)) as { type: string }).type)
  expect(types).toContain('tool-output-available')
  expect(types).not.toContain('tool-input-available')
})

test('the messages route returns none for an unknown session, and only the last ones on request', async () => {
  const backend = await openBackend()
  expect(await messagesOf(backend)).toEqual([])
  const chat = chatWith(backend, 'teller')
  await chat.sendMessage({ text: 'one' })
  await chat.sendMessage({ text: 'two' })
  expect((await messagesOf(backend)).map(textOf)).toEqual(chat.messages.map(textOf))
  expect((await messagesOf(backend, 'teller', '?messages=last:1')).map(textOf)).toEqual(['You said: two'])
})

test('without our transport, stop only disconnects and the run continues', async () => {
  const backend = await openBackend()
  const chat = chatWith(backend, 'holder')
  const sent = chat.sendMessage({ text: 'hold' })
  await backend.gate.reached
  await expect.poll(() => textOf(chat.lastMessage)).toBe('one two ')
  await chat.stop()
  await sent
  backend.gate.open()
  await expect.poll(async () => (await backend.view('s')).runs[0]?.status).toBe('completed')
  expect(textOf(chat.lastMessage)).toBe('one two ')
  expect((await messagesOf(backend, 'holder')).map(textOf)).toEqual(['hold', 'one two three four'])
})

test('with our transport, stop stops the run, and another message follows', async () => {
  const backend = await openBackend()
  const chat = lastingChat(backend, 'holder')
  const sent = chat.sendMessage({ text: 'hold' })
  await backend.gate.reached
  await expect.poll(() => textOf(chat.lastMessage)).toBe('one two ')
  await chat.stop()
  await sent
  expect(chat.status).toBe('ready')
  await expect.poll(async () => (await backend.view('s')).runs[0]?.status).toBe('interrupted')
  backend.gate.open()
  await chat.sendMessage({ text: 'again' })
  expect(textOf(chat.lastMessage)).toBe('one two three four')
})

test('a reconnect closes the previous connection without stopping the run', async () => {
  const backend = await openBackend()
  void lastingChat(backend, 'holder').sendMessage({ text: 'hold' })
  await backend.gate.reached
  const chat = lastingChat(backend, 'holder')
  const first = chat.resumeStream()
  await expect.poll(() => chat.status).toBe('streaming')
  const second = chat.resumeStream()
  backend.gate.open()
  await Promise.all([first, second])
  expect(textOf(chat.lastMessage)).toBe('one two three four')
  expect((await backend.view('s')).runs[0]?.status).toBe('completed')
})

/** A chat through a fault proxy. */
async function proxied(backend: Backend, agent: string, id = 's') {
  const between = await proxy(backend.url)
  onTestFinished(() => between.stop())
  const api = between.url(`${backend.url}/api/ai-sdk/${agent}`)
  return { between, chat: new Chat<UIMessage>({ id, transport: millraceTransport({ api }) }) }
}

test('resumes a cut connection within the same response, without loss or repetition', async () => {
  const backend = await openBackend()
  const { between, chat } = await proxied(backend, 'holder')
  const sent = chat.sendMessage({ text: 'hold' })
  await backend.gate.reached
  await expect.poll(() => textOf(chat.lastMessage)).toBe('one two ')
  between.cut()
  backend.gate.open()
  await sent
  expect(chat.error).toBeUndefined()
  expect(textOf(chat.lastMessage)).toBe('one two three four')
  expect(backend.calls['holder']).toBe(1)
})

test.each([
  ['weigher', 2, 900],
  ['flaky', 2, 1_700],
  ['seller', 1, 900],
])('resumes after cuts at any bytes: %s', async (agent, calls, step) => {
  const backend = await openBackend()
  const uncut = chatWith(backend, agent)
  await uncut.sendMessage({ text: 'well?' })
  const types = (chat: Chat<UIMessage>) => chat.lastMessage?.parts.map(({ type }) => type)
  let runs = 1
  for (let at = 300; at < 3_500; at += step) {
    runs++
    const { between, chat: cut } = await proxied(backend, agent, `cut-${at}`)
    for (const more of [0, 350, 800]) between.next({ down: { cutAt: at + more } })
    await cut.sendMessage({ text: 'well?' })
    expect([at, cut.error, textOf(cut.lastMessage)]).toEqual([at, undefined, textOf(uncut.lastMessage)])
    expect(types(cut)).toEqual(types(uncut))
  }
  expect(backend.calls[agent]).toBe(runs * calls)
})

test('law 7: a server shutdown in the middle of an answer is a dropped connection, not an end', async () => {
  const backend = await openBackend()
  const chat = chatWith(backend, 'holder')
  const sent = chat.sendMessage({ text: 'hold' })
  await backend.gate.reached
  await expect.poll(() => textOf(chat.lastMessage)).toBe('one two ')
  const closing = backend.app.close()
  backend.gate.open()
  await sent
  await closing
  expect(chat.status).toBe('error')
})
