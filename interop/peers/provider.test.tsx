// @vitest-environment jsdom
import { agUi } from '@millrace/dialects/ag-ui'
import { expect, test, vi } from 'vitest'
import { openAgUi } from './ag-ui.fixture.ts'
import { Page } from './peer-page.fixture.tsx'

test('a session of a foreign server is not stored in the tab', async () => {
  const { url } = await openAgUi()
  const page = new Page({ connection: agUi({ api: url }) })
  await page.chat.sendMessage('hi')
  await expect.poll(() => page.status).toBe('ready')
  expect(sessionStorage.length).toBe(0)
})

test('warns that a connection created during render starts a new chat each time', async () => {
  const { url } = await openAgUi()
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const page = new Page({ connection: agUi({ api: url }) })
  await page.chat.sendMessage('hi')
  await expect.poll(() => page.lines.length).toBe(2)
  page.render({ connection: agUi({ api: url }) })
  expect(page.lines).toEqual([])
  expect(warn.mock.calls.map(([warning]) => String(warning))).toEqual([expect.stringContaining('got a new connection')])
  warn.mockRestore()
})
