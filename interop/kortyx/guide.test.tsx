// @vitest-environment jsdom

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { act, createElement } from 'react'
import { createRoot } from 'react-dom/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { inEmptyFolder } from '../page.fixture.ts'
import { App } from './guide-client.tsx'
import { app } from './guide-server.ts'
import { Page } from './page.fixture.ts'
import { openKortyx } from './server.fixture.ts'

const read = (path: string) => readFileSync(join(import.meta.dirname, path), 'utf8')

const guide = read('../../docs/guide/migrate/kortyx.md')

test('the guide has the programs that are run here', () => {
  const blocks = [...guide.matchAll(/```tsx?\n(.*?)```/gs)].map(([, code]) => code)
  expect(blocks.slice(1)).toEqual([read('guide-server.ts'), read('guide-client.tsx')])
})

test('a page that asks the endpoint of the guide is asked, answers, and is told what comes of it', async () => {
  inEmptyFolder()
  const { url } = await app.listen({ port: 0 })
  onTestFinished(() => app.close())
  const [, endpoint = ''] = /endpoint: '([^']+)'/.exec(guide) ?? []
  const page = new Page(new URL(endpoint, url).href)
  await page.send('grind')
  const [asked] = page.asked
  expect(asked?.input).toMatchObject({ question: 'Which grain?' })
  if (asked) await page.respond(asked, ['rye'])
  expect(page.last.text).toBe('We grind rye.')
})

test('our page of the guide talks to a server of Kortyx, and answers its question', async () => {
  const server = await openKortyx()
  const { fetch } = globalThis
  vi.stubGlobal('fetch', (_: string, init: RequestInit) => fetch(server.url, init))
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true)
  onTestFinished(() => void vi.unstubAllGlobals())
  const main = document.body.appendChild(document.createElement('main'))
  const root = createRoot(main)
  onTestFinished(() => act(() => root.unmount()))
  await act(async () => root.render(createElement(App)))
  const press = (label: string) =>
    act(async () => [...main.querySelectorAll('button')].find(({ textContent }) => textContent === label)?.click())
  await press('Ask')
  await vi.waitFor(() => act(async () => expect(main.textContent).toContain('Rye')))
  await press('Rye')
  await vi.waitFor(() => act(async () => expect(main.textContent).toContain('You chose rye.')))
})
