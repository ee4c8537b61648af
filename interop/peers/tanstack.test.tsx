// @vitest-environment jsdom

import { tanstack } from '@millrace/dialects/tanstack'
import { expect, test } from 'vitest'
import { Page } from './peer-page.fixture.tsx'
import { mixedPauseSuite, peerSuite } from './peer-suite.fixture.tsx'
import { openTanstack } from './tanstack.fixture.ts'

peerSuite({ open: openTanstack, connect: tanstack })
mixedPauseSuite({ open: openTanstack, connect: tanstack })

test('resumes a cut connection on a durable server with one model call', async () => {
  const { cut, server, url } = await openTanstack(true)
  const page = new Page({ connection: tanstack({ api: url }) })
  await page.chat.sendMessage('hold')
  await page.shows('streaming', 'user sent: hold', 'assistant streaming: one two ')
  cut()
  await server.reconnected.promise
  server.gate.open()
  await page.shows('ready', 'user sent: hold', 'assistant sent: one two three')
  expect(server.calls).toBe(1)
})
