// @vitest-environment jsdom

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createElement } from 'react'
import { expect, onTestFinished, test, vi } from 'vitest'
import { listenInEmptyFolder } from '../guide-example.fixture.ts'
import { click, mount } from '../mount.fixture.tsx'
import { App } from './guide-client.tsx'
import { app } from './guide-server.ts'
import { Page } from './kortyx-page.fixture.ts'
import { openKortyx } from './kortyx-server.fixture.ts'

const read = (path: string) => readFileSync(join(import.meta.dirname, path), 'utf8')

const guide = read('../../docs/guide/migrate/kortyx.md')

test('the guide shows the programs that run here', () => {
  const blocks = [...guide.matchAll(/```tsx?\n(.*?)```/gs)].map(([, code]) => code)
  expect(blocks.slice(1)).toEqual([read('guide-server.ts'), read('guide-client.tsx')])
})

test('a Kortyx page talks to the server of the guide and answers its question', async () => {
  const url = await listenInEmptyFolder(app)
  const [, endpoint = ''] = /endpoint: '([^']+)'/.exec(guide) ?? []
  const page = new Page(new URL(endpoint, url).href)
  await page.send('grind')
  const [question] = page.questions
  expect(question?.input).toMatchObject({ question: 'Which grain?' })
  if (question) await page.respond(question, ['rye'])
  expect(page.last.text).toBe('We grind rye.')
})

test('the page of the guide talks to a Kortyx server and answers its question', async () => {
  const server = await openKortyx()
  const { fetch } = globalThis
  vi.stubGlobal('fetch', (_: string, init: RequestInit) => fetch(server.url, init))
  onTestFinished(() => void vi.unstubAllGlobals())
  const { element } = mount(createElement(App))
  click(element, 'Ask')
  await expect.poll(() => element.textContent).toContain('Rye')
  click(element, 'Rye')
  await expect.poll(() => element.textContent).toContain('You chose rye.')
})
