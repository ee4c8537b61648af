import { Chat } from '@ai-sdk/react'
import { millraceTransport } from '@millrace/dialects/ai-sdk'
import { type UIMessage, validateUIMessages } from 'ai'
import { expect, onTestFinished, test } from 'vitest'
import { proxy } from '../../scripts/faults/proxy.ts'
import { type House, openHouse } from '../house.fixture.ts'
import { approvalIn, chatWith, partsOf, textOf } from './chats.fixture.ts'

const messagesOf = async (house: House, agent = 'teller', query = ''): Promise<UIMessage[]> =>
  (await fetch(`${house.url}/api/ai-sdk/${agent}/s/messages${query}`)).json() as Promise<UIMessage[]>

/** A chat over the transport that goes on. */
const lastingChat = (house: House, agent: string, more: Partial<Parameters<typeof millraceTransport>[0]> = {}) => {
  const transport = millraceTransport({ api: `${house.url}/api/ai-sdk/${agent}`, ...more })
  return new Chat<UIMessage>({ id: 's', transport })
}

test('a page that is loaded again has its messages, and resumes the answer that is under way', async () => {
  const house = await openHouse()
  const first = chatWith(house, 'holder')
  const sent = first.sendMessage({ text: 'hold' })
  await house.gate.reached
  await expect.poll(() => textOf(first.lastMessage)).toBe('one two ')
  const messages = await messagesOf(house, 'holder')
  await validateUIMessages({ messages })
  const second = chatWith(house, 'holder', { messages })
  const resumed = second.resumeStream()
  await expect.poll(() => second.status).toBe('streaming')
  house.gate.open()
  await Promise.all([sent, resumed])
  for (const chat of [first, second]) expect(chat.messages.map(textOf)).toEqual(['hold', 'one two three four'])
  expect(second.messages.map(({ id }) => id)).toEqual(first.messages.map(({ id }) => id))
  await second.resumeStream()
  expect(second.status).toBe('ready')
  expect(house.calls['holder']).toBe(1)
})

test('a run that waits is shown again from its start, and leaves the chat ready to answer', async () => {
  const house = await openHouse()
  await chatWith(house, 'seller').sendMessage({ text: 'sell' })
  const chat = chatWith(house, 'seller', { messages: await messagesOf(house, 'seller') })
  const before = chat.messages.map(({ id }) => id)
  await chat.resumeStream()
  expect(chat.status).toBe('ready')
  expect(chat.messages.map(({ id }) => id)).toEqual(before)
  await chat.addToolApprovalResponse({ id: approvalIn(chat.lastMessage, 'tool-sell'), approved: true })
  await chat.sendMessage()
  expect(textOf(chat.lastMessage)).toBe('May I?|So much for the flour.')
})

test('a client tool that has its result is not asked for again by a page that comes back', async () => {
  const house = await openHouse()
  const chat = chatWith(house, 'guide')
  await chat.sendMessage({ text: 'where?' })
  const asked: string[] = []
  const onToolCall = ({ toolCall }: { toolCall: { toolName: string } }) => void asked.push(toolCall.toolName)
  await chatWith(house, 'guide', { onToolCall }).resumeStream()
  expect(asked).toEqual(['locate'])
  const { runId = '' } = (await house.view('s')).runs[0] ?? {}
  const toolCallId = String(partsOf(chat.lastMessage, 'tool-locate')[0]?.toolCallId)
  await chat.addToolOutput({ tool: 'locate', toolCallId, output: { city: 'Ulm' } })
  await chat.sendMessage()
  expect(textOf(chat.lastMessage)).toBe('Where are you?|Now I know.')
  const reply = await fetch(`${house.url}/api/ai-sdk/guide/s/stream?run=${runId}`)
  const said = (await reply.text()).split('\n').filter(line => line.startsWith('data: {'))
  const types = said.map(line => (JSON.parse(line.slice('data: '.length)) as { type: string }).type)
  expect(types).toContain('tool-output-available')
  expect(types).not.toContain('tool-input-available')
})

test('the messages of a session: none of one that is not there, and only the last where that is asked for', async () => {
  const house = await openHouse()
  expect(await messagesOf(house)).toEqual([])
  const chat = chatWith(house, 'teller')
  await chat.sendMessage({ text: 'one' })
  await chat.sendMessage({ text: 'two' })
  expect((await messagesOf(house)).map(textOf)).toEqual(chat.messages.map(textOf))
  expect((await messagesOf(house, 'teller', '?messages=last:1')).map(textOf)).toEqual(['You said: two'])
})

test('without a transport of ours, who stops only leaves: the run goes on', async () => {
  const house = await openHouse()
  const chat = chatWith(house, 'holder')
  const sent = chat.sendMessage({ text: 'hold' })
  await house.gate.reached
  await expect.poll(() => textOf(chat.lastMessage)).toBe('one two ')
  await chat.stop()
  await sent
  house.gate.open()
  await expect.poll(async () => (await house.view('s')).runs[0]?.status).toBe('completed')
  expect(textOf(chat.lastMessage)).toBe('one two ')
  expect((await messagesOf(house, 'holder')).map(textOf)).toEqual(['hold', 'one two three four'])
})

test('with it, who stops stops the run, and goes on with another message', async () => {
  const house = await openHouse()
  const chat = lastingChat(house, 'holder')
  const sent = chat.sendMessage({ text: 'hold' })
  await house.gate.reached
  await expect.poll(() => textOf(chat.lastMessage)).toBe('one two ')
  await chat.stop()
  await sent
  expect(chat.status).toBe('ready')
  await expect.poll(async () => (await house.view('s')).runs[0]?.status).toBe('interrupted')
  house.gate.open()
  await chat.sendMessage({ text: 'again' })
  expect(textOf(chat.lastMessage)).toBe('one two three four')
})

test('a chat that reconnects, and so leaves the connection before, stops nothing', async () => {
  const house = await openHouse()
  void lastingChat(house, 'holder').sendMessage({ text: 'hold' })
  await house.gate.reached
  const chat = lastingChat(house, 'holder')
  const first = chat.resumeStream()
  await expect.poll(() => chat.status).toBe('streaming')
  const second = chat.resumeStream()
  house.gate.open()
  await Promise.all([first, second])
  expect(textOf(chat.lastMessage)).toBe('one two three four')
  expect((await house.view('s')).runs[0]?.status).toBe('completed')
})

/** A chat by way of a proxy, and the proxy. */
async function proxied(house: House, agent: string, id = 's') {
  const between = await proxy(house.url)
  onTestFinished(() => between.stop())
  const api = between.url(`${house.url}/api/ai-sdk/${agent}`)
  return { between, chat: new Chat<UIMessage>({ id, transport: millraceTransport({ api }) }) }
}

test('a connection that is cut in the middle goes on inside of the same reply: nothing is lost, nothing said twice', async () => {
  const house = await openHouse()
  const { between, chat } = await proxied(house, 'holder')
  const sent = chat.sendMessage({ text: 'hold' })
  await house.gate.reached
  await expect.poll(() => textOf(chat.lastMessage)).toBe('one two ')
  between.cut()
  house.gate.open()
  await sent
  expect(chat.error).toBeUndefined()
  expect(textOf(chat.lastMessage)).toBe('one two three four')
  expect(house.calls['holder']).toBe(1)
})

test.each([
  ['weigher', 2, 900],
  ['stammerer', 2, 1_700],
  ['seller', 1, 900],
])('cut at any byte, and at others after it: %s', async (agent, calls, step) => {
  const house = await openHouse()
  const whole = chatWith(house, agent)
  await whole.sendMessage({ text: 'well?' })
  const types = (chat: Chat<UIMessage>) => chat.lastMessage?.parts.map(({ type }) => type)
  let runs = 1
  for (let at = 300; at < 3_500; at += step) {
    runs++
    const { between, chat: cut } = await proxied(house, agent, `cut-${at}`)
    for (const more of [0, 350, 800]) between.next({ down: { cutAt: at + more } })
    await cut.sendMessage({ text: 'well?' })
    expect([at, cut.error, textOf(cut.lastMessage)]).toEqual([at, undefined, textOf(whole.lastMessage)])
    expect(types(cut)).toEqual(types(whole))
  }
  expect(house.calls[agent]).toBe(runs * calls)
})

test('law 7: a server that goes down in the middle of an answer breaks the connection, which is no end', async () => {
  const house = await openHouse()
  const chat = chatWith(house, 'holder')
  const sent = chat.sendMessage({ text: 'hold' })
  await house.gate.reached
  await expect.poll(() => textOf(chat.lastMessage)).toBe('one two ')
  const closing = house.app.close()
  house.gate.open()
  await sent
  await closing
  expect(chat.status).toBe('error')
})
