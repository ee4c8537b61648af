// @vitest-environment jsdom
import { aiSdk } from '@millrace/dialects/ai-sdk'
import { expect, test } from 'vitest'
import { openAiSdk } from './ai-sdk.fixture.ts'
import { Page } from './peer-page.fixture.tsx'
import { peerSuite } from './peer-suite.fixture.tsx'

peerSuite({ open: openAiSdk, connect: aiSdk })

test('sends the requests of the server’s own client', async () => {
  const { server, url } = await openAiSdk()
  const page = new Page({ connection: aiSdk({ api: url, body: { locale: 'nl' } }), data: { page: 7 } })
  const { messageId } = await page.chat.sendMessage('hi')
  await expect.poll(() => page.status).toBe('ready')
  await page.chat.sendMessage('again')
  await expect.poll(() => page.lines.length).toBe(4)
  await expect.poll(() => page.status).toBe('ready')
  await page.chat.regenerate()
  await expect.poll(() => server.requests.length).toBe(3)
  await expect.poll(() => page.status).toBe('ready')
  await page.chat.edit(messageId, 'HI')
  await expect.poll(() => server.requests.length).toBe(4)
  const requests = server.requests.map(({ trigger, messageId, messages }) => [trigger, messageId, messages.length])
  expect(requests).toEqual([
    ['submit-message', undefined, 1],
    ['submit-message', undefined, 3],
    ['regenerate-message', 'message-2', 3],
    ['submit-message', messageId, 1],
  ])
  // The answer keeps the id of the server.
  expect(server.requests[2]?.messages[1]?.id).toBe('message-1')
  expect(server.requests[0]).toMatchObject({ id: page.chat.sessionId, locale: 'nl', page: 7 })
})

test('resumes a cut connection on a resumable server with one model call', async () => {
  const { cut, server, url } = await openAiSdk(true)
  const page = new Page({ connection: aiSdk({ api: url, resume: true }) })
  await page.chat.sendMessage('hold')
  await page.shows('streaming', 'user sent: hold', 'assistant streaming: one two ')
  cut()
  await server.reconnected.promise
  server.gate.open()
  await page.shows('ready', 'user sent: hold', 'assistant sent: one two three')
  expect(server.calls).toBe(1)
})
