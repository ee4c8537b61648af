// @vitest-environment jsdom
import { readFileSync } from 'node:fs'
import { createElement } from 'react'
import { flushSync } from 'react-dom'
import { createRoot } from 'react-dom/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { inEmptyFolder } from '../page.fixture.ts'
import { app } from './guide-server.ts'

// Not by `import.meta.url`, which is a page's address in this environment.
const read = (path: string) => readFileSync(`${import.meta.dirname}/${path}`, 'utf8')

test('the page of the guide runs as it is printed there', async () => {
  const guide = read('../../docs/guide/migrate/mui.md')
  for (const [language, file] of [
    ['tsx', 'guide-page.tsx'],
    ['ts', 'guide-server.ts'],
  ])
    expect(guide).toContain(`\`\`\`${language}\n${read(`./${file}`)}\`\`\``)
  inEmptyFolder()
  onTestFinished(() => app.close())
  const { url } = await app.listen({ port: 0 })
  const reach = globalThis.fetch
  // A page's own address stands before its paths.
  vi.stubGlobal('fetch', (input: string, init: RequestInit) => reach(new URL(input, url), init))
  onTestFinished(() => void vi.unstubAllGlobals())
  const { Page } = await import('./guide-page.tsx')
  const element = document.body.appendChild(document.createElement('div'))
  const root = createRoot(element)
  onTestFinished(() => root.unmount())
  flushSync(() => root.render(createElement(Page)))
  const click = (text: string) => [...element.querySelectorAll('button')].find(one => one.textContent === text)?.click()
  click('Send')
  await expect.poll(() => element.textContent).toContain('Approve sell')
  click('Approve sell')
  await expect.poll(() => element.textContent).toContain('sell: output-availableHere it is.')
})
