// @vitest-environment jsdom
import { aiSdk } from '@millrace/dialects/ai-sdk'
import { expect, test } from 'vitest'
import { openAiSdk } from './ai-sdk.fixture.ts'
import { Page } from './peer-page.fixture.tsx'
import { suite } from './peer-suite.fixture.tsx'

suite({ open: openAiSdk, connect: aiSdk })

test('the server is asked as its own client would', async () => {
  const { server, url } = await openAiSdk()
  const page = new Page({ connection: aiSdk({ api: url, body: { locale: 'nl' } }), data: { page: 7 } })
  const { messageId } = await page.chat.sendMessage('hi')
  await expect.poll(() => page.status).toBe('ready')
  await page.chat.sendMessage('again')
  await expect.poll(() => page.lines.length).toBe(4)
  await expect.poll(() => page.status).toBe('ready')
  await page.chat.regenerate()
  await expect.poll(() => server.asked.length).toBe(3)
  await expect.poll(() => page.status).toBe('ready')
  await page.chat.edit(messageId, 'HI')
  await expect.poll(() => server.asked.length).toBe(4)
  const asked = server.asked.map(({ trigger, messageId, messages }) => [trigger, messageId, messages.length])
  expect(asked).toEqual([
    ['submit-message', undefined, 1],
    ['submit-message', undefined, 3],
    ['regenerate-message', 'message-2', 3],
    ['submit-message', messageId, 1],
  ])
  // What the server called its answer is what it is called there.
  expect(server.asked[2]?.messages[1]?.id).toBe('message-1')
  expect(server.asked[0]).toMatchObject({ id: page.chat.sessionId, locale: 'nl', page: 7 })
})

test('a socket that is cut, on a server that keeps what it says: the answer goes on, and the model is asked once', async () => {
  const { cut, server, url } = await openAiSdk(true)
  const page = new Page({ connection: aiSdk({ api: url, resume: true }) })
  await page.chat.sendMessage('hold')
  await page.shows('streaming', 'user sent: hold', 'assistant streaming: one two ')
  cut()
  await server.back.promise
  server.gate.open()
  await page.shows('ready', 'user sent: hold', 'assistant sent: one two three')
  expect(server.calls).toBe(1)
})
